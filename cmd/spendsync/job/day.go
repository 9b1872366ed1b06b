package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// dayRead is one read of a day, or several together.
type dayRead struct {
	manifest.Facts
	reads         []int          // the pages of each
	began         time.Duration  // since the run did
	at            schema.Instant // the same as a time
	rows          *schema.SpendRows
	seen          extract.Evidence
	day           *history.Day // nil where the replies are those that are stored
	sums          history.Sums
	hash          string
	count         int64  // of its rows, as the service counts them
	noSum         string // why there is no sum of the service's
	likes         int    // other reads with the same rows
	isSumOfStored bool   // the service's sum is that of the stored rows, and these are others
	pages         int
	bytes         int64
	unknown       []extract.UnknownKey
	first         error               // why the first of the rows is refused that cannot be stored
	noClick       bool                // clicks are, or may be, among the measures that cannot be read
	lacks         []string            // columns that the report does not give, or not on all pages
	noNames       bool                // campaign_name is one more of them, which nothing is unknown without
	aside         []schema.RefusedRow // rows that are refused or unread in part, with their JSON
}

// prove reads a day until a read is proven, or all reads together are. If neither is, the day that is stored stands,
// unless the day is still open.
func (r *dayReader) prove(
	ctx context.Context, from pages, day schema.Date, work *lease, step *schema.Step,
) (*dayRead, error) {
	known := r.s.store.Account().Days[day]
	var all *dayRead // the reads together
	var hashes []string
	staged := 0 // pages
	for {
		step.Attempts++
		read, err := r.readDay(ctx, from, day, work, staged, step.Attempts)
		if err == nil {
			work.isEmptied = work.isEmptied || known != nil && known.Sums.Rows > 0 && read.isEmpty()
			err = r.decide(ctx, from, day, read, hashes)
		}
		unproven, isUnproven := errors.AsType[*extract.UnprovenError](err)
		if err == nil {
			return read, r.keepPages(day, read, staged+read.staged())
		} else if !isUnproven {
			return nil, err
		}
		all = read.with(all)
		isLast := step.Attempts >= from.reads(read)
		stands, failed := r.together(ctx, from, day, all, isLast)
		switch {
		case failed != nil:
		case stands:
			return all, r.keepPages(day, all, staged+read.staged())
		case isLast: // its replies are kept
			return nil, errors.Join(err, r.s.staged.DropPages(day, 1, staged+1))
		case read == nil: // it broke off
			failed = r.s.staged.DropPages(day, staged+1, math.MaxInt)
		default:
			staged, hashes = staged+read.staged(), append(hashes, read.hash)
		}
		if failed != nil {
			return nil, failed
		}
		r.s.Log.Warn("the day is not proven; it is read again", "day", day.String(), "attempt", step.Attempts, "of",
			from.reads(read), "error", unproven)
	}
}

// keepPages keeps, of all staged pages of a day, those of its rows.
func (r *dayReader) keepPages(day schema.Date, read *dayRead, staged int) error {
	return errors.Join(read.mayReplace(day, r.s.store.Account().Days[day]),
		r.s.staged.DropPages(day, staged+1, math.MaxInt), r.s.staged.DropPages(day, 1, staged-read.pages+1))
}

// together weighs several reads as one. After the last read of an open day, what came stands until the next run
// though it is not proven: rows that move while they are paged never are. It must not take away much of the stored day,
// nor add up rows that may have come twice.
func (r *dayReader) together(
	ctx context.Context, from pages, day schema.Date, all *dayRead, isLast bool,
) (bool, error) {
	if all == nil || all.rows == nil {
		return false, nil
	}
	if len(all.reads) > 1 {
		err := r.decide(ctx, from, day, all, nil)
		if _, isUnproven := errors.AsType[*extract.UnprovenError](err); !isUnproven {
			return err == nil, err
		}
	}
	known := r.s.store.Account().Days[day]
	_, most := all.lost(known)
	_, isOffline := from.(keptPages)
	if !isLast || isOffline || all.isOver(day) || all.sums.Rows == 0 || most || len(idsIn(all.lacks)) > 0 ||
		all.Combined == history.Added || // what counts rows one by one may count one that moved
		all.mayReplace(day, known) != nil {
		return false, nil
	}
	all.RowsTotalState = schema.RowsDiffer
	r.s.Log.Info("the day moves while it is read; what came is stored until the next run", "day", day.String(),
		"rows", all.sums.Rows)
	return true, nil
}

// isOver reports whether a day was over when it was read.
func (read *dayRead) isOver(day schema.Date) bool { return !read.at.Time().Before(day.End()) }

// isEmpty reports whether no row came.
func (read *dayRead) isEmpty() bool {
	return read.rows != nil && int64(read.rows.Len())+read.Refused == 0
}

// staged returns how many pages of a read are in the staging area; those that are stored are not.
func (read *dayRead) staged() int {
	if read == nil || read.rows == nil {
		return 0
	}
	return read.pages
}

// decide combines the rows of one key, compares their sum with the service's own, and weighs the read.
func (r *dayReader) decide(ctx context.Context, from pages, day schema.Date, read *dayRead, before []string) error {
	if read.rows != nil { // they are not the stored ones
		if err := r.seal(day, read); err != nil {
			return err
		}
	}
	read.ControlTotal, read.likes, read.noSum, read.isSumOfStored = manifest.ControlTotal{}, 0, "", false
	if err := from.compare(ctx, day, read); err != nil {
		return err
	}
	return read.weigh(day, r.s.store.Account().Days[day], before)
}

// seal makes the day of the rows of a read.
func (r *dayReader) seal(day schema.Date, read *dayRead) error {
	if len(read.reads) == 1 {
		if read.Combined = read.combination(); read.Combined != history.Apart && read.seen.Repeats == "" {
			read.seen.Repeats = "a row is there twice"
		}
	}
	rows, err := history.Combine(read.rows, read.Combined)
	if err == nil {
		rows, read.Kept, err = history.Keep(rows, r.s.store.StoredDay(day), read.keeps())
	}
	if err == nil {
		read.day, err = history.NewDay(rows)
	}
	switch {
	case errors.Is(err, durable.ErrDamaged), errors.Is(err, durable.ErrStorage): // of the stored rows
		return err
	case errors.Is(err, schema.ErrRange):
		return fmt.Errorf("spend %s: %w: %w", day, err, extract.ErrContract)
	case err != nil:
		return &extract.UnprovenError{What: "spend " + day.String(), Reason: err.Error()}
	}
	read.sums, read.hash, read.Without = read.day.Sums(), read.day.Hash(), idsIn(read.lacks)
	read.countRows()
	return nil
}

// mayReplace decides about a read with refused rows: its intact rows are stored, but never over a day that was proven
// after it was over.
func (read *dayRead) mayReplace(day schema.Date, known *manifest.Day) error {
	switch n := int(read.Refused); {
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

// readDay reads all pages of a day once. They are staged after those of earlier reads.
func (r *dayReader) readDay(
	ctx context.Context, from pages, day schema.Date, work *lease, before int, n int64,
) (*dayRead, error) {
	read := &dayRead{}
	pages := from.begin(ctx, day, n, read)
	c := transform.SpendContext{Account: r.s.Account, RunID: r.s.RunID, Day: day, SeenAt: read.at,
		Service: r.s.Service}
	for page, err := range pages {
		if err != nil {
			return nil, err
		}
		read.bytes += page.Bytes
		if page.Unchanged {
			return r.readSame(read, day, page.Pages), nil
		}
		if read.rows == nil {
			if err := work.acquire(ctx, page.Total); err != nil {
				return nil, err
			}
			read.rows = &schema.SpendRows{}
			if before == 0 {
				read.rows = &work.workspace.rows
				read.rows.Reset()
			}
			// A total is only a claim so far: it reserves a page or two, no more.
			read.rows.Grow(int(min(page.Total, 1<<17)))
		}
		added := read.rows.Len()
		became := read.add(page, c, work.intern)
		added = read.rows.Len() - added
		work.oddIDs = append(work.oddIDs, became.OddIDs...)
		for _, text := range became.Texts {
			r.s.Log.Info("a text of the report is not stored as it was sent; its numbers are",
				"day", day.String(), "column", text.Column, "value", text.Value, "why", text.Reason)
		}
		err := r.s.staged.PutRaw(day, before+page.Number, page.Raw, int64(added), page.Fingerprint)
		if err != nil {
			return nil, err
		}
		r.bar.Rows(added)
	}
	read.AskedBeyond, read.reads = schema.Some(read.seen.Beyond), []int{read.pages}
	return read, nil
}

// keeps returns the columns of which the stored values stay.
func (read *dayRead) keeps() []string {
	if read.noNames {
		return append(slices.Clone(read.lacks), "campaign_name")
	}
	return read.lacks
}

// joined returns the texts of both lists, sorted, each once.
func joined(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
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

// clicks returns the sum of the rows' clicks; unknown if those of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	if read.noClick {
		return schema.Null[int64]{}
	}
	return read.sums.Clicks
}

// incomplete returns an error that names the missing parts of a stored day; nil: none is missing.
func (read *dayRead) incomplete() error {
	if read.Refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		phrase.Count(int(read.Refused), "row"), read.first)
}

// readSame is a read of a day whose replies are the stored ones, so that the rows are, too. Only the service's own
// total is compared again.
func (r *dayReader) readSame(read *dayRead, day schema.Date, pages int) *dayRead {
	known := r.s.store.Account().Days[day]
	read.Facts, read.sums, read.hash = known.Facts, known.Sums, known.ContentHash
	read.pages, read.reads, read.lacks = pages, []int{pages}, known.Without
	read.seen = extract.Evidence{Total: -1, Ended: true}
	read.noClick = known.Unread > 0 // which measures could not be read is not stored
	r.bar.Rows(int(known.Sums.Rows))
	return read
}
