package main

import (
	"context"
	"errors"
	"fmt"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// maxReads is how often a day is read before it counts as unproven.
const maxReads = 3

// desk is what a day is worked on with, and leaves behind for the next: the texts that
// its rows name, as the next day's will, and the room that its rows took. Fresh memory
// costs more than filling it.
type desk struct {
	intern *transform.Interner
	rows   schema.SpendRows
}

// seat is a day's place at a desk; zero: it has none yet.
type seat struct {
	*desk
	takes int64 // of the room for rows
}

// roomForRows is how many rows all days together may hold that are being read. Of large
// days fewer are read at the same time then, though always two: what a run takes in
// memory does not follow the size of the account.
const roomForRows = 400_000

// sit waits until a day of so many rows has room, and a desk. What it has it keeps until
// it leaves.
func (s *syncer) sit(ctx context.Context, at *seat, rows int64) error {
	if at.takes == 0 {
		rows = min(rows, roomForRows/2)
		if err := s.room.Acquire(ctx, rows); err != nil {
			return err
		}
		at.takes = rows
	}
	if at.desk != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.desks) - 1
	if last < 0 {
		at.desk = &desk{intern: transform.NewInterner()}
		return nil
	}
	at.desk, s.desks = s.desks[last], s.desks[:last]
	return nil
}

// leave gives the seat back, if there is one.
func (s *syncer) leave(at *seat) {
	if at.desk == nil {
		return
	}
	s.room.Release(at.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.desks = append(s.desks, at.desk)
	*at = seat{}
}

// dayRead is one read of a day whose pages add up.
type dayRead struct {
	at      schema.Instant    // when it began
	rows    *schema.SpendRows // in key order; none where the replies are those that are stored
	sums    history.Sums
	hash    string
	control string
	pages   int
	bytes   int64
	rounded int
	unknown []extract.UnknownKey
}

// copyDay reads one day, proves it and stages it, and notes how that went. The
// error is for the caller to judge whether others may go on.
func (s *syncer) copyDay(ctx context.Context, d plannedDay) error {
	step := schema.Step{
		AccountID: s.app.cfg.Account, Stream: "spend_report", Unit: d.Day.String(), Reason: d.Reason,
		StartedAt: schema.InstantOf(s.app.now()), RunID: s.runID,
	}
	var at seat
	defer s.leave(&at)
	read, err := s.proveDay(ctx, d.Day, &at, &step)
	var diff history.Diff
	changed := false
	if err == nil {
		changed, diff, err = s.stageDay(ctx, d.Day, read)
	}
	step.FinishedAt = schema.InstantOf(s.app.now())
	if err != nil {
		err = errors.Join(err, s.staged.DropRaw(d.Day))
		step.Message = schema.Some(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, extract.ErrUnreachable):
		// An answer about the day, not a failure: what that means for the day shows
		// in its coverage.
		step.Outcome = "unreachable"
		s.tally.unreachable++
		s.app.log.Warn("the day has left the reach of the report", "day", step.Unit, "error", err)
		err = nil
	case err != nil:
		step.Outcome = "failed"
		s.tally.failures = append(s.tally.failures, failure{"spend " + step.Unit, err})
		if ctx.Err() == nil {
			s.app.log.Error("the day is not proven; what was published of it stands", "day", step.Unit, "attempts", step.Attempts, "error", err)
		}
	default:
		step.Outcome = "unchanged"
		s.tally.proven++
		if changed {
			step.Outcome = "stored"
			s.tally.changed++
		}
		if s.store.Account().Days[d.Day] == nil {
			s.tally.added++
		}
		s.addRead(&step, read, diff)
	}
	s.steps = append(s.steps, step)
	s.bar.step()
	return err
}

// addRead adds a proven day to what the run tells.
func (s *syncer) addRead(step *schema.Step, read *dayRead, diff history.Diff) {
	step.Pages, step.Rows, step.Bytes, step.Rounded = int64(read.pages), read.sums.Rows, read.bytes, int64(read.rounded)
	s.rows += read.sums.Rows
	s.diff.Inserted += diff.Inserted
	s.diff.Updated += diff.Updated
	s.diff.Deleted += diff.Deleted
	for _, u := range read.unknown {
		s.seen = append(s.seen, schema.UnknownField{
			AccountID: step.AccountID, Stream: step.Stream, Path: u.Path, SampleType: u.Type, FirstSeenAt: read.at, RunID: s.runID,
		})
	}
	if read.rounded > 0 {
		s.app.log.Info("amounts with more than six decimals were rounded half to even", "day", step.Unit, "values", read.rounded)
	}
	s.app.log.Debug("day proven", "day", step.Unit, "outcome", step.Outcome, "rows", step.Rows, "pages", step.Pages, "attempts", step.Attempts, "spend", read.sums.Spend.String(), "control", read.control)
}

// proveDay reads a day until one read adds up: three times at most. An answer
// that would empty the day or much of it must come twice.
func (s *syncer) proveDay(ctx context.Context, day schema.Date, at *seat, step *schema.Step) (*dayRead, error) {
	suspect := ""
	for {
		step.Attempts++
		read, err := s.readDay(ctx, day, at, suspect != "", s.known(day, step.Attempts))
		var unproven *extract.UnprovenError
		switch {
		case errors.As(err, &unproven):
			s.app.log.Warn("the pages do not add up", "day", day.String(), "attempt", step.Attempts, "of", maxReads, "error", err)
		case err != nil:
			return nil, err
		case read.hash == suspect || !suspicious(s.store.Account().Days[day], read.sums):
			return read, nil
		default:
			suspect = read.hash
			err = &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
				"%d rows and %s US dollars, far less than the %d rows and %s that are stored, and no two reads in a row agree",
				read.sums.Rows, read.sums.Spend, s.store.Account().Days[day].Sums.Rows, s.store.Account().Days[day].Sums.Spend)}
			s.app.log.Warn("the answer is empty or much smaller than what is stored; it must come twice to be believed",
				"day", day.String(), "rows", read.sums.Rows, "stored_rows", s.store.Account().Days[day].Sums.Rows)
		}
		if err := s.staged.DropRaw(day); err != nil {
			return nil, err
		}
		if step.Attempts == maxReads {
			return nil, err
		}
	}
}

// suspicious says whether an answer would take away much of what is stored: all
// rows, or more than half of the rows or of the spend.
func suspicious(known *load.Day, now history.Sums) bool {
	if known == nil || known.Sums.Rows == 0 {
		return false
	}
	was := known.Sums
	return now.Rows*2 < was.Rows || (was.Spend > 0 && now.Spend*2 < was.Spend)
}

// readDay reads all pages of a day once and proves them: by the pages themselves,
// by unique keys, and by the service's own total where there is one.
func (s *syncer) readDay(ctx context.Context, day schema.Date, at *seat, freshTotal bool, known *extract.Known) (*dayRead, error) {
	read := &dayRead{at: schema.InstantOf(s.app.now())}
	c := transform.SpendContext{Account: s.app.cfg.Account, RunID: s.runID, Day: day, SeenAt: read.at}
	for page, err := range s.report.Spend(ctx, day, s.app.cfg.PageSize, known) {
		if err != nil {
			return nil, err
		}
		read.bytes += page.Bytes
		if page.Same {
			return s.readSame(ctx, read, day, page.Pages, freshTotal)
		}
		if read.rows == nil {
			if err := s.sit(ctx, at, page.Total); err != nil {
				return nil, err
			}
			read.rows = &at.rows
			read.rows.Reset()
			// A total is only a claim so far: it reserves a page or two, no more.
			read.rows.Grow(int(min(page.Total, 1<<17)))
		}
		before := read.rows.Len()
		became := transform.AppendSpend(read.rows, page, c, at.intern)
		if len(became.Refused) > 0 {
			return nil, &became.Refused[0].RowError
		}
		for _, text := range became.Texts {
			s.app.log.Info("a text of the report is not stored as it was sent; its numbers are",
				"day", day.String(), "column", text.Column, "value", text.Value, "why", text.Reason)
		}
		rows := read.rows.Len() - before
		if err := s.staged.PutRaw(day, page.Number, page.Raw, int64(rows), page.Fingerprint); err != nil {
			return nil, err
		}
		read.pages++
		read.rounded += became.Rounded
		read.unknown = append(read.unknown, page.Unknown...)
		s.bar.rows(rows)
	}
	if err := history.SortDay(read.rows); err != nil {
		return nil, &extract.UnprovenError{What: "spend " + day.String(), Reason: err.Error()}
	}
	var err error
	if read.sums, err = history.SumDay(read.rows); err != nil {
		return nil, fmt.Errorf("spend %s: %w: %w", day, err, extract.ErrContract)
	}
	read.hash = history.HashDay(read.rows)
	read.control, err = s.control(ctx, day, read, freshTotal)
	return read, err
}

// known is what the store keeps of a day's replies: as long as the service answers
// with the same bytes, nothing need be decoded to know that nothing has changed.
// From the second attempt on nothing counts as known.
func (s *syncer) known(day schema.Date, attempt int64) *extract.Known {
	if attempt > 1 || s.store.Account().Days[day] == nil {
		return nil
	}
	return &extract.Known{
		Fingerprints: s.store.Fingerprints(day),
		Body:         func(page int) ([]byte, error) { return s.store.RawPage(day, page) },
	}
}

// readSame is a read of a day whose replies are the stored ones, which gave what is
// stored. Only the service's own total is compared anew.
func (s *syncer) readSame(ctx context.Context, read *dayRead, day schema.Date, pages int, freshTotal bool) (_ *dayRead, err error) {
	known := s.store.Account().Days[day]
	read.sums, read.hash, read.rounded, read.pages = known.Sums, known.ContentHash, known.Rounded, pages
	s.bar.rows(int(known.Sums.Rows))
	read.control, err = s.control(ctx, day, read, freshTotal)
	return read, err
}

// control compares a day that is over with the service's own total of it. A
// total that differs is asked for once more, for the day may have been restated
// between the two questions.
func (s *syncer) control(ctx context.Context, day schema.Date, read *dayRead, fresh bool) (string, error) {
	if read.at.Time().Before(day.End()) {
		return schema.ControlOpen, nil
	}
	totals, err := s.totals(ctx)
	if err != nil {
		return s.withoutTotals(ctx, day, err)
	}
	if !totals.Exists {
		return schema.ControlNone, nil
	}
	agrees := func(t extract.Totals) bool {
		return t.ByDay[day].Agrees(read.sums.Spend, read.sums.Clicks, read.rounded)
	}
	if !fresh && agrees(totals) {
		return schema.ControlMatched, nil
	}
	again, err := s.report.ControlTotals(ctx, day, day)
	if err != nil {
		return "", fmt.Errorf("the control total: %w", err)
	}
	if again.BeyondReach {
		// The pages were read just before the day left the reach, and never can be again.
		return s.withoutTotals(ctx, day, fmt.Errorf("%s: %w", again.Why, extract.ErrUnreachable))
	}
	if !again.Exists {
		// Asked for one day alone, a day without rows has no total to show.
		again.ByDay = map[schema.Date]extract.Total{day: {}}
	}
	if agrees(again) {
		return schema.ControlMatched, nil
	}
	t := again.ByDay[day]
	return "", &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
		"the rows add up to %s US dollars and %d clicks, the service's own total is %s and %d", read.sums.Spend, read.sums.Clicks.V, t.Spend, t.Clicks.V)}
}

// withoutTotals decides about a day whose pages add up while the service's totals
// cannot be asked for. A day that is stored stays as it is; one that is not is
// better known without the total than not at all, and the run says so.
func (s *syncer) withoutTotals(ctx context.Context, day schema.Date, err error) (string, error) {
	err = fmt.Errorf("the control total: %w", err)
	if ctx.Err() != nil || errors.Is(err, extract.ErrAuth) || s.store.Account().Days[day] != nil {
		return "", err
	}
	s.noTotals.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tally.failures = append(s.tally.failures, failure{"control totals", err})
	})
	return schema.ControlUnknown, nil
}

// stageDay lays the proven day over the stored one and stages the result. A day
// whose content is as stored is not written again.
func (s *syncer) stageDay(ctx context.Context, day schema.Date, read *dayRead) (changed bool, diff history.Diff, err error) {
	p := load.ProvenDay{Day: day, ReadAt: read.at, Control: read.control, Hash: read.hash, Sums: read.sums, Rounded: read.rounded}
	known := s.store.Account().Days[day]
	if known != nil && known.ContentHash == read.hash {
		return false, diff, s.staged.PutDay(ctx, p)
	}
	by := history.Reading{At: read.at, RunID: s.runID, WasOver: known != nil && known.WasOver(day)}
	merged, err := history.MergeDay(s.store.StoredDay(day), read.rows, by)
	if err != nil {
		return false, diff, err
	}
	p.Records, p.Changes, p.Stale = transform.Records(read.rows), merged.Changes, merged.Stale
	return true, merged.Diff, s.staged.PutDay(ctx, p)
}
