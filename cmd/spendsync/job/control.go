package job

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// controlTotals are the service's sums per day, requested once per run.
type controlTotals struct {
	s *session

	days   []plannedDay // oldest first
	once   sync.Once
	totals extract.Totals
	err    error // why the request failed
}

// all returns the service's totals of the planned days. The first call requests them.
func (c *controlTotals) all(ctx context.Context) (extract.Totals, error) {
	c.once.Do(func() {
		r := c.s
		from, to := c.days[0].Day, c.days[len(c.days)-1].Day
		c.totals, c.err = r.Report.ControlTotals(ctx, from, to)
		// The oldest day may have become too old for the report since the plan was made. The service then refuses every
		// range that begins with that day.
		for last := min(to, from+maxOutOfReach); c.totals.BeyondReach && from < last; {
			from++
			c.totals, c.err = r.Report.ControlTotals(ctx, from, to)
		}
		if c.err == nil && !c.totals.Exists {
			r.Log.Warn("the service gives no total per day; days are proven without it", "why", c.totals.Why)
		}
	})
	return c.totals, c.err
}

// check compares a read with the control total of the day, and records the result. A read that began less than six
// hours after the day's end is not compared. If the sums differ, the service may have changed the day between the two
// requests; so check requests the sum of this day alone. It also does so if the read lost most of the stored rows.
func (c *controlTotals) check(ctx context.Context, day schema.Date, read *dayRead) error {
	store := c.s.store
	stored := store.Account().Days[day]
	if read.DayRows.Refused > 0 { // the sum includes the rows that were refused, so it cannot match
		read.Control = schema.ControlUnknown
		return nil
	} else if read.Control = schema.ControlOpen; !read.isComparable(day) {
		return nil
	}
	totals, err := c.all(ctx)
	if err != nil && (stored != nil || ctx.Err() != nil || refusesAll(err)) {
		return fmt.Errorf("the control total: %w", err)
	} else if err != nil { // a day that is not stored yet is stored without the sum; readDays reports the error
		read.Control = schema.ControlUnknown
		return nil
	}
	sum, isAsked := totals.ByDay[day]
	if !totals.Exists || !isAsked {
		read.Control, read.noSum = schema.ControlNone, cmp.Or(totals.Why, "the day was not asked for")
		return nil
	}
	if read.matches(store, day, sum, totals.Decimals) && (stored == nil || read.lessThanHalf(stored) == "") {
		return nil
	}
	return c.checkAlone(ctx, day, read, totals.Decimals)
}

// checkAlone compares a read with the service's sum of this day, requested alone. The last argument is the number of
// decimals of the first sum.
func (c *controlTotals) checkAlone(ctx context.Context, day schema.Date, read *dayRead, decimals int) error {
	again, err := c.s.Report.ControlTotals(ctx, day, day)
	switch {
	case err != nil:
		return fmt.Errorf("the control total: %w", err)
	case again.BeyondReach:
		// The service now refuses the day as too old, although its pages could be read. The first sum counts.
	case again.Empty && read.sums.Rows == 0 && read.Control == schema.ControlMatched:
		// The day has no rows, so neither answer has a line for it.
	case !again.Exists: // a missing sum does not mean a sum of 0
		read.noSum = "asked for this day alone, it gives none: " + again.Why
		if read.Control == schema.ControlMatched {
			read.Control = schema.ControlNone
		}
	default:
		read.matches(c.s.store, day, again.ByDay[day], max(decimals, again.Decimals))
	}
	return nil
}

// matches records the service's sum of a day, and reports whether it equals the sum of the read's rows. The service may
// have rounded its sum to the given number of decimals; [exact] means that it did not round.
func (read *dayRead) matches(store *load.Store, day schema.Date, t extract.Total, decimals int) bool {
	read.Control, read.isSumOfStored = schema.ControlMatched, false
	read.ControlTotal = manifest.ControlTotal{Spend: schema.Some(t.Spend), Clicks: t.Clicks}
	if t.Agrees(read.sums.Spend, read.clicks(), read.DayRows.Rounded) || decimals != exact &&
		t.AgreesRounded(read.sums.Spend, read.clicks(), read.sums.Rows, read.decimals(), decimals) {
		return true
	}
	stored := store.Account().Days[day]
	read.Control = schema.ControlDiffers
	read.isSumOfStored = stored != nil && stored.ContentHash != read.hash &&
		t.Agrees(stored.Sums.Spend, read.storedClicks(stored), stored.Rounded)
	return false
}

// exact marks a sum that is not rounded. It is used in place of a number of decimals.
const exact = -1

// decimals returns the largest number of decimals among the amounts of a day.
func (read *dayRead) decimals() (most int) {
	for _, row := range read.day.Rows().All() {
		most = max(most, row.Spend.Decimals())
	}
	return most
}

// storedClicks returns the sum of a stored day's clicks, or NULL if it is unknown. If neither the read nor the stored
// day has clicks, they may not have been requested when the day was stored, so the sum is unknown, too.
func (read *dayRead) storedClicks(stored *manifest.Day) schema.Null[int64] {
	sum := stored.Sums.Clicks
	return schema.Null[int64]{V: sum.V, Valid: !stored.HasUnread("clicks") && (sum.Valid || !read.NoClicks)}
}
