package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spendsync/load/history"
	"spendsync/schema"
)

// Coverage returns the coverage of every day from the account's first day up to the Chicago date of the given time.
func (a *Account) Coverage(account string, now time.Time) []schema.DayCoverage {
	today := schema.DateOf(now)
	var days []schema.DayCoverage
	for d := a.Since; d <= today; d++ {
		c := schema.DayCoverage{
			AccountID: account, ReportDate: d, ControlTotalState: schema.ControlUnread,
			DaysUntilUnreachable: a.DaysUntilUnreachable(d, today),
		}
		k := a.Days[d]
		if k != nil {
			c.FirstReadAt, c.LastReadAt, c.Reads = schema.Some(k.FirstReadAt), schema.Some(k.LastReadAt), k.Reads
			c.Rows, c.Spend, c.Clicks = k.Sums.Rows, schema.Some(k.Sums.Spend), k.Sums.Clicks
			c.ControlSpend, c.ControlClicks = k.ControlTotal.Spend, k.ControlTotal.Clicks
			c.RowsTotal, c.RowsTotalState = k.RowsTotal, schema.Null[string]{V: k.RowsTotalState,
				Valid: k.RowsTotalState != ""}
			c.ControlTotalState, c.ContentHash, c.RunID = k.Control, schema.Some(k.ContentHash), schema.Some(k.RunID)
		}
		c.State = k.state(d, today, c.DaysUntilUnreachable > 0)
		if k != nil {
			a.addDoubt(&c, k, today)
		}
		days = append(days, c)
	}
	return days
}

// DayList returns the proven days, oldest first.
func (a *Account) DayList() []schema.Date { return slices.Sorted(maps.Keys(a.Days)) }

// Coverage returns the coverage of an account's days as of the publication; nil if the account is not loaded.
func (m *Manifest) Coverage(account string) []schema.DayCoverage {
	if a := m.Accounts[account]; a != nil {
		return a.Coverage(account, m.PublishedAt.Time())
	}
	return nil
}

// DaysUntilUnreachable returns the number of days, counted from today, on which the service can still be asked for day
// d. The number is less than [schema.DaysUntilUnreachable] if the service has refused days that its description allows.
func (a *Account) DaysUntilUnreachable(d, today schema.Date) int64 {
	left := schema.DaysUntilUnreachable(d, today)
	if a.Reach > 0 {
		left -= schema.ReachDays - int64(a.Reach)
	}
	return max(0, left)
}

// state returns the state of day d in the coverage. If the day was never proven, k is nil. The argument reachable
// states whether the service can still be asked for the day.
func (k *Day) state(d, today schema.Date, reachable bool) string {
	switch {
	case k == nil && reachable:
		return schema.StateMissing
	case k == nil:
		return schema.StateLost
	case k.partialWhy(d, today) != "":
		return schema.StatePartial
	case k.WasOver(d) && reachable:
		return schema.StateComplete
	case k.WasOver(d):
		return schema.StateFinal
	}
	return schema.StateOpen
}

// addDoubt sets the reason why a stored day is partial or doubtful, and whether a person has accepted the day. A day is
// accepted by its date or, unless it is partial or its reason is [LessRead], by accepting all of its doubts.
func (a *Account) addDoubt(c *schema.DayCoverage, k *Day, today schema.Date) {
	why := k.partialWhy(c.ReportDate, today)
	if why == "" && a.Waiting[c.ReportDate] != "" && c.ReportDate < today { // the next run asks for today anyway
		why = LessRead
	}
	isAccepted := why == ""
	for _, d := range k.Doubts() {
		if isAccepted = isAccepted && a.Accepts(d.Form, d.Size); why == "" {
			why = d.Text
		}
	}
	if why == "" {
		return
	}
	c.PartialWhy = schema.Some(why)
	switch {
	case isAccepted || a.Notes.acceptsDay(c.ReportDate, k):
		c.Doubt = schema.Some(schema.Accepted)
	case c.State != schema.StatePartial:
		c.Doubt = schema.Some(schema.Doubtful)
	}
}

// whyDoubted returns why a stored day is partial or doubtful, accepted or not. It returns an empty text if the day is
// neither, or is not stored.
func (a *Account) whyDoubted(d schema.Date, at schema.Instant) string {
	c := schema.DayCoverage{ReportDate: d}
	if k := a.Days[d]; k != nil {
		a.addDoubt(&c, k, schema.DateOf(at.Time()))
	}
	return c.PartialWhy.V
}

// WasOver reports whether the day had ended when the last proven read of the day started. Only such a read can have all
// numbers of the day, so only later differences from it are restatements.
func (k *Day) WasOver(d schema.Date) bool { return !k.LastReadAt.Time().Before(d.End()) }

// NewlyLost returns the lost days that no run has reported yet. A day is lost if it can no longer be read in full.
func (a *Account) NewlyLost(account string, now time.Time) []schema.Date {
	var lost []schema.Date
	for _, c := range a.Coverage(account, now) {
		k := a.Days[c.ReportDate]
		cut := c.State == schema.StatePartial && c.DaysUntilUnreachable == 0 && !k.WasOver(c.ReportDate)
		isLost := c.State == schema.StateLost || cut
		if isLost && !slices.Contains(a.ReportedLost, c.ReportDate) {
			lost = append(lost, c.ReportDate)
		}
	}
	return lost
}

// AddReportedLost adds lost days that a run reports by its exit code.
func (a *Account) AddReportedLost(days []schema.Date) {
	a.ReportedLost = append(a.ReportedLost, days...)
	slices.Sort(a.ReportedLost)
	a.ReportedLost = slices.Compact(a.ReportedLost)
}

// CheckRows returns an error if the sums or the hash of the day differ from the sums or the hash in k. The hash is
// compared only if isHashed is set, because older versions of the tables computed the hash in another way.
func (k *Day) CheckRows(day *history.Day, isHashed bool) error {
	if sums := day.Sums(); sums != k.Sums {
		return fmt.Errorf("the rows add up to %+v, and did to %+v", sums, k.Sums)
	}
	if isHashed && day.Hash() != k.ContentHash {
		return errors.New("the content is not what was proven")
	}
	return nil
}
