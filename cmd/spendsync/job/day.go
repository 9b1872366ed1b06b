package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/semaphore"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// prove reads a day until a read is proven, or all reads together are. If neither is, the day that is stored stands,
// unless the day is still open.
func (r *dayReader) prove(
	ctx context.Context, from dayPages, day schema.Date, work *lease, step *schema.Step,
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
			return read, r.keepPages(day, read, work.replies, staged+read.staged())
		} else if !isUnproven {
			return nil, err
		}
		all = read.with(all)
		isLast := step.Attempts >= from.reads(read)
		stands, failed := r.together(ctx, from, day, all, isLast)
		switch {
		case failed != nil:
		case stands:
			return all, r.keepPages(day, all, work.replies, staged+read.staged())
		case isLast: // its replies are kept
			return nil, errors.Join(err, work.replies.DropPages(1, staged+1))
		case read == nil: // it broke off
			failed = work.replies.DropPages(staged+1, math.MaxInt)
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
func (r *dayReader) keepPages(day schema.Date, read *dayRead, replies *load.Replies, staged int) error {
	return errors.Join(read.mayReplace(day, r.s.store.Account().Days[day]),
		replies.DropPages(staged+1, math.MaxInt), replies.DropPages(1, staged-read.pages+1))
}

// together weighs several reads as one. After the last read of an open day, what came stands until the next run
// though it is not proven: rows that move while they are paged never are. It must not take away much of the stored day,
// nor add up rows that may have come twice.
func (r *dayReader) together(
	ctx context.Context, from dayPages, day schema.Date, all *dayRead, isLast bool,
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

// decide combines the rows of one key, compares their sum with the service's own, and weighs the read.
func (r *dayReader) decide(ctx context.Context, from dayPages, day schema.Date, read *dayRead, before []string) error {
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
		rows, read.Kept, err = history.Keep(rows, r.s.store.StoredDay(day), read.lacks)
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

// readDay reads all pages of a day once. They are staged after those of earlier reads.
func (r *dayReader) readDay(
	ctx context.Context, from dayPages, day schema.Date, work *lease, before int, n int64,
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
		err := work.replies.Put(before+page.Number, page.Raw, int64(added), page.Fingerprint)
		if err != nil {
			return nil, err
		}
		r.bar.Rows(added)
	}
	read.AskedBeyond, read.reads = schema.Some(read.seen.Beyond), []int{read.pages}
	return read, nil
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

// keepIDs keeps the stored rows of a day if a read differs from them only by lacking an ID that they have. A day that
// is over and has its IDs stays in any case, and the error reports it.
func (r *dayReader) keepIDs(day schema.Date, read *dayRead, replies *load.Replies) error {
	known := r.s.store.Account().Days[day]
	if read.day == nil || known == nil || known.ContentHash == read.hash || len(idsIn(read.lacks)) == 0 {
		return nil
	}
	if known.Refused == 0 && read.Refused == 0 && known.Sums.Spend == read.sums.Spend {
		hash, err := r.hashWithoutIDs(day, read)
		if err != nil {
			return err
		}
		if hash == read.hash { // the stored rows stand
			read.day, read.sums, read.hash = nil, known.Sums, known.ContentHash
			read.Unread, read.UnreadForms = known.Unread, known.UnreadForms
			return replies.Drop()
		}
	}
	return losesIDs(day, read.lacks, known)
}

// losesIDs returns an error if rows of a report that lacks columns would replace those of a day that is over and has
// these IDs.
func losesIDs(day schema.Date, lacks []string, known *manifest.Day) error {
	if known == nil || !known.WasOver(day) {
		return nil
	}
	for _, column := range idsIn(lacks) {
		if !slices.Contains(known.Without, column) {
			return fmt.Errorf("the report gives no %s, and the stored day, which has it, stands: %w", column,
				extract.ErrContract)
		}
	}
	return nil
}

// hashWithoutIDs returns the hash that the stored rows of a day have without the columns that a read lacks.
func (r *dayReader) hashWithoutIDs(day schema.Date, read *dayRead) (string, error) {
	table, rest := schema.SpendDaily, &schema.SpendRows{}
	columns, none := table.ColumnsNamed(read.lacks...), new(schema.Spend)
	for rows, err := range r.s.store.StoredDay(day) {
		if err != nil {
			return "", err
		}
		for i := range rows {
			row := rows[i]
			for _, column := range columns {
				table.CopyColumn(&row, none, column)
			}
			rest.Append(&row)
		}
	}
	rest, err := history.Combine(rest, history.Added)
	if err != nil {
		return "", err
	}
	stored, err := history.NewDay(rest)
	if err != nil {
		return "", err
	}
	return stored.Hash(), nil
}

// dayReader reads the planned days.
type dayReader struct {
	s        *session
	totals   *controlTotals
	bar      Bar
	inFlight *semaphore.Weighted // rows that days hold
}

// put stages a proven day.
func (r *dayReader) put(
	ctx context.Context, day schema.Date, read *dayRead, replies *load.Replies,
) (load.StagedDay, error) {
	if err := r.keepIDs(day, read, replies); err != nil {
		return load.StagedDay{}, err
	}
	return replies.Stage(ctx, load.DayRead{ReadAt: read.at, Facts: read.Facts}, read.day)
}
