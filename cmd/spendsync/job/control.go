package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// controlTotals are the service's own sums per day, asked for once a run.
type controlTotals struct {
	run *session

	once   sync.Once
	totals extract.Totals
	err    error

	mu      sync.Mutex
	failed  error                      // why they could not be asked for
	differ  map[schema.Date]difference // of days whose total did not agree when they were last read
	trusted []difference               // those that came the same way twice
}

// difference is a day whose rows do not add up to the service's own total of it.
type difference struct {
	day   schema.Date
	hash  string
	rows  history.Sums
	total manifest.ControlTotal
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s US dollars and %d clicks in rows, %s and %d by the total",
		d.day, d.rows.Spend, d.rows.Clicks.V, d.total.Spend.V, d.total.Clicks.V)
}

// all asks for the totals of the planned days, the first time that it is called.
func (c *controlTotals) all(ctx context.Context) (extract.Totals, error) {
	c.once.Do(func() {
		r := c.run
		from, to := r.plan.Read[0].Day, r.plan.Read[len(r.plan.Read)-1].Day
		c.totals, c.err = r.Report.ControlTotals(ctx, from, to)
		for tries := 0; c.err == nil && !c.totals.Exists && from < to && tries < maxOutOfReach; tries++ {
			if tries > 0 && !c.totals.BeyondReach {
				break
			}
			// The oldest day may have left the reach since the plan was made, and then a range from that day on is
			// refused completely.
			from++
			c.totals, c.err = r.Report.ControlTotals(ctx, from, to)
		}
		if c.err == nil && !c.totals.Exists {
			r.Log.Warn("the service gives no total per day; days are proven without it", "why", c.totals.Why)
		}
	})
	return c.totals, c.err
}

// compare compares a day that is over with the service's own total, and records the result. A differing total is
// requested once more, because the day may have been restated between the two requests; confirm always requests it
// again.
func (c *controlTotals) compare(ctx context.Context, day schema.Date, read *dayRead, confirm bool) (string, error) {
	if read.at.Time().Before(day.End()) {
		return schema.ControlOpen, c.keepsRows(day, read, "the day is not over")
	}
	totals, err := c.all(ctx)
	if err != nil {
		return c.unavailable(ctx, day, read, err)
	}
	if !totals.Exists {
		return schema.ControlNone, c.keepsRows(day, read, totals.Why)
	}
	decimals := totals.Decimals
	agrees := func(t extract.Total) bool {
		read.total = manifest.ControlTotal{Spend: schema.Some(t.Spend), Clicks: t.Clicks}
		return t.Agrees(read.sums.Spend, read.clicks(), read.rounded) ||
			t.AgreesRounded(read.sums.Spend, read.clicks(), read.sums.Rows, c.decimals(day, read), decimals)
	}
	if !confirm && agrees(totals.ByDay[day]) {
		return schema.ControlMatched, nil
	}
	again, err := c.run.Report.ControlTotals(ctx, day, day)
	if err != nil {
		return "", fmt.Errorf("the control total: %w", err)
	}
	if again.BeyondReach {
		// The pages were read just before the day left the reach, and never can be again.
		return c.unavailable(ctx, day, read, fmt.Errorf("%s: %w", again.Why, extract.ErrUnreachable))
	}
	if again.Empty && read.sums.Rows == 0 && agrees(totals.ByDay[day]) {
		// A request for one day alone has no total to show if the day has no rows; the totals of the whole range also
		// lack the day.
		return schema.ControlMatched, nil
	}
	if !again.Exists {
		// No total is not a total of 0.
		return "", &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
			"the rows add up to %s US dollars, the service's total of all days says %s for it, and asked for this "+
				"day alone it gives none: %s",
			read.sums.Spend, totals.ByDay[day].Spend, again.Why)}
	}
	if decimals = max(decimals, again.Decimals); agrees(again.ByDay[day]) {
		return schema.ControlMatched, nil
	}
	return c.differs(day, read, again)
}

// decimals is the most decimals that the amounts of a day have. They are looked at only
// where the sums are not equal.
func (c *controlTotals) decimals(day schema.Date, read *dayRead) (most int) {
	if read.day != nil {
		for _, row := range read.day.Rows().All() {
			most = max(most, row.Spend.Decimals())
		}
		return most
	}
	for rows, err := range c.run.store.StoredDay(day) {
		if err != nil {
			return schema.MoneyDecimals
		}
		for i := range rows {
			most = max(most, rows[i].Spend.Decimals())
		}
	}
	return most
}

// differs decides about a day whose pages add up, but not to the service's total. The description promises no such
// total, so it only informs: a difference that comes twice is stored. It is a veto only if it confirms the stored rows
// against the new ones, or contradicts an empty or much smaller answer.
func (c *controlTotals) differs(day schema.Date, read *dayRead, t extract.Totals) (string, error) {
	if read.combined != history.Apart || read.counted == schema.RowsDiffer {
		return schema.ControlDiffers, nil // no two witnesses agree
	}
	total := t.ByDay[day]
	d := difference{day: day, hash: read.hash, rows: read.sums, total: read.total}
	known := c.run.store.Account().Days[day]
	vouched := known != nil && known.ContentHash != read.hash &&
		total.Agrees(known.Sums.Spend, storedClicks(known), known.Rounded)
	doubtful := vouched || read.sums.Rows == 0 || suspicious(known, read.sums)
	c.mu.Lock()
	defer c.mu.Unlock()
	stored := known != nil && known.Control == schema.ControlDiffers && known.ContentHash == d.hash &&
		known.ControlTotal == d.total
	if !doubtful && (stored || c.differ[day] == d) {
		c.trusted = append(c.trusted, d)
		return schema.ControlDiffers, nil
	}
	if c.differ == nil {
		c.differ = map[schema.Date]difference{}
	}
	c.differ[day] = d
	return "", &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
		"the rows add up to %s US dollars and %d clicks, the service's own total is %s and %d",
		read.sums.Spend, read.sums.Clicks.V, total.Spend, total.Clicks.V)}
}

// storedClicks returns the sum of a stored day's clicks; unknown if those of a row may be.
func storedClicks(known *manifest.Day) schema.Null[int64] {
	if known.Unread > 0 {
		return schema.Null[int64]{}
	}
	return known.Sums.Clicks
}

// storedOnes returns the differences of days that are stored, in the order of the days.
func (c *controlTotals) storedOnes(stored []schema.Date) []difference {
	trusted := slices.DeleteFunc(slices.Clone(c.trusted), func(d difference) bool {
		return !slices.Contains(stored, d.day)
	})
	slices.SortFunc(trusted, func(a, b difference) int { return cmp.Compare(a.day, b.day) })
	return trusted
}

// form returns in which direction the service's total differs, and how far.
func (d difference) form() string {
	if d.rows.Spend == d.total.Spend.V {
		return "clicks-" + manifest.Gap(d.rows.Clicks.V, d.total.Clicks.V)
	}
	return manifest.Gap(int64(d.rows.Spend), int64(d.total.Spend.V))
}

// sentence names the days that are stored though the service's own total differs; empty:
// none. matched is how many of the stored days agree.
func (c *controlTotals) sentence(matched int, stored []schema.Date) string {
	trusted := c.storedOnes(stored)
	switch n := len(trusted); {
	case n == 0:
		return ""
	case matched == 0 && n > 1:
		return fmt.Sprintf("the service's own total differs on every finished day, such as %s: "+
			"it probably counts something else, such as fees or other sources; the rows are stored as they came",
			trusted[n-1])
	default:
		return fmt.Sprintf("the service's own total differs on %s, such as %s; the rows are stored as they came",
			phrase.Count(n, "day"), trusted[n-1])
	}
}

// keepsRows decides about a day whose pages add up and that has no total of the
// service's, for the given reason. The other witnesses do not prove that a day that has rows
// has none any more: whatever loses the rows may lose the total, too.
func (c *controlTotals) keepsRows(day schema.Date, read *dayRead, why string) error {
	known := c.run.store.Account().Days[day]
	if read.sums.Rows > 0 || known == nil || known.Sums.Rows == 0 {
		return nil
	}
	return &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
		"the answer is empty, %d rows and %s US dollars are stored, and no total of the service's confirms it: %s",
		known.Sums.Rows, known.Sums.Spend, why)}
}

// unavailable decides about a day whose pages add up while the service's totals cannot be read. A stored day stays
// unchanged; a day that is not stored is stored without a total, and the run reports it.
func (c *controlTotals) unavailable(ctx context.Context, day schema.Date, read *dayRead, err error) (string, error) {
	r := c.run
	err = fmt.Errorf("the control total: %w", err)
	if ctx.Err() != nil || errors.Is(err, extract.ErrAuth) || r.store.Account().Days[day] != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = cmp.Or(c.failed, err)
	return schema.ControlUnknown, nil
}
