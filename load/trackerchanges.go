package load

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// PutTrackerChanges stages differences between one day of the tracker as stored and as a file of this run has it. They
// are in key order, and of one reading; days come in their order. A private file keeps them until the generation is
// built: of a large file that differs in every row, they would not fit into memory.
func (g *Staged) PutTrackerChanges(lines []schema.TrackerChange) error {
	if len(lines) == 0 {
		return nil
	}
	for i := range lines {
		lines[i].AccountID, lines[i].RunID = g.store.account, g.area.runID
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.area.putPrivate(trackerChangesPath(len(g.trackerChanges)), schema.TrackerChanges.Table,
		parquet.Record(schema.TrackerChanges, lines))
	g.trackerChanges = append(g.trackerChanges, schema.DateOf(lines[0].SeenAt.Time()))
	return err
}

func trackerChangesPath(number int) string { return fmt.Sprintf("tracker_changes/%d", number) }

// addTrackerChanges adds the differences to the files of the days of seeing. A line with the key of a stored one takes
// its place.
func (c *contribution) addTrackerChanges() error {
	s, t := c.g.store, schema.TrackerChanges
	bySeen := map[schema.Date][]iter.Seq2[[]schema.TrackerChange, error]{}
	for i, seen := range c.g.trackerChanges {
		bySeen[seen] = append(bySeen[seen], parquet.Batches(s.opts.disk, c.g.area.path(trackerChangesPath(i)), t))
	}
	for _, seen := range slices.Sorted(maps.Keys(bySeen)) {
		path := manifest.PartPath(t.Table, s.account, seen)
		var was []iter.Seq2[[]schema.TrackerChange, error]
		if old := c.base.Files[path]; old != nil {
			was = append(was, manifest.Batches(s.opts.disk, s.dir, path, old, t))
		}
		var unread error
		info, err := c.g.area.putPart(path, t.Table, parquet.RecordsOf(t, mergeTrackerChanges(linesOf(was, &unread),
			linesOf(bySeen[seen], &unread))))
		if err = errors.Join(unread, err); err != nil {
			return fmt.Errorf("%s %s: %w", t.FullName(), seen, err)
		}
		info.Day = seen
		c.put(path, info)
	}
	return nil
}

// mergeTrackerChanges returns the lines of both in key order; of a key that both have, the new one.
func mergeTrackerChanges(stored, lines iter.Seq[schema.TrackerChange]) iter.Seq[schema.TrackerChange] {
	return func(yield func(schema.TrackerChange) bool) {
		next, stop := iter.Pull(stored)
		defer stop()
		old, ok := next()
		for l := range lines {
			for ok && compareTrackerChanges(old, l) < 0 {
				if !yield(old) {
					return
				}
				old, ok = next()
			}
			if ok && compareTrackerChanges(old, l) == 0 {
				old, ok = next()
			}
			if !yield(l) {
				return
			}
		}
		for ; ok; old, ok = next() {
			if !yield(old) {
				return
			}
		}
	}
}

func compareTrackerChanges(a, b schema.TrackerChange) int {
	return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.ReportDate, b.ReportDate),
		cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.SeenAt, b.SeenAt))
}
