package job

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

const (
	// defaultSettingsBudget is how long a run may read settings.
	defaultSettingsBudget = 20 * time.Minute
	// lastDayBudget is the budget of a run in the last hours in which a day can be read: if
	// that run dies, another one must still have the time to read the day.
	lastDayBudget = time.Minute
	lastHours     = 2 * time.Hour
	// overdueAfter is how long a campaign may stay unread before the run reports it.
	overdueAfter = 24 * time.Hour
)

// budget is the time that a run may spend on settings. It is used up by the clock of the run,
// and by a request that hangs.
type budget struct {
	clock *clock
	ends  time.Duration // since the run started
	lasts time.Duration
	over  atomic.Bool
}

func (r *session) newBudget() *budget {
	lasts := r.SettingsBudget
	lastChance := func(d plannedDay) bool { return d.DaysLeft <= 1 && !d.Proven }
	if r.plan.Today.End().Sub(r.Now()) <= lastHours && slices.ContainsFunc(r.plan.Read, lastChance) {
		lasts = min(lasts, lastDayBudget)
	}
	return &budget{clock: r.clock, ends: r.clock.elapsed() + lasts, lasts: lasts}
}

// spent reports whether the budget is used up.
func (b *budget) spent() bool { return b.over.Load() || b.clock.elapsed() >= b.ends }

// bound returns a context that is canceled when the budget is used up.
func (b *budget) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(b.lasts, func() { b.over.Store(true); cancel() })
	return ctx, func() { timer.Stop(); cancel() }
}

// leave leaves a campaign to the next run if the budget is used up. Other reasons why it was
// not read are noted where they happened.
func (n *settingsReader) leave(c dueCampaign) {
	if !n.budget.spent() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.left++
	since, first := c.confirmed.Time(), n.run.store.Account().Since
	if c.confirmed == 0 { // it cannot have been read before the account's first run
		since = (first + schema.ReachDays).Start()
	}
	if first != 0 && n.run.Now().Sub(since) >= overdueAfter {
		n.read.overdue = append(n.read.overdue, c.ID)
	}
}

// noteOverdue notes campaigns that were not read for a day or longer.
func (n *settingsReader) noteOverdue() {
	if len(n.read.overdue) == 0 {
		return
	}
	slices.Sort(n.read.overdue)
	n.read.findings = append(n.read.findings, finding{what: "settings", err: fmt.Errorf(
		"%s not read for a day or longer, for example %s: the budget of %s does not reach all of them",
		phrase.Count(len(n.read.overdue), "campaign"), n.read.overdue[0], n.budget.lasts)})
}
