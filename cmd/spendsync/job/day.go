package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// maxReads is how often a day is read before it counts as unproven.
const maxReads = 3

// dayRead is one read of a day whose pages add up.
type dayRead struct {
	began   time.Duration  // since the run did
	at      schema.Instant // the same as a time
	day     *history.Day   // nil where the replies are those that are stored
	sums    history.Sums
	hash    string
	control string
	total   manifest.ControlTotal // the service's own, if the day was over
	pages   int
	bytes   int64
	rounded int
	unsure  bool // see extract.Page
	unknown []extract.UnknownKey
	refused int64               // rows that cannot be stored; the others are
	first   error               // why the first of them is refused
	unread  int64               // rows that are stored without some of their measures
	noClick bool                // clicks are, or may be, among those measures
	aside   []schema.RefusedRow // rows of both kinds that are kept aside with their JSON
}

// proveDay reads a day until one read adds up, three times at most. An answer that would remove all or much of the day
// must come twice. An answer with more unreadable values than the stored day has is read again once: values that were
// damaged in transit are intact the second time.
func (r *run) proveDay(ctx context.Context, day schema.Date, work *lease, step *schema.Step) (*dayRead, error) {
	suspect, damaged := "", false
	known := r.store.Account().Days[day]
	for {
		step.Attempts++
		read, err := r.readDay(ctx, day, work, suspect != "", r.known(day, step.Attempts))
		var unproven *extract.UnprovenError
		switch {
		case errors.As(err, &unproven):
			r.Log.Warn("the pages do not add up", "day", day.String(), "attempt", step.Attempts, "of", maxReads,
				"error", err)
		case err != nil:
			return nil, err
		case read.hash != suspect && suspicious(known, read.sums):
			suspect = read.hash
			stored := known.Sums
			err = &extract.UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf(
				"%d rows and %s US dollars, far less than the %d rows and %s that are stored, and no two reads in "+
					"a row agree",
				read.sums.Rows, read.sums.Spend, stored.Rows, stored.Spend)}
			r.Log.Warn("the answer is empty or much smaller than what is stored; it must come twice to be believed",
				"day", day.String(), "rows", read.sums.Rows, "stored_rows", stored.Rows)
		case read.isDamaged(known) && !damaged && step.Attempts < maxReads:
			r.Log.Warn("some values cannot be read; the day is read again", "day", day.String(),
				"rows_refused", read.refused, "rows_unread", read.unread)
		default:
			if err := read.mayReplace(day, known); err != nil {
				return nil, err
			}
			return read, nil
		}
		damaged = damaged || read != nil && read.isDamaged(known)
		if step.Attempts == maxReads {
			return nil, err
		}
		if err := r.staged.DropRaw(day); err != nil {
			return nil, err
		}
	}
}

// suspicious reports whether an answer would remove much of the stored day: all rows, or more than half of the rows or
// of the spend.
func suspicious(known *manifest.Day, now history.Sums) bool {
	if known == nil || known.Sums.Rows == 0 {
		return false
	}
	was := known.Sums
	return now.Rows*2 < was.Rows || (was.Spend > 0 && now.Spend*2 < was.Spend)
}

// readDay reads all pages of a day once and proves them: by the pages themselves,
// by unique keys, and by the service's own total where there is one. confirm asks for
// that total again, after the pages.
func (r *run) readDay(
	ctx context.Context, day schema.Date, work *lease, confirm bool, known *extract.Known,
) (*dayRead, error) {
	read := &dayRead{began: r.clock.elapsed()}
	read.at = schema.InstantOf(r.clock.at(read.began))
	c := transform.SpendContext{Account: r.Account, RunID: r.RunID, Day: day, SeenAt: read.at, Service: r.Service}
	var rows *schema.SpendRows
	for page, err := range r.Report.Spend(ctx, day, r.Plan.PageSize, known) {
		if err != nil {
			return nil, err
		}
		read.bytes += page.Bytes
		if page.Same {
			return r.readSame(ctx, read, day, page.Pages, confirm)
		}
		if rows == nil {
			if err := work.acquire(ctx, page.Total); err != nil {
				return nil, err
			}
			rows = &work.workspace.rows
			rows.Reset()
			// A total is only a claim so far: it reserves a page or two, no more.
			rows.Grow(int(min(page.Total, 1<<17)))
		}
		before := rows.Len()
		became := transform.AppendSpend(rows, page, c, work.intern)
		read.refused += int64(len(became.Refused))
		read.unread += int64(len(became.Unread))
		read.noClick = read.noClick || became.UnreadClicks
		work.oddIDs = append(work.oddIDs, became.OddIDs...)
		if len(became.Refused) > 0 && read.first == nil {
			read.first = &became.Refused[0].RowError
		}
		read.putAside(became.Refused, c)
		read.putAside(became.Unread, c)
		for _, text := range became.Texts {
			r.Log.Info("a text of the report is not stored as it was sent; its numbers are",
				"day", day.String(), "column", text.Column, "value", text.Value, "why", text.Reason)
		}
		added := rows.Len() - before
		if err := r.staged.PutRaw(day, page.Number, page.Raw, int64(added), page.Fingerprint); err != nil {
			return nil, err
		}
		read.pages++
		read.unsure = page.Unsure
		read.rounded += became.Rounded
		read.unknown = append(read.unknown, page.Unknown...)
		r.bar.Rows(added)
	}
	var err error
	switch read.day, err = history.NewDay(rows); {
	case errors.Is(err, schema.ErrRange):
		return nil, fmt.Errorf("spend %s: %w: %w", day, err, extract.ErrContract)
	case err != nil:
		return nil, &extract.UnprovenError{What: "spend " + day.String(), Reason: err.Error()}
	}
	read.sums, read.hash = read.day.Sums(), read.day.Hash()
	return read, r.holdAgainstTotal(ctx, day, read, confirm)
}

// longestRaw is how many bytes of a refused row are kept with its reason, and mostAside how many rows of a day; the
// day's replies have them all.
const longestRaw, mostAside = 2000, 1000

// putAside keeps rows of a page that cannot be stored unchanged.
func (read *dayRead) putAside(rows []transform.RefusedRow, c transform.SpendContext) {
	for i := range rows[:min(len(rows), mostAside-len(read.aside))] {
		row := &rows[i]
		read.aside = append(read.aside, schema.RefusedRow{
			AccountID: c.Account, Stream: "spend_report", ReportDate: c.Day,
			Page: int64(row.Page), RowNumber: int64(row.Row), Reason: row.Err.Error(), Field: row.Column,
			Raw: row.JSON[:min(len(row.JSON), longestRaw)], SeenAt: c.SeenAt, RunID: c.RunID,
		})
	}
}

// isDamaged reports whether more rows of a read than of the stored day have values that cannot
// be read.
func (read *dayRead) isDamaged(known *manifest.Day) bool {
	was := int64(0)
	if known != nil {
		was = known.Refused + known.Unread
	}
	return read.refused+read.unread > was
}

// clicks returns the sum of the rows' clicks; unknown if those of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	if read.noClick {
		return schema.Null[int64]{}
	}
	return read.sums.Clicks
}

// incomplete returns an error that names the missing parts of a stored day; nil: none is missing.
func (read *dayRead) incomplete() error {
	if read.refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		phrase.Count(int(read.refused), "row"), read.first)
}

// mayReplace decides about a read with refused rows: its intact rows are stored, but never over a day that was proven
// after it was over.
func (read *dayRead) mayReplace(day schema.Date, known *manifest.Day) error {
	switch n := int(read.refused); {
	case n == 0:
		return nil
	case read.sums.Rows == 0:
		return read.first
	case known != nil && known.Refused == 0 && known.WasOver(day):
		return fmt.Errorf("%s cannot be stored, and the day that is proven stands; the first: %w",
			phrase.Count(n, "row"), read.first)
	}
	return nil
}

// holdAgainstTotal decides by both clocks whether the day was over when the read started, and compares a finished day
// with the service's own total.
func (r *run) holdAgainstTotal(ctx context.Context, day schema.Date, read *dayRead, confirm bool) (err error) {
	if err := r.holdClock(r.Report); err != nil {
		return err
	}
	read.at = schema.InstantOf(r.clock.surely(r.clock.at(read.began)))
	if read.refused > 0 {
		read.control = schema.ControlUnknown // it counts rows that are not stored
		return nil
	}
	read.control, err = r.totals.compare(ctx, day, read, confirm)
	return err
}

// known is what the store keeps of a day's replies: as long as the service answers
// with the same bytes, nothing need be decoded to know that nothing has changed.
// From the second attempt on nothing counts as known.
func (r *run) known(day schema.Date, attempt int64) *extract.Known {
	if k := r.store.Account().Days[day]; attempt > 1 || k == nil || k.Refused > 0 {
		return nil
	}
	return &extract.Known{
		Fingerprints: r.store.Fingerprints(day),
		Body:         func(page int) ([]byte, error) { return r.store.RawPage(day, page) },
	}
}

// readSame handles a read whose replies equal the stored ones. Only the service's own total is compared again.
func (r *run) readSame(
	ctx context.Context, read *dayRead, day schema.Date, pages int, confirm bool,
) (*dayRead, error) {
	known := r.store.Account().Days[day]
	read.sums, read.hash, read.rounded, read.pages = known.Sums, known.ContentHash, known.Rounded, pages
	// Which measures could not be read is not stored.
	read.unread, read.noClick = known.Unread, known.Unread > 0
	r.bar.Rows(int(known.Sums.Rows))
	return read, r.holdAgainstTotal(ctx, day, read, confirm)
}
