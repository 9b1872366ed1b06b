package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"spendsync/extract"
	"spendsync/schema"
)

// controlTotals are the service's own sums per day, asked for once a run.
type controlTotals struct {
	run *run

	once   sync.Once
	totals extract.Totals
	err    error

	noted sync.Once // that they could not be asked for
}

// all asks for the totals of the planned days, the first time that it is called.
func (c *controlTotals) all(ctx context.Context) (extract.Totals, error) {
	c.once.Do(func() {
		r := c.run
		from, to := r.plan.Read[0].Day, r.plan.Read[len(r.plan.Read)-1].Day
		c.totals, c.err = r.Report.ControlTotals(ctx, from, to)
		if c.err == nil && !c.totals.Exists && from < to {
			// The oldest day may have left the reach since the plan was made, and a
			// range that begins there is refused whole.
			c.totals, c.err = r.Report.ControlTotals(ctx, from+1, to)
		}
		if c.err == nil && !c.totals.Exists {
			r.Log.Warn("the service gives no total per day; days are proven without it", "why", c.totals.Why)
		}
	})
	return c.totals, c.err
}

// compare holds a day that is over against the service's own total of it. A total
// that differs is asked for once more, for the day may have been restated between
// the two questions; confirm asks again in any case.
func (c *controlTotals) compare(ctx context.Context, day schema.Date, read *dayRead, confirm bool) (string, error) {
	if read.at.Time().Before(day.End()) {
		return schema.ControlOpen, c.keepsRows(day, read, "the day goes on")
	}
	totals, err := c.all(ctx)
	if err != nil {
		return c.unavailable(ctx, day, err)
	}
	if !totals.Exists {
		return schema.ControlNone, c.keepsRows(day, read, totals.Why)
	}
	agrees := func(t extract.Totals) bool {
		return t.ByDay[day].Agrees(read.sums.Spend, read.sums.Clicks, read.rounded)
	}
	if !confirm && agrees(totals) {
		return schema.ControlMatched, nil
	}
	again, err := c.run.Report.ControlTotals(ctx, day, day)
	if err != nil {
		return "", fmt.Errorf("the control total: %w", err)
	}
	if again.BeyondReach {
		// The pages were read just before the day left the reach, and never can be again.
		return c.unavailable(ctx, day, fmt.Errorf("%s: %w", again.Why, extract.ErrUnreachable))
	}
	if again.Empty && agrees(totals) && read.sums.Rows == 0 {
		// Asked for one day alone, a day without rows has no total to show; the totals of
		// the whole range say the same.
		return schema.ControlMatched, nil
	}
	if !again.Exists {
		// No total is not a total of 0.
		return "", &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
			"the rows add up to %s US dollars, the service's total of all days says %s for it, and asked for this day alone it gives none: %s",
			read.sums.Spend, totals.ByDay[day].Spend, again.Why)}
	}
	if agrees(again) {
		return schema.ControlMatched, nil
	}
	t := again.ByDay[day]
	return "", &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
		"the rows add up to %s US dollars and %d clicks, the service's own total is %s and %d",
		read.sums.Spend, read.sums.Clicks.V, t.Spend, t.Clicks.V)}
}

// keepsRows decides about a day whose pages add up and that has no total of the
// service's, for the given reason. The pages are the proof then. They do not prove that
// a day that has rows has none any more: whatever loses the rows may lose the total, too.
func (c *controlTotals) keepsRows(day schema.Date, read *dayRead, why string) error {
	known := c.run.store.Account().Days[day]
	if read.sums.Rows > 0 || known == nil || known.Sums.Rows == 0 {
		return nil
	}
	return &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
		"the answer is empty, %d rows and %s US dollars are stored, and no total of the service's confirms it: %s",
		known.Sums.Rows, known.Sums.Spend, why)}
}

// unavailable decides about a day whose pages add up while the service's totals
// cannot be asked for. A day that is stored stays as it is; one that is not is
// better known without the total than not at all, and the run reports it.
func (c *controlTotals) unavailable(ctx context.Context, day schema.Date, err error) (string, error) {
	r := c.run
	err = fmt.Errorf("the control total: %w", err)
	if ctx.Err() != nil || errors.Is(err, extract.ErrAuth) || r.store.Account().Days[day] != nil {
		return "", err
	}
	c.noted.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tally.fail("control totals", err)
	})
	return schema.ControlUnknown, nil
}
