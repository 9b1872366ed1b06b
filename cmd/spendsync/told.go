package main

import (
	"context"
	"log/slog"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/notice"
	"spendsync/cmd/spendsync/phrase"
)

// told is what one run reports to receivers of heartbeats. Its failures are warnings.
type told struct {
	app  *app
	log  *slog.Logger
	beat *notice.Heartbeat
}

// newTold reads the addresses. They count even if another variable is wrong: that run fails, and
// somebody should hear of it.
func (r *runner) newTold() *told {
	t := &told{app: r.app, log: r.logOrDefault()}
	cfg := r.app.cfg
	if cfg == nil {
		cfg = config.OfNotices(r.app.environ)
	}
	to, err := cfg.Heartbeat()
	if err != nil {
		t.log.Warn("no heartbeat is sent", "error", err)
	}
	if to != nil {
		t.beat = notice.NewHeartbeat(to, r.app.runID)
	}
	return t
}

// start reports that the run has begun, beside its work.
func (t *told) start(ctx context.Context) { t.beat.Start(ctx) }

// end reports the exit code, within the time of one last call.
func (t *told) end(ctx context.Context, code int) {
	ctx, cancel := t.app.lastCall(ctx)
	defer cancel()
	if err := t.beat.End(ctx, code); err != nil {
		t.log.Warn("the heartbeat could not be sent", "exit_code", code, "means", exit.About(code).Means,
			"error", phrase.OneLine(err.Error()))
	}
}

// logOrDefault is the run's log, or a simple one before the configuration is known.
func (r *runner) logOrDefault() *slog.Logger {
	if r.app.log != nil {
		return r.app.log
	}
	return slog.New(slog.NewJSONHandler(r.app.stderr, nil))
}
