package main

import (
	"context"
	"log/slog"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
)

// lastMoment is how long after the grace a command may take to report how it ended.
// With the default grace a signal ends everything within 10 seconds.
const lastMoment = 1500 * time.Millisecond

// pushGrace is the grace of a run with a bucket: what it has published is pushed.
const pushGrace = 100 * time.Second

// endAfterSignal ends the process when a command outlasts the grace after a signal, whatever the
// delay: a hanging disk, or a log without a reader. The store survives that as it survives any
// kill.
func (a *app) endAfterSignal(ctx context.Context) {
	if a.exit == nil {
		return
	}
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Duration(a.grace.Load()) + lastMoment)
		logged := make(chan struct{})
		go func() {
			a.lastLines(slog.LevelError, explain.Sentence("stopped by a signal, and ended before it was done",
				exit.Stopped), exit.Stopped)
			close(logged)
		}()
		select {
		case <-logged:
		case <-time.After(lastMoment / 3): // what holds the command up may be the log itself
		}
		a.exit(exit.Stopped)
	})
}

// lastCall returns the context of a run's last calls, such as its metrics and notices: they may take a few seconds,
// and after a signal even less.
func (c *call) lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := 5 * time.Second
	if ctx.Err() != nil {
		patience = lastMoment / 3
	}
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
