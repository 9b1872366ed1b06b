package main

import (
	"context"
	"log/slog"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
)

// lastMoment is the time after the grace period in which a command may still report its end. With the default grace
// period, every command ends within 10 seconds after a signal.
const lastMoment = 1500 * time.Millisecond

// pushGrace is the grace period of a run with a bucket. After a signal, such a run still pushes the published
// generation.
const pushGrace = 100 * time.Second

// endAfterSignal exits the process when a command runs past the grace period, for example because a disk hangs or its
// log is not read. This does the store no more harm than any kill.
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
		case <-time.After(lastMoment / 3): // writing the log may be what hangs
		}
		a.exit(exit.Stopped)
	})
}

// lastCall returns the context for a run's final metrics and notices. It ends after 5 seconds or, after a signal, after
// half a second.
func (c *call) lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := 5 * time.Second
	if ctx.Err() != nil {
		patience = lastMoment / 3
	}
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
