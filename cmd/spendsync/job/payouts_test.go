package job

import (
	"context"
	"errors"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// TestOwn_ComeAfterTheDays: when the operator's own files are read, the days and settings of the run are published. A
// reading that fails ends the run with exit 4, one that a signal stops with exit 143, and the days stand.
func TestOwn_ComeAfterTheDays(t *testing.T) {
	for name, c := range map[string]struct {
		read func(stop context.CancelFunc) error
		code int
		says string
	}{
		"broken": {func(context.CancelFunc) error { return errors.New("payouts.csv: line 7 is odd") }, exit.Partial,
			"payouts.csv: line 7 is odd; the payouts and the tracker's days that are stored stand"},
		"stopped": {func(stop context.CancelFunc) error { stop(); return context.Canceled }, exit.Stopped,
			"stopped by a signal: published generation"},
		"the disk fails": {func(context.CancelFunc) error { return durable.ErrStorage }, exit.Storage,
			durable.ErrStorage.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			asked := 0
			w.job.Own = func(_ context.Context, campaigns map[string]bool) (*payouts.Own, error) {
				asked++
				m, err := manifest.Read(w.job.DataDir)
				if err != nil || m.Generation != 1 || len(m.Accounts["acme"].Days) < 30 {
					t.Errorf("the days are not published when the files are read: %+v, %v", m, err)
				}
				if len(campaigns) < w.cfg.Campaigns {
					t.Errorf("campaigns of the account: %v", campaigns)
				}
				return nil, c.read(stop)
			}
			res, err := w.next().Sync(ctx)
			w.want(res, err, c.code, c.says, "33 days of 33 planned proven")
			if asked != 1 || !res.Run.Published || len(w.account().Days) < 30 {
				t.Errorf("asked %d times, published %t", asked, res.Run.Published)
			}
			w.job.Own = nil
			w.sync(exit.OK)
			w.wantTruth()
			if c.code == exit.Storage { // the line of the ledger alone has the end of that run
				if got := w.ask("SELECT exit_code FROM ops.run WHERE _run_id = 'run000001'"); got != "7" {
					t.Errorf("the ledger has exit code %s", got)
				}
			}
			if got := w.ask("SELECT max(n) FROM (SELECT count(*) AS n FROM ops.step GROUP BY _run_id, stream, " +
				"unit)"); got != "1" {
				t.Errorf("a step is in the ledger %s times", got)
			}
			w.wantVerified()
		})
	}
}
