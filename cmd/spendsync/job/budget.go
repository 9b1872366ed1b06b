package job

import (
	"context"
	"sync/atomic"
	"time"
)

// overdueAfter is how long a campaign or creative may stay unread before the run reports it.
const overdueAfter = 24 * time.Hour

// budget is the time that a run may spend on settings. It is used up when the run's clock says so, or when a timer
// ends; the timer also interrupts a request that hangs.
type budget struct {
	clock *clock
	ends  time.Duration // since the run started
	lasts time.Duration
	over  atomic.Bool
}

func (b *budget) spent() bool { return b.over.Load() || b.clock.elapsed() >= b.ends }

// bound returns a context that is canceled when the budget is used up.
func (b *budget) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(b.lasts, func() { b.over.Store(true); cancel() })
	return ctx, func() { timer.Stop(); cancel() }
}
