package job

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"spendsync/load"
)

// session is what the phases of a run share.
type session struct {
	Job
	command string
	start   time.Time
	store   *load.Store
	staged  *load.Staged
	plan    Plan
	// triesAll: the run requests the complete report again, although the service rejected a part of it before.
	triesAll bool
	clock    *clock         // Now of the job
	asking   sync.WaitGroup // for the reads that run at the same time as the days, and end with the run
}

// progress starts to show a phase.
func (r *session) progress(what string, n int) Bar {
	if r.Progress == nil {
		return noBar{}
	}
	return r.Progress(what, n)
}

// noBar shows nothing.
type noBar struct{}

func (noBar) Step()    {}
func (noBar) Rows(int) {}
func (noBar) Done()    {}

// outlasting returns a context that ends a grace period after ctx. A signal stops all reads at once. During the grace
// period, completed reads may still be proven to belong to the account, and be published. After it, publication is
// cancelled: its files are in the staging area, where no reader sees them. A commit that has started is never
// cancelled.
func outlasting(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// begin opens the store and a staging area.
func (j Job) begin(ctx context.Context, command string) (*session, error) {
	c := newClock(j.Now)
	j.Now, j.Store.Now = c.Now, c.Now
	store, err := load.Open(ctx, j.DataDir, j.Account, j.Store)
	if err != nil {
		return nil, err
	}
	if m := store.Manifest(); m != nil {
		c.floor = m.PublishedAt.Time().Add(time.Microsecond)
	}
	r := &session{Job: j, command: command, clock: c, start: j.Now(), store: store}
	r.SettingsBudget = cmp.Or(j.SettingsBudget, defaultSettingsBudget)
	if r.staged, err = store.Begin(j.RunID); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, nil
}

// end removes the staging area and releases the account's lock.
func (r *session) end() {
	if err := errors.Join(r.staged.Discard(), r.store.Close()); err != nil {
		r.Log.Warn("the run could not clean up after itself; the next one will", "error", err)
	}
}
