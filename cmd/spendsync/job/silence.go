package job

import (
	"fmt"
	"slices"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// emptyDays are the days on which a run read no delivery, with the evidence from the run and the store. A day on which
// the report only lists creatives without delivery is as empty as a day without a row: a service that has lost its
// numbers still lists the creatives.
//
// The emptiness is proven if other days have delivery, which shows that the report works, or if the account rests. An
// account rests if the preceding days are empty, too, or if nothing is stored and the report lists creatives. Two facts
// refute the emptiness: a day with stored delivery came back empty without proof, or the last eight days have less than
// half of a week's spend at the account's average. If the account never had delivery, a person may accept that the
// account rests, whatever the average.
type emptyDays struct {
	days     []schema.Date
	emptied  []schema.Date             // days with stored delivery that came back empty without proof
	hasRows  bool                      // the run read delivery on other days
	isListed bool                      // the run read rows of creatives without delivery
	isStored bool                      // delivery is stored
	rests    bool                      // a person has accepted that an account without delivery rests
	rested   bool                      // the latest stored days before today are empty
	week     schema.Null[schema.Money] // spend of the last eight days; NULL: a day is not known
	average  schema.Null[schema.Money] // daily spend of the account, as the service states it
}

// emptyReport is the name of the note about an account that never had delivery.
const emptyReport = "report.empty"

// silence returns why the empty days are not proven to be empty; an empty text means that they are.
func (e emptyDays) silence() string {
	switch {
	case len(e.emptied) > 0 && (len(e.days) > 0 || !e.hasRows):
		return "rows are stored of " + cli.Days(e.emptied)
	case len(e.days) == 0, e.neverHadRow() && e.rests:
		return ""
	}
	remedy := ""
	if e.neverHadRow() {
		remedy = "; if the account rests, 'spendsync repair accept " + emptyReport + "' says so"
	}
	switch {
	case e.week.Valid && e.week.V < e.average.V/2*7:
		return fmt.Sprintf("the rows since a week ago have %s US dollars, while the account's own average daily spend "+
			"is %s", e.week.V, e.average.V) + remedy
	case e.hasRows, e.rested, !e.isStored && e.isListed:
		return ""
	case !e.isStored:
		return "none was ever stored, so that nothing is known of the account" + remedy
	}
	return "no other day has delivery"
}

// neverHadRow reports whether no delivery of the account is stored, and this run read none.
func (e emptyDays) neverHadRow() bool { return !e.isStored && !e.hasRows }

// sinceAWeek is a number of days that certainly includes the seven days of the account's average spend. restDays is how
// many stored days without a row show that an account rests.
const sinceAWeek, restDays = 8, 2

// emptyDays collects the evidence about the empty days of a run.
func (c *copiedDays) emptyDays(account *manifest.Account, today schema.Date, s *settings) (e emptyDays) {
	sums := map[schema.Date]history.Sums{} // of the stored days; a day read in this run replaces its stored sum
	e.rests = account.Accepts(emptyReport, 0)
	for day, k := range account.Days {
		sums[day] = k.Sums
		e.isStored = e.isStored || k.Sums.HasDelivery()
	}
	past := slices.DeleteFunc(account.DayList(), func(day schema.Date) bool { return day >= today })
	if n := len(past); n >= restDays {
		e.rested = !slices.ContainsFunc(past[n-restDays:], func(day schema.Date) bool {
			return sums[day].HasDelivery()
		})
	}
	for _, d := range c.days {
		switch {
		case d.isEmptied:
			e.emptied = append(e.emptied, d.Day)
		case !d.isStaged:
		case d.read.isSilent():
			e.days, sums[d.Day] = append(e.days, d.Day), history.Sums{}
			e.isListed = e.isListed || d.read.sums.Rows > 0
		default:
			e.hasRows, sums[d.Day] = true, d.read.sums
		}
	}
	e.week.Valid = true
	for day := today - sinceAWeek; day <= today; day++ {
		sum, isKnown := sums[day]
		e.week = schema.Null[schema.Money]{V: e.week.V + sum.Spend, Valid: e.week.Valid && isKnown}
	}
	slices.Sort(e.days)
	slices.Sort(e.emptied)
	if s != nil && s.money != nil && s.money.snapshot != nil {
		e.average = s.money.snapshot.AverageDailySpend
	}
	return e
}

// withdrawEmpty removes the empty days from the run if [emptyDays.silence] gives a reason.
func (r *run) withdrawEmpty(c *copiedDays, s *settings) {
	e := c.emptyDays(r.s.store.Account(), r.s.plan.Today, s)
	why := e.silence()
	if why == "" {
		return
	}
	silent := slices.Sorted(slices.Values(slices.Concat(e.days, e.emptied)))
	err := &exit.Outcome{Code: exit.Partial, Happens: fmt.Sprintf("the report is silent: it has no delivery of %s, "+
		"and %s; silence proves nothing, so what is stored of these days stands", cli.Days(silent), why)}
	r.s.Log.Warn("the report is silent", "days", len(silent), "why", why)
	if e.neverHadRow() {
		// The finding has a note, so that a person can accept that the account rests.
		c.findings = append(c.findings, finding{err: err, severity: remark, notes: []string{emptyReport}})
	}
	for _, d := range c.days {
		if !slices.Contains(silent, d.Day) {
			continue
		}
		d.isStaged, d.isQuarantined, d.err = false, false, err
		d.step.Outcome, d.step.Message = "silent", schema.Some(err.Error())
	}
}
