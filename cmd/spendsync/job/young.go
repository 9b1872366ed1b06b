package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// hasStatus reports whether the service has answered a request with one of these HTTP statuses.
func hasStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*extract.ReadError](err)
	return ok && slices.Contains(statuses, e.Status)
}

// copyBefore requests one day more than the account has: the day before its first day. The service may have got a
// report of that day meanwhile. If so, copyBefore also reads the earlier days that the report still covers.
func (r *dayReader) copyBefore(ctx context.Context, c *copiedDays) error {
	before, probe := r.s.plan.before, &copiedDays{}
	if len(before) == 0 {
		return nil
	}
	earlier := &dayReader{s: r.s, key: r.key, totals: &controlTotals{s: r.s, days: before}, bar: noBar{},
		inFlight: r.inFlight}
	last := len(before) - 1
	if err := earlier.copyDays(ctx, before[last:], probe); err != nil || len(probe.days) == 0 {
		return err
	}
	if d := probe.days[0]; !d.isStaged && !d.isQuarantined {
		return nil
	}
	c.planned, c.days, c.totals = slices.Concat(before, c.planned), append(c.days, probe.days...), earlier.totals
	return earlier.copyDays(ctx, before[:last], c)
}

// begins sets the first day of an account that is younger than the 32 days of the report. It skips the first days of
// the plan if the service has no report of them and its own sums are 0. It does so only if no earlier day is stored and
// a later day has delivery. The run reports the skipped days once; later runs request only the latest of them (see
// copyBefore).
func (r *run) begins(ctx context.Context, c *copiedDays) {
	account, byDay := r.s.storedAccount(), map[schema.Date]*copiedDay{}
	for _, d := range c.days {
		byDay[d.Day] = d
	}
	first := max(r.s.plan.Reach, account.Since)
	if byDay[first-1] != nil { // see copyBefore
		first = r.s.plan.Reach
	}
	day := first
	for byDay[day] != nil && byDay[day].hasNoReport && account.Days[day] == nil {
		day++
	}
	if days := account.DayList(); day == first || !c.hasDelivery(account) || len(days) > 0 && days[0] < day {
		return
	}
	totals, err := c.totals.all(ctx)
	if err != nil || !totals.Exists {
		return
	}
	for r.first = first; r.first < day; r.first++ {
		if sum := totals.ByDay[r.first]; sum.Spend != 0 || sum.Clicks.V != 0 {
			break
		}
		d := byDay[r.first]
		d.err, d.isQuarantined, d.precedesAccount, d.step.Outcome = nil, false, true, "before the account"
	}
	if r.first == first {
		return
	}
	c.findings = append(c.findings, finding{isRemark: true, err: fmt.Errorf("the account begins on %s: the service "+
		"has nothing of %s before it, and its own sums have nothing either", r.first,
		cli.Count(int(r.first-first), "day"))})
}

// hasDelivery reports whether any day has delivery, among the stored days and those of this run.
func (c *copiedDays) hasDelivery(stored *manifest.Account) bool {
	for _, d := range stored.Days {
		if d.Sums.HasDelivery() {
			return true
		}
	}
	return slices.ContainsFunc(c.days, func(d *copiedDay) bool { return d.isStaged && d.read.sums.HasDelivery() })
}
