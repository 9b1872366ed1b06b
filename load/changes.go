package load

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// addChanges adds the restatements to the files of the days of seeing.
func (c *contribution) addChanges() error {
	byDaySeen := map[schema.Date][]schema.Date{}
	for d, day := range c.g.days {
		if day.proven != nil && day.changes != nil {
			byDaySeen[day.changes.seen] = append(byDaySeen[day.changes.seen], d)
		}
	}
	for _, seen := range slices.Sorted(maps.Keys(byDaySeen)) {
		if err := c.addChangesOf(seen, slices.Sorted(slices.Values(byDaySeen[seen]))); err != nil {
			return err
		}
	}
	return nil
}

// addChangesOf writes the restatements of days together with those seen on the same day before. Each is in
// memory only while it is passed on.
func (c *contribution) addChangesOf(seen schema.Date, days []schema.Date) error {
	s, t := c.g.store, schema.SpendChanges
	path := manifest.PartPath(t.Table, s.account, seen)
	var was, is []iter.Seq2[[]schema.SpendChange, error]
	lines := int64(0)
	if old := c.base.Files[path]; old != nil {
		was, lines = append(was, manifest.Batches(s.opts.disk, s.dir, path, old, t)), old.Rows
	}
	for _, d := range days {
		is = append(is, parquet.Batches(s.opts.disk, c.g.area.path(changesPath(d)), t))
		lines += c.g.days[d].changes.rows
	}
	var unread error
	info, err := c.g.area.putPart(path, t.Table, parquet.ChangeRecords(history.MergeChanges(linesOf(was, &unread),
		linesOf(is, &unread))))
	if err := errors.Join(unread, err); err != nil {
		return err
	}
	if info.Rows != lines {
		return fmt.Errorf("restatements seen on %s: %d lines were written of %d: %w", seen, info.Rows, lines,
			durable.ErrDamaged)
	}
	info.Day = seen
	c.put(path, info)
	return nil
}

// linesOf returns the lines of files, one file after the other, up to the first error.
func linesOf[R any](files []iter.Seq2[[]R, error], unread *error) iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, file := range files {
			for batch, err := range file {
				if err != nil {
					*unread = err
					return
				}
				for _, l := range batch {
					if !yield(l) {
						return
					}
				}
			}
		}
	}
}
