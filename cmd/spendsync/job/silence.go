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

// emptyDays has the days on which a run read no delivery, and what speaks for and against them. A day whose rows are
// all without delivery is as empty as a day without rows: if a service loses its numbers, it still lists the creatives.
//
// The report is believed if other days have delivery, because then it works, or if the account rests: it delivers
// nothing at present. An account counts as resting if the latest stored days are empty, too, or if no delivery was ever
// stored and the report lists creatives. Even then, the report is not believed in two cases: a day with stored delivery
// came back empty without proof, or today and the eight days before it have less than half of what the account spends
// in a week, by the average that the service states. If the account never had delivery, a person may accept that it
// rests, whatever the average.
type emptyDays struct {
	days     []schema.Date
	emptied  []schema.Date             // days with stored delivery whose new read has none and is not proven
	hasRows  bool                      // whether the run read delivery on at least one day
	isListed bool                      // whether the run read rows of creatives without delivery
	isStored bool                      // whether delivery is stored
	rests    bool                      // whether a person has accepted that the account delivers nothing
	rested   bool                      // whether the two latest stored days before today have no delivery
	week     schema.Null[schema.Money] // spend of today and the eight days before; NULL: a day is not known
	average  schema.Null[schema.Money] // average daily spend, as the service states it
}

// emptyReport is the name of a note: the report has no delivery, and none was ever stored. A person may accept it.
const emptyReport = "report.empty"

// silence returns why the empty days may be wrong, or "" if they are believed.
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

// neverHadRow reports whether no delivery is stored, and this run read none either.
func (e emptyDays) neverHadRow() bool { return !e.isStored && !e.hasRows }

// sinceAWeek is how many days before today are compared with the service's average. The average is over seven days. It
// is not known when these seven days end, so eight days are compared. restDays is how many of the latest stored days
// must be empty to show that the account delivers nothing at present.
const sinceAWeek, restDays = 8, 2

// emptyDays collects the empty days of a run, and what speaks for and against them.
func (c *copiedDays) emptyDays(account *manifest.Account, today schema.Date, s *settings) (e emptyDays) {
	sums := map[schema.Date]history.Sums{} // sums of the stored days; if this run has read a day, its new sums
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

// withdrawEmpty keeps the empty days of this run from being published, if [emptyDays.silence] returns a reason.
func (r *run) withdrawEmpty(c *copiedDays, s *settings) {
	e := c.emptyDays(r.s.store.Account(), r.s.plan.Today, s)
	why := e.silence()
	if why == "" {
		return
	}
	silent := slices.Sorted(slices.Values(slices.Concat(e.days, e.emptied)))
	err := &exit.Outcome{Code: exit.Partial, Happens: fmt.Sprintf("the report is silent: it has no delivery of %s, "+
		"and %s; silence proves nothing, so what is stored of these days stands", cli.Days(silent), why)}
	if e.neverHadRow() {
		// With this note, a person can accept that the account delivers nothing.
		c.findings = append(c.findings, finding{err: err, isRemark: true, notes: []string{emptyReport}})
	}
	for _, d := range c.days {
		if !slices.Contains(silent, d.Day) {
			continue
		}
		d.isStaged, d.isQuarantined, d.err = false, false, err
		d.step.Outcome, d.step.Message = "silent", schema.Some(err.Error())
	}
}
