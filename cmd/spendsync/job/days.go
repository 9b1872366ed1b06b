package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// copiedDay is the result of a planned day: what was read and staged.
type copiedDay struct {
	plannedDay
	step            schema.Step
	err             error         // why the day failed; nil also if it is unreachable or precedes the account
	isStaged        bool          // whether its rows are staged, except refused ones
	hasNoReport     bool          // whether the service answered that it has no report of the day (404, 410 or 204)
	precedesAccount bool          // whether the day precedes the account's first day, see young.go
	isEmptied       bool          // whether an unproven read had no delivery, although the stored day has some
	isQuarantined   bool          // whether its replies are in quarantine because they do not prove the day
	waiting         string        // hash of a read that lost most of the stored day, for the next run to compare
	isWithheld      bool          // whether its replies are in quarantine because the day may be another account's
	read            *dayRead      // without the rows
	stored          *manifest.Day // the stored day; nil: there is none
	put             load.StagedDay
	replies         *load.Replies
	campaigns       []string // campaigns of its rows; empty if the rows did not change
	delivering      []string // campaigns with spend; empty unless the day is young and its rows changed
}

// isUnreachable reports whether the service refused the day as too far in the past.
func (d *copiedDay) isUnreachable() bool { return !d.isStaged && !d.precedesAccount && d.err == nil }

// freshFor is how long an open day may keep its last proven read.
const freshFor = 6 * time.Hour

// mayStayOpen reports whether a day that is not over and not proven may keep its stored read, because that read is
// younger than freshFor. Rows of such a day may move from page to page during a read; the next run may prove the day.
func (d *copiedDay) mayStayOpen() bool {
	_, isUnproven := errors.AsType[*extract.UnprovenError](d.err)
	began := d.step.StartedAt.Time()
	return isUnproven && d.stored != nil && began.Before(d.Day.End()) &&
		began.Sub(d.stored.LastReadAt.Time()) < freshFor
}

// copiedDays holds the results of all planned days of a run.
type copiedDays struct {
	planned  []plannedDay
	days     []*copiedDay // the days that were started, in the order in which they ended
	totals   *controlTotals
	findings []finding // about several days
	stopped  bool      // by a signal
	withheld error     // why days are kept out of the store; nil if none is kept out
}

// hasAny reports whether the service has given a usable answer for at least one day.
func (c *copiedDays) hasAny() bool {
	return slices.ContainsFunc(c.days, func(d *copiedDay) bool { return d.isStaged || d.isUnreachable() })
}

// delivering returns the campaigns with spend on young days that changed in this run.
func (c *copiedDays) delivering() witnesses {
	all := witnesses{}
	for _, d := range c.days {
		all.add(d.delivering)
	}
	return all
}

// readDays reads the planned days, several at a time, oldest first. If a day fails, the other days are still read,
// unless they would fail for the same reason (see isFatal).
func (s *session) readDays(ctx context.Context, key *future[keyProof]) *copiedDays {
	s.Log.Info("run started", "days", len(s.plan.Read), "requests", s.plan.Requests, "data_dir", s.DataDir)
	r := &dayReader{s: s, key: key, totals: &controlTotals{s: s, days: s.plan.Read},
		inFlight: semaphore.NewWeighted(maxRowsInFlight),
		bar:      s.progress("days", len(s.plan.Read), s.Report)}
	defer r.bar.Done()
	c := &copiedDays{planned: s.plan.Read, totals: r.totals}
	fatal := r.copyDays(ctx, s.plan.Read, c)
	if fatal == nil {
		fatal = r.copyBefore(ctx, c)
	}
	c.stopped = ctx.Err() != nil
	if err := cmp.Or(r.totals.err, c.totals.err); err != nil {
		c.findings = append(c.findings, finding{what: "control totals", err: err})
	}
	if n := len(c.planned) - len(c.days); n > 0 && fatal != nil {
		c.findings = append(c.findings, finding{err: fmt.Errorf("%s not tried", cli.Count(n, "more day"))})
	}
	return c
}

// copyDays reads days, several at a time, and adds their results to c. It returns a failure after which reading other
// days is pointless. Then c lacks the days that were not tried.
func (r *dayReader) copyDays(ctx context.Context, days []plannedDay, c *copiedDays) error {
	var mu sync.Mutex // guards c.days
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.s.Concurrency)
	for _, d := range days {
		g.Go(func() error {
			if gctx.Err() != nil {
				return nil
			}
			day := r.copyDay(gctx, d)
			mu.Lock()
			defer mu.Unlock()
			c.days = append(c.days, day)
			if day.err != nil && isFatal(day.err) {
				return day.err
			}
			return nil
		})
	}
	return g.Wait()
}

// isFatal reports whether a failure of one day makes reading other days pointless: refused credentials, or an
// error of storage or configuration.
func isFatal(err error) bool {
	return refusesAll(err) || errors.Is(err, durable.ErrStorage) || errors.Is(err, exit.ErrUsage)
}

// refusesAll reports whether the service refused the credentials of a client, and has answered no other request of this
// client in this run.
func refusesAll(err error) bool {
	e, ok := errors.AsType[*extract.ReadError](err)
	return ok && errors.Is(e, extract.ErrAuth) && !e.OthersAnswered()
}

// copyDay reads one day, proves it and stages it.
func (r *dayReader) copyDay(ctx context.Context, d plannedDay) *copiedDay {
	replies := r.s.store.Replies(r.s.area, d.Day)
	c := &copiedDay{plannedDay: d, replies: replies, stored: r.s.store.Account().Days[d.Day], step: schema.Step{
		AccountID: r.s.Account, Stream: "spend_report", Unit: d.Day.String(), Reason: d.Reason,
		StartedAt: schema.InstantOf(r.s.Now()), RunID: r.s.RunID,
	}}
	work := dayWork{inFlight: r.inFlight, replies: replies, intern: transform.NewInterner(),
		ids: campaignIDs{}}
	defer work.release()
	defer r.bar.Step()
	c.read, c.err = r.prove(ctx, c, &work)
	if c.err == nil {
		c.put, c.err = replies.Stage(ctx, load.DayRead{ReadAt: c.read.at, ReadOutcome: c.read.ReadOutcome,
			Names: func() map[string]string { return r.s.labels().names }}, c.read.day)
	}
	c.isEmptied, c.step.FinishedAt = c.isEmptied && c.err != nil, schema.InstantOf(r.s.Now())
	if c.err != nil {
		c.hasNoReport = replies.Count() == 0 && hasStatus(c.err, 404, 410, 204)
		c.isQuarantined = r.quarantine(ctx, replies, d.Day, c.step.StartedAt, c.err)
		c.err = errors.Join(c.err, replies.Drop())
		c.step.Message = schema.Some(c.err.Error())
	}
	switch {
	case errors.Is(c.err, extract.ErrUnreachable) && int(r.s.plan.Today-d.Day) >= shortestReach:
		// The refusal is an answer about the day, not a failure. What is known of the day decides whether it counts as
		// lost.
		c.step.Outcome = "unreachable"
		c.err = nil
	case c.err != nil:
		c.step.Outcome = "failed"
		if refusesAll(c.err) && ctx.Err() == nil { // log it now: reading the settings may take minutes
			r.s.Log.Warn("the report refused the user or password: no day can be read; the settings are read all the "+
				"same", "day", c.step.Unit, "error", c.err)
		}
	default:
		c.isStaged = true
		if c.put.Changed {
			c.campaigns = campaignsOf(c.read.day.Rows(), false)
			if int(r.s.plan.Today-d.Day) < r.s.Plan.YoungDays {
				c.delivering = campaignsOf(c.read.day.Rows(), true)
			}
		}
		c.describe()
		r.s.Log.Debug("day proven", "day", c.step.Unit, "outcome", c.step.Outcome, "rows", c.step.Rows,
			"pages", c.step.Pages, "attempts", c.step.Attempts, "spend", c.read.sums.Spend.String(),
			"control", c.read.Control)
		for i, column := range history.Counts {
			if n := c.put.Lost[i]; n > 0 {
				r.s.Log.Warn("the report lacks counts that it had before; they are unknown (NULL) now, see ops.note",
					"day", c.step.Unit, "column", column, "rows", n)
			}
		}
	}
	if c.read != nil {
		c.read.release()
	}
	return c
}

// describe adds the outcome to the day's step, which is a row of the ledger.
func (c *copiedDay) describe() {
	c.step.Outcome = "unchanged"
	if c.put.Changed {
		c.step.Outcome = "stored"
	}
	if err := c.read.incomplete(); err != nil {
		c.step.Message = schema.Some(err.Error())
	}
	c.step.Pages, c.step.Rows = int64(c.read.Pages), c.read.sums.Rows
	c.step.Bytes, c.step.Rounded = c.read.Bytes, int64(c.read.DayRows.Rounded)
}
