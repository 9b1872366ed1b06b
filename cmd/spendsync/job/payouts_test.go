package job

import (
	"context"
	"errors"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load/durable"
)

// TestOwn_IsARunOfItsOwn: the operator's own files are read in a separate run after the sync. However that run ends,
// the synced days stay.
func TestOwn_IsARunOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		read func(stop context.CancelFunc) error
		code int
		says string
	}{
		"broken": {func(context.CancelFunc) error { return errors.New("payouts.csv: line 7 is odd") }, exit.Partial,
			"payouts.csv: line 7 is odd; of your own files 0 days and 0 lines of payouts changed"},
		"stopped": {func(stop context.CancelFunc) error { stop(); return context.Canceled }, exit.Stopped,
			"canceled"},
		"the disk fails": {func(context.CancelFunc) error { return durable.ErrStorage }, exit.Storage, "storage error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.first()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			w.job.Own = func(_ context.Context, campaigns map[string]bool, _ string) (*payouts.Own, error) {
				if len(campaigns) < w.cfg.Campaigns {
					t.Errorf("campaigns of the account: %v", campaigns)
				}
				return nil, c.read(stop)
			}
			res, err := w.next().TakeOwn(ctx)
			if err == nil {
				err = res.Cause
				if got := res.Run; int(got.ExitCode) != c.code || got.Command != "payouts" ||
					got.Generation != 2 || !strings.HasPrefix(got.Message.V, c.says) {
					t.Errorf("%+v", got)
				}
			} else if exit.Of(err) != c.code {
				t.Errorf("exit %d: %v", exit.Of(err), err)
			}
			if !strings.Contains(err.Error(), strings.Split(c.says, ";")[0]) {
				t.Errorf("%v does not say %s", err, c.says)
			}
			if w.job.Own = nil; name == "broken" {
				w.sync(exit.OK)
				w.wantTruth()
			}
		})
	}
}
