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

// isNoReport reports whether the service answered that it has no report of a day.
func isNoReport(err error) bool {
	e, ok := errors.AsType[*extract.ReadError](err)
	return ok && (e.Status == 404 || e.Status == 410 || e.Status == 204)
}

// begins sets the first day of an account that is younger than the report's reach. It skips the leading days for which
// the service has no report and a control total of 0, if no earlier day is stored and a later day has rows. The run
// reports them once, and no later run requests them.
func (r *run) begins(ctx context.Context, c *copiedDays) {
	account, byDay := r.s.storedAccount(), map[schema.Date]*copiedDay{}
	for _, d := range c.days {
		byDay[d.Day] = d
	}
	first := max(r.s.plan.Reach, account.Since)
	day := first
	for byDay[day] != nil && byDay[day].hasNoReport && account.Days[day] == nil {
		day++
	}
	if days := account.DayList(); day == first || !c.hasRows(account) || len(days) > 0 && days[0] < day {
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
	they := map[bool]string{true: "it is", false: "they are"}[r.first-first == 1]
	c.findings = append(c.findings, finding{severity: remark, err: fmt.Errorf("the account begins on %s: the service "+
		"has nothing of %s before it, and its own sums have nothing either; %s not asked for again", r.first,
		cli.Count(int(r.first-first), "day"), they)})
	r.s.Log.Warn("the account is younger than the reach of the report", "first_day", r.first.String(), "days_before",
		int(r.first-first))
}

// hasRows reports whether any day has rows, stored or read now.
func (c *copiedDays) hasRows(stored *manifest.Account) bool {
	for _, d := range stored.Days {
		if d.Sums.Rows > 0 {
			return true
		}
	}
	return slices.ContainsFunc(c.days, func(d *copiedDay) bool { return d.isStaged && d.read.sums.Rows > 0 })
}
