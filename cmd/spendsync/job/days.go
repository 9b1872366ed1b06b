package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/schema"
)

// readDays reads the planned days, several at a time, oldest first. What fails
// is noted; other days go on unless that is pointless.
func (r *run) readDays(ctx context.Context) {
	r.tally.planned = len(r.plan.Read)
	r.Log.Info("run started", "days", len(r.plan.Read), "requests", r.plan.Requests, "data_dir", r.DataDir)
	r.bar = r.progress("days", len(r.plan.Read))
	defer r.bar.Done()
	r.totals = &controlTotals{run: r}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Concurrency)
	for _, d := range r.plan.Read {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return nil // noted below: the day was not read
			}
			err := r.copyDayTraced(gctx, d)
			if err != nil && isFatal(err) {
				return err
			}
			return nil
		})
	}
	fatal := g.Wait()
	r.tally.differs = r.totals.sentence(r.tally.matched)
	r.tally.stopped = ctx.Err() != nil
	if fatal != nil || r.tally.stopped {
		r.noteUnread(fatal)
	}
}

// isFatal says whether a failure of one day makes going on with others pointless.
func isFatal(err error) bool {
	return errors.Is(err, extract.ErrAuth) || errors.Is(err, durable.ErrStorage) || errors.Is(err, exit.ErrUsage)
}

// noteUnread counts the days that were never begun because the run ended early.
func (r *run) noteUnread(cause error) {
	unread := 0
	begun := map[string]bool{}
	for _, st := range r.steps {
		begun[st.Unit] = true
	}
	for _, d := range r.plan.Read {
		if !begun[d.Day.String()] {
			unread++
		}
	}
	if unread > 0 && cause != nil {
		r.tally.failures = append(r.tally.failures, failure{
			what: fmt.Sprintf("%s not tried", phrase.Count(unread, "more day")), err: cause, untried: true,
		})
	}
}

// copyDayTraced is copyDay as a stage of the run.
func (r *run) copyDayTraced(ctx context.Context, d PlannedDay) error {
	ctx, end := r.stage(ctx, "day", slog.String("day", d.Day.String()), slog.String("reason", d.Reason))
	step, err := r.copyDay(ctx, d)
	end(err, slog.String("outcome", step.Outcome), slog.Int64("rows", step.Rows), slog.Int64("pages", step.Pages),
		slog.Int64("attempts", step.Attempts))
	return err
}

// shortestReach is how many days back any service is expected to answer: a refusal of a
// younger day, whatever it says of the reach, is a failure.
const shortestReach = schema.ReachDays - maxOutOfReach

// maxOutOfReach is how many of the planned days may prove to be out of reach.
const maxOutOfReach = 4

// copyDay reads one day, proves it and stages it, and notes how that went. The
// error is for the caller to judge whether others may go on.
func (r *run) copyDay(ctx context.Context, d PlannedDay) (schema.Step, error) {
	step := schema.Step{
		AccountID: r.Account, Stream: "spend_report", Unit: d.Day.String(), Reason: d.Reason,
		StartedAt: schema.InstantOf(r.Now()), RunID: r.RunID,
	}
	work := lease{inFlight: r.inFlight}
	defer work.release()
	read, err := r.proveDay(ctx, d.Day, &work, &step)
	var put load.DayPut
	if err == nil {
		put, err = r.staged.PutDay(ctx, load.DayRead{
			Day: d.Day, ReadAt: read.at, Control: read.control, ControlTotal: read.total, Rounded: read.rounded,
			Refused: read.refused, Unread: read.unread,
		}, read.day)
	}
	step.FinishedAt = schema.InstantOf(r.Now())
	if err != nil {
		r.quarantine(ctx, d.Day, step.StartedAt, err)
		err = errors.Join(err, r.staged.DropRaw(d.Day))
		step.Message = schema.Some(err.Error())
	}
	var campaigns, spent []string
	if err == nil && put.Changed {
		campaigns, spent = campaignsOf(read.day.Rows()), spendersOf(read.day.Rows())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && put.Changed {
		r.spent[d.Day] = spent
	}
	switch {
	case errors.Is(err, extract.ErrUnreachable) && int(r.plan.Today-d.Day) >= shortestReach:
		// An answer about the day, not a failure: what that means for the day shows
		// in its coverage.
		step.Outcome = "unreachable"
		r.tally.unreachable++
		r.unreachable = max(r.unreachable, d.Day)
		r.Log.Warn("the day has left the reach of the report", "day", step.Unit, "error", err)
		err = nil
	case err != nil:
		step.Outcome = "failed"
		r.tally.fail("spend "+step.Unit, err)
		if ctx.Err() == nil {
			r.Log.Error("the day is not proven; what was published of it stands",
				"day", step.Unit, "attempts", step.Attempts, "error", err)
		}
	default:
		r.stored = append(r.stored, d.Day)
		r.addRead(&step, d.Day, read, put, campaigns)
	}
	r.steps = append(r.steps, step)
	r.bar.Step()
	return step, err
}

// addRead adds a day that is stored to what the run reports.
func (r *run) addRead(step *schema.Step, day schema.Date, read *dayRead, put load.DayPut, campaigns []string) {
	known := r.store.Account().Days[day]
	if known == nil {
		r.tally.added++
	}
	step.Outcome = "unchanged"
	if put.Changed {
		step.Outcome = "stored"
		r.tally.changed++
		r.report.add(campaigns, read.sums.Rows, known, day, put.Diff)
	} else if known != nil && known.Sums.Rows > 0 && known.WasOver(day) {
		r.report.same++
	}
	if r.readAt == nil {
		r.readAt = map[schema.Date]schema.Instant{}
	}
	r.readAt[day] = read.at
	if read.control == schema.ControlMatched {
		r.tally.matched++
	}
	if err := read.incomplete(); err != nil {
		r.tally.partial++
		step.Message = schema.Some(err.Error())
		r.tally.fail("spend "+step.Unit, err)
	} else {
		r.tally.proven++
	}
	r.refused = append(r.refused, read.aside...)
	if read.unread > 0 {
		r.tally.unread += read.unread
		r.tally.unreadDays++
	}
	step.Pages, step.Rows = int64(read.pages), read.sums.Rows
	step.Bytes, step.Rounded = read.bytes, int64(read.rounded)
	r.rows += read.sums.Rows
	r.diff.Inserted += put.Diff.Inserted
	r.diff.Updated += put.Diff.Updated
	r.diff.Deleted += put.Diff.Deleted
	for _, u := range read.unknown {
		r.unknown = append(r.unknown, schema.UnknownField{
			AccountID: step.AccountID, Stream: step.Stream, Path: u.Path, SampleType: u.Type,
			FirstSeenAt: read.at, RunID: r.RunID,
		})
	}
	if read.rounded > 0 {
		r.Log.Info("amounts with more than six decimals were rounded half to even", "day", step.Unit, "values",
			read.rounded)
	}
	r.Log.Debug("day proven", "day", step.Unit, "outcome", step.Outcome, "rows", step.Rows, "pages", step.Pages,
		"attempts", step.Attempts, "spend", read.sums.Spend.String(), "control", read.control)
}
