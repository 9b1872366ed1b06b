package job

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/semaphore"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// maxReads is how often a run requests all pages of a day before it reads campaign by campaign, or gives up.
const maxReads = 3

// maxRowsInFlight bounds the rows in memory of all days that are being read. Large days are read two at a time, so the
// memory of a run does not grow with the account.
const maxRowsInFlight = 400_000

// dayReader reads the planned days.
type dayReader struct {
	s        *session
	key      *future[keyProof]
	totals   *controlTotals
	bar      Bar
	inFlight *semaphore.Weighted // its units are rows of the days that are being read
}

// dayWork holds what all reads of one day in a run share.
type dayWork struct {
	inFlight *semaphore.Weighted
	rows     int64 // acquired from inFlight
	intern   *transform.Interner
	replies  *load.Replies
	ids      campaignIDs
}

// acquire waits until there is room for a day with the given number of rows. A second read of the day uses the room
// that the first read has acquired.
func (w *dayWork) acquire(ctx context.Context, rows int64) error {
	if w.rows > 0 {
		return nil
	}
	rows = max(1, min(rows, maxRowsInFlight/2))
	if err := w.inFlight.Acquire(ctx, rows); err != nil {
		return err
	}
	w.rows = rows
	return nil
}

// release returns the acquired room.
func (w *dayWork) release() {
	if w.rows > 0 {
		w.inFlight.Release(w.rows)
		w.rows = 0
	}
}

// prove reads a day until a read is proven: at most three times and then, if the day has several pages, campaign by
// campaign. It also checks that the proven read may replace the stored day. The replies of the last read stay staged.
func (r *dayReader) prove(ctx context.Context, c *copiedDay, work *dayWork) (*dayRead, error) {
	account, day, step := r.s.store.Account(), c.Day, &c.step
	with := comparison{day: day, stored: account.Days[day], waiting: account.Waiting[day], service: r.s.Service}
	for {
		step.Attempts++
		read, err := r.readDay(ctx, day, work)
		if err == nil {
			c.isEmptied = c.isEmptied || with.stored != nil && with.stored.Sums.HasDelivery() && read.isSilent()
			err = read.checkProof(with)
		}
		if err == nil {
			c.waiting, err = read.mayReplace(with)
			return read, err
		}
		unproven, isUnproven := errors.AsType[*extract.UnprovenError](err)
		switch {
		case !isUnproven:
			return nil, err
		case step.Attempts < maxReads:
			with.earlier = append(with.earlier, read.hash)
			work.ids.add(read.Rows)
			r.s.Log.Info("the day is not proven; it is read again", "day", day.String(), "attempt", step.Attempts, "of",
				maxReads, "error", unproven)
		case read.Pages < 2 || read.evidence.Total < 0:
			return nil, err
		default:
			work.ids.add(read.Rows)
			return r.lastReading(ctx, c, with, read, err, work)
		}
	}
}

// lastReading reads a day campaign by campaign. It is given the last read of the entire day, and the reason why that
// read is not proven. If the read by campaign is not proven either, only the replies of the entire day stay staged.
func (r *dayReader) lastReading(
	ctx context.Context, c *copiedDay, with comparison, whole *dayRead, why error, work *dayWork,
) (*dayRead, error) {
	r.s.Log.Info("the day is not proven; it is read campaign by campaign", "day", with.day.String(), "error", why)
	c.step.Attempts++
	read, err := r.byCampaign(ctx, with, whole, work)
	if err == nil {
		err = read.checkProof(with)
	}
	_, isUnproven := errors.AsType[*extract.UnprovenError](err)
	switch {
	case isUnproven:
		return nil, errors.Join(fmt.Errorf("%w; campaign by campaign: %w", why, err),
			work.replies.DropPages(whole.Pages+1, math.MaxInt))
	case err != nil:
		return nil, err
	}
	if err := work.replies.DropPages(1, whole.Pages+1); err != nil {
		return nil, err
	}
	c.waiting, err = read.mayReplace(with)
	return read, err
}

// readDay reads all pages of a day once, and compares their sum with the control total.
func (r *dayReader) readDay(ctx context.Context, day schema.Date, work *dayWork) (*dayRead, error) {
	if err := work.replies.Drop(); err != nil {
		return nil, err
	}
	read := r.begin(day, work)
	pages := r.s.Report.Spend(ctx, extract.SpendQuestion{Day: day, PageSize: r.s.Plan.PageSize}, &read.evidence)
	err := read.readPages(func(yield func(extract.Page[extract.SpendLine], error) bool) {
		for page, err := range pages {
			if err == nil {
				err = work.acquire(ctx, max(page.Total, int64(len(page.Items))))
				r.bar.Rows(len(page.Items))
			}
			if !yield(page, err) {
				return
			}
		}
	}, work.replies, 0)
	if err == nil {
		err = read.seal()
	}
	if err == nil {
		err = r.checkTotal(ctx, day, read)
	}
	if err != nil {
		return nil, err
	}
	return read, nil
}

func (r *dayReader) begin(day schema.Date, work *dayWork) *dayRead {
	began := r.s.clock.elapsed()
	read := r.s.newRead(day, schema.InstantOf(r.s.clock.at(began)), work.intern)
	read.began = began
	return read
}

// checkTotal sets the time of a read by the service's clock, which is known since the first reply, and compares the
// read with the control total of the day.
func (r *dayReader) checkTotal(ctx context.Context, day schema.Date, read *dayRead) error {
	if err := r.s.checkClock(r.s.Report); err != nil {
		return err
	}
	read.at = schema.InstantOf(r.s.clock.conservative(r.s.clock.at(read.began)))
	if read.day == nil || read.evidence.Against != "" {
		read.Control = schema.ControlUnknown
		return nil
	}
	return r.totals.check(ctx, day, read)
}
