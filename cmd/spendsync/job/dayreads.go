package job

import (
	"cmp"
	"context"
	"slices"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// together tries whether all reads of a day prove it, each row as it came last: pages without an
// order bring some rows twice and others in the next read.
func (r *dayReader) together(ctx context.Context, day schema.Date, read *dayRead, before []*dayRead) (*dayRead, bool) {
	if read == nil || len(before) == 0 || read.rows == nil || len(idsIn(read.lacks)) > 0 || before[0].rows == nil {
		return nil, false
	}
	both := union(append(slices.Clone(before), read))
	if both.rows.Len() == read.rows.Len() {
		return nil, false // the others had no rows
	}
	return both, r.weighAs(ctx, day, both, nil, false) == nil
}

// union is the rows of several reads as one read, whose evidence is that of the last.
func union(reads []*dayRead) *dayRead {
	last := reads[len(reads)-1]
	both := *last
	both.combined, both.rows, both.pages, both.bytes = history.Newest, &schema.SpendRows{}, 0, 0
	for _, one := range reads {
		for _, row := range one.rows.All() {
			both.rows.Append(row)
		}
		both.pages, both.bytes = both.pages+one.pages, both.bytes+one.bytes
		both.refused, both.unread = max(both.refused, one.refused), max(both.unread, one.unread)
		both.first = cmp.Or(both.first, one.first)
		if len(one.aside) > len(both.aside) {
			both.aside = one.aside
		}
		both.noClick = both.noClick || one.noClick
		both.forms = joined(both.forms, one.forms)
	}
	if both.seen.Repeats == "" {
		both.seen.Repeats = "several reads bring different rows"
	}
	return &both
}

// merged is the distinct rows of several reads as one read, which takes less memory.
func merged(reads []*dayRead) *dayRead {
	both := union(slices.DeleteFunc(slices.Clone(reads), func(one *dayRead) bool { return one.rows == nil }))
	both.hashes, both.pages = nil, pagesOf(reads)
	for _, one := range reads {
		both.hashes = append(both.hashes, one.hashes...)
	}
	if rows, err := history.Combine(both.rows, history.Newest); err == nil {
		both.rows = rows
	}
	return both
}

// bestOf returns the best read of an open day; nil: the day is over, or no read may replace the stored day.
func (r *dayReader) bestOf(day schema.Date, reads []*dayRead, known *manifest.Day) *dayRead {
	reads = slices.DeleteFunc(reads, func(read *dayRead) bool {
		return read == nil || read.rows == nil || len(idsIn(read.lacks)) > 0
	})
	if len(reads) == 0 || !reads[len(reads)-1].at.Time().Before(day.End()) {
		return nil
	}
	best := reads[len(reads)-1]
	if history.Renamed(best.rows) {
		best.combined = history.Added // a union would take the parts of a row for the same one
	} else {
		best = union(reads)
	}
	rows, err := history.Combine(best.rows, best.combined)
	if err == nil {
		best.day, err = history.NewDay(rows)
	}
	if err != nil || rows.Len() == 0 {
		return nil
	}
	best.sums, best.hash, best.control = best.day.Sums(), best.day.Hash(), schema.ControlOpen
	w := dayWitnesses{Evidence: best.seen, rows: best.sums.Rows + best.refused}
	best.count, best.counted = w.rowsTotal(), schema.RowsDiffer
	if suspicious(known, best.sums) || best.mayReplace(day, known) != nil {
		return nil
	}
	r.s.Log.Info("the day moves while it is read; what came is stored until the next run", "day", day.String(),
		"rows", best.sums.Rows)
	return best
}
