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

// PlanOptions are the settings that a plan follows from.
type PlanOptions struct {
	YoungDays   int
	RereadAfter time.Duration
	PageSize    int
}

// plannedDay is one day to be read, with the reason.
type plannedDay struct {
	Day      schema.Date `json:"day"`
	Reason   string      `json:"reason"`
	Requests int         `json:"requests"`  // estimated from the rows of its last read
	DaysLeft int64       `json:"days_left"` // in which it can still be read, today included
	Proven   bool        `json:"proven"`    // whether it was proven complete before, after it was over
}

// keptDay is a day in reach that need not be read now.
type keptDay struct {
	Day    schema.Date    `json:"day"`
	ReadAt schema.Instant `json:"last_read_at"`
}

// Plan is what a run will do, and why.
type Plan struct {
	Account  string        `json:"account"`
	Today    schema.Date   `json:"today"`
	Reach    schema.Date   `json:"reach_from"`
	Read     []plannedDay  `json:"read"`     // oldest first
	Keep     []keptDay     `json:"keep"`     // fresh enough
	Gone     []schema.Date `json:"gone"`     // known not at all or in part, and out of reach
	Requests int           `json:"requests"` // estimated, with the control total
}

// PlanDays returns the days to read at the instant now. It is pure: the coverage and the clock decide, so a missed run
// heals itself. The machine's time zone has no effect.
func PlanDays(account string, now time.Time, known *manifest.Account, o PlanOptions) Plan {
	today := schema.DateOf(now)
	p := Plan{
		Account: account, Today: today, Reach: today - schema.ReachDays,
		Read: []plannedDay{}, Keep: []keptDay{}, Gone: []schema.Date{},
	}
	doubts := map[schema.Date]string{}
	for _, c := range known.Coverage(account, now) {
		if c.Doubt.V != schema.Accepted && c.PartialWhy.Valid {
			doubts[c.ReportDate] = cmp.Or(c.Doubt.V, c.State) + ": " + c.PartialWhy.V
		}
	}
	for d := max(p.Reach, min(known.Since, today)); d <= today; d++ {
		k := known.Days[d]
		reason := cmp.Or(readReason(d, today, now, k, o), doubts[d])
		if reason == "" && known.Waiting[d] != "" {
			reason = "the last read had less than half of what is stored"
		}
		if reason == "" {
			p.Keep = append(p.Keep, keptDay{d, k.LastReadAt})
			continue
		}
		p.add(d, reason, known, o.PageSize)
	}
	for _, c := range known.Coverage(account, now) {
		if c.ReportDate < p.Reach && (c.State == schema.StateLost || c.State == schema.StatePartial) {
			p.Gone = append(p.Gone, c.ReportDate)
		}
	}
	return p
}

// planRange is the plan of a backfill: every day asked for, whatever is known.
func planRange(account string, now time.Time, known *manifest.Account, from, to schema.Date, o PlanOptions) (Plan,
	error) {
	p := PlanDays(account, now, &manifest.Account{Days: map[schema.Date]*manifest.Day{}, Since: schema.DateOf(now)}, o)
	switch {
	case from > to:
		return p, exit.Advise(exit.Usagef("--from %s is after --to %s", from, to), "give the earlier day to --from")
	case from < p.Reach:
		return p, exit.Usagef("--from %s: the report reaches back to %s only; days before it can never be read again",
			from, p.Reach)
	case to > p.Today:
		return p, exit.Usagef("--to %s: today in Chicago is %s", to, p.Today)
	}
	p.Read, p.Requests = nil, 0
	for d := from; d <= to; d++ {
		p.add(d, "asked for", known, o.PageSize)
	}
	return p, nil
}

func (p *Plan) add(d schema.Date, reason string, known *manifest.Account, pageSize int) {
	k, n := known.Days[d], 1
	if k != nil {
		n = max(1, (int(k.Sums.Rows)+pageSize-1)/pageSize)
	}
	if len(p.Read) == 0 {
		p.Requests++ // the control total, once a run
	}
	p.Read = append(p.Read, plannedDay{
		Day: d, Reason: reason, Requests: n, DaysLeft: known.DaysUntilUnreachable(d, p.Today),
		Proven: k != nil && k.WasOver(d),
	})
	p.Requests += n
}

// readReason returns why a day must be read now; empty: it need not be.
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
	case age < 0: // a clock was set back: the age of the read is unknown
		return "last read at a time that is yet to come"
	}
	return ""
}

// ReachFrom is the first day that the report can be asked for at an instant.
func ReachFrom(now time.Time) schema.Date { return schema.DateOf(now) - schema.ReachDays }

// shortestReach is how many days back every service is expected to answer: a refusal of a younger day, whatever its
// text, is a failure.
const shortestReach = schema.ReachDays - maxOutOfReach

// maxOutOfReach is how many of the planned days may prove to be out of reach.
const maxOutOfReach = 4
