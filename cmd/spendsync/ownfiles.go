package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/oklog/ulid/v2"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// ownFiles returns the function with which a run reads the operator's own files. It returns nil if no files are
// configured.
func (r *runner) ownFiles(dir string) job.ReadOwn {
	if len(r.cfg.Payouts) == 0 {
		return nil
	}
	return func(ctx context.Context, campaigns map[string]bool, last string) (*payouts.Own, error) {
		o := payouts.Options{Paths: r.cfg.Payouts, Columns: r.cfg.TrackerColumns, Today: schema.DateOf(r.now()),
			Campaigns: campaigns, Account: r.cfg.Account, Last: last}
		if file := filepath.Join(dir, duck.FileName); durable.Exists(file) {
			o.Warehouse = file
		}
		return payouts.Read(ctx, o)
	}
}

// takeOwn makes a second run, which reads the operator's own files, after a run that has published. The process ends
// with the more serious of the two exit codes.
func (r *runner) takeOwn(ctx context.Context, j job.Job, result *job.Result) {
	if j.Own == nil || !result.Run.Published || ctx.Err() != nil {
		return
	}
	j.RunID = ulid.Make().String()
	own, err := j.TakeOwn(ctx)
	if err != nil {
		code := exit.Of(err)
		own = &job.Result{Cause: err, Run: schema.Run{RunID: j.RunID, ExitCode: int64(code),
			Outcome: exit.About(code).Means, Message: schema.Some(fmt.Sprintf("your own files were not read: %s; the "+
				"stored numbers stand", cli.OneLine(err.Error())))}}
	}
	code := int(own.Run.ExitCode)
	r.log.Log(ctx, levelOf(code), own.Run.Message.V, "own_run", own.Run.RunID, "published", own.Run.Published,
		"generation", own.Run.Generation, "exit_code", code)
	if own.Run.Published {
		result.Run.Generation, result.WarehouseBytes = own.Run.Generation, own.WarehouseBytes
	}
	if code == exit.OK {
		return
	}
	result.Run.Message = schema.Some(result.Run.Message.V + "; " + own.Run.Message.V)
	result.Failures += own.Failures
	if exit.Graver(code, int(result.Run.ExitCode)) {
		result.Run.ExitCode, result.Run.Outcome, result.Cause = own.Run.ExitCode, own.Run.Outcome, own.Cause
	}
}
