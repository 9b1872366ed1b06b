package main

import (
	"context"
	"log/slog"
	"time"

	"spendsync/cmd/spendsync/exit"
)

// lastMoment is how long after the grace a command may take to tell how it ended.
// With the default grace a signal ends everything within 10 seconds.
const lastMoment = 1500 * time.Millisecond

// endAfterSignal ends the process when a command outlasts the grace after a
// signal, whatever holds it up: a disk that hangs, a pipe that nobody writes. The
// store survives that as it survives any kill.
func (a *app) endAfterSignal(ctx context.Context) {
	if a.giveUp == nil {
		return
	}
	context.AfterFunc(ctx, func() {
		time.Sleep(a.cfg.StopGrace + lastMoment)
		a.lastLine(slog.LevelError, "stopped by a signal, and ended before it was done", exit.Stopped)
		a.giveUp(exit.Stopped)
	})
}

// lastCall is the context of what a run does after all else, for others: it never
// takes long, and after a signal hardly any time.
func (a *app) lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := 5 * time.Second
	if ctx.Err() != nil {
		patience = lastMoment / 3
	}
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
