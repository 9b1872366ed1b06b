package main

import (
	"context"
	"path/filepath"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// ownFiles reads the operator's own files when a run wants them; nil: there are none.
func (r *runner) ownFiles(dir string) (job.ReadOwn, error) {
	if len(r.cfg.Payouts) == 0 {
		return nil, nil
	}
	format, err := payouts.ParseFormat(r.cfg.TrackerFormat)
	if err != nil {
		return nil, exit.Usagef("%v", err)
	}
	return func(ctx context.Context, campaigns map[string]bool) (*payouts.Own, error) {
		o := payouts.Options{Paths: r.cfg.Payouts, Columns: r.cfg.Tracker, Format: format,
			Today: schema.DateOf(r.now()), Campaigns: campaigns, Account: r.cfg.Account}
		if file := filepath.Join(dir, duck.FileName); durable.Exists(file) {
			o.Warehouse = file
		}
		return payouts.Read(ctx, o)
	}, nil
}
