package job

import (
	"cmp"
	"fmt"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// PlanOptions decide which days a plan reads again, and how it estimates the number of requests.
type PlanOptions struct {
	YoungDays   int
	RereadAfter time.Duration
	PageSize    int
}

// plannedDay is one day to be read, with the reason.
type plannedDay struct {
	Day      schema.Date `json:"day"`
	Reason   string      `json:"reason"`
	Requests int         `json:"requests"`  // estimate, from the number of rows at the last read
	DaysLeft int64       `json:"days_left"` // until it can no longer be read, today included
	Proven   bool        `json:"proven"`    // whether the day was proven by a read after its end
}

// freshDay is a day that the report still covers, but that was read recently enough.
type freshDay struct {
	Day    schema.Date    `json:"day"`
	ReadAt schema.Instant `json:"last_read_at"`
}

// Plan is what a run will do, and why.
type Plan struct {
	Account  string        `json:"account"`
	Today    schema.Date   `json:"today"`
	Reach    schema.Date   `json:"reach_from"`
	Read     []plannedDay  `json:"read"` // oldest first
	Keep     []freshDay    `json:"keep"` // fresh enough
	before   []plannedDay  // days of the report before the account's first day; see young.go
	Gone     []schema.Date `json:"gone"`     // days that the report no longer covers, and that are lost or partial
	Requests int           `json:"requests"` // estimate, the control total included
}

// PlanDays returns the days that a run at the instant now must read. The result depends only on this instant, the
// options and the stored days, so the next run makes up for a missed run. The machine's time zone has no effect.
func PlanDays(account string, now time.Time, stored *manifest.Account, o PlanOptions) Plan {
	p := newPlan(account, now)
	today := p.Today
	doubts := map[schema.Date]string{}
	for _, c := range stored.Coverage(account, now) {
		if c.Doubt.V != schema.Accepted && c.PartialWhy.Valid {
			doubts[c.ReportDate] = cmp.Or(c.Doubt.V, c.State) + ": " + c.PartialWhy.V
		}
	}
	first := max(p.Reach, min(stored.Since, today))
	for d := p.Reach; d < first; d++ {
		p.before = append(p.before, plannedDay{Day: d, Reason: "before the account's first day", Requests: 1,
			DaysLeft: stored.DaysUntilUnreachable(d, today)})
	}
	for d := first; d <= today; d++ {
		k := stored.Days[d]
		reason := cmp.Or(readReason(d, today, now, k, o), doubts[d])
		if reason == "" {
			p.Keep = append(p.Keep, freshDay{d, k.LastReadAt})
			continue
		}
		p.add(d, reason, stored, o.PageSize)
	}
	for _, c := range stored.Coverage(account, now) {
		if c.ReportDate < p.Reach && (c.State == schema.StateLost || c.State == schema.StatePartial) {
			p.Gone = append(p.Gone, c.ReportDate)
		}
	}
	return p
}

// newPlan returns a plan without days.
func newPlan(account string, now time.Time) Plan {
	today := schema.DateOf(now)
	return Plan{Account: account, Today: today, Reach: today - schema.ReachDays, Read: []plannedDay{},
		Keep: []freshDay{}, Gone: []schema.Date{}}
}

// planRange returns the plan of a backfill: all requested days, whatever is stored.
func planRange(account string, now time.Time, stored *manifest.Account, from, to schema.Date, o PlanOptions) (Plan,
	error) {
	p := newPlan(account, now)
	switch {
	case from > to:
		return p, exit.Advise(exit.Usagef("--from %s is after --to %s", from, to), "give the earlier day to --from")
	case from < p.Reach:
		return p, exit.Usagef("--from %s: the report reaches back to %s only; days before it can never be read again",
			from, p.Reach)
	case to > p.Today:
		return p, exit.Usagef("--to %s: today in Chicago is %s", to, p.Today)
	}
	for d := from; d <= to; d++ {
		p.add(d, "asked for", stored, o.PageSize)
	}
	return p, nil
}

func (p *Plan) add(d schema.Date, reason string, stored *manifest.Account, pageSize int) {
	k, n := stored.Days[d], 1
	if k != nil {
		n = max(1, (int(k.Sums.Rows)+pageSize-1)/pageSize)
	}
	if len(p.Read) == 0 {
		p.Requests++ // one request per run for the service's own sum of each day
	}
	p.Read = append(p.Read, plannedDay{
		Day: d, Reason: reason, Requests: n, DaysLeft: stored.DaysUntilUnreachable(d, p.Today),
		Proven: k != nil && k.WasOver(d),
	})
	p.Requests += n
}

// readReason returns why a day must be read in this run, or "" if it need not be.
func readReason(d, today schema.Date, now time.Time, k *manifest.Day, o PlanOptions) string {
	switch {
	case k == nil:
		return "never proven complete"
	case !k.WasOver(d) && d < today:
		return "last read before the day was over"
	case int(today-d) < o.YoungDays:
		return fmt.Sprintf("younger than %d days", o.YoungDays)
	case !k.WasOver(d):
		return "the day is not over"
	}
	switch age := now.Sub(k.LastReadAt.Time()); {
	case age > o.RereadAfter:
		return fmt.Sprintf("last read %s ago", cli.Age(age))
	case age < 0: // the clock was set back, so the time since the last read is unknown
		return "last read at a time that is yet to come"
	}
	return ""
}

// ReachFrom returns the earliest day that the report covers at an instant.
func ReachFrom(now time.Time) schema.Date { return schema.DateOf(now) - schema.ReachDays }

// shortestReach is the number of days before today for which every service is expected to have the report. If the
// service refuses a younger day, that is a failure, whatever the reply states.
const shortestReach = schema.ReachDays - maxOutOfReach

// maxOutOfReach is how many of the oldest days the service may refuse as too old, although its description allows them.
const maxOutOfReach = 4
