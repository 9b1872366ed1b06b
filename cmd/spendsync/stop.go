package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
)

// lastMoment is how long after the grace a command may take to tell how it ended.
// With the default grace a signal ends everything within 10 seconds.
const lastMoment = 1500 * time.Millisecond

// publishing is the context under which a run publishes. A signal stops the
// reading at once; what is complete may still be published for a grace, counted
// from the signal. What is under way then is broken off: it is in the staging area
// and nobody has seen it. A commit that has begun is not broken off.
func (a *app) publishing(ctx context.Context) (context.Context, context.CancelFunc) {
	pctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(a.cfg.StopGrace):
			cancel()
		case <-pctx.Done():
		}
	})
	return pctx, func() { stop(); cancel() }
}

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

// placeOf says what a signal broke off, without the words of Go and of DuckDB for
// having been broken off.
func placeOf(err error) string {
	return strings.NewReplacer(": context canceled", "", " INTERRUPT Error: Interrupted!", "").Replace(phrase.OneLine(err.Error()))
}
