package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// PutTrackerChanges stages differences between days of the tracker as stored and as a file of this run has them.
func (g *Staged) PutTrackerChanges(lines []schema.TrackerChange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range lines {
		l.AccountID, l.RunID = g.store.account, g.runID
		g.trackerChanges = append(g.trackerChanges, l)
	}
}

// addTrackerChanges adds the differences to the files of the days of seeing. A line with the key of a stored one takes
// its place.
func (c *contribution) addTrackerChanges() error {
	s, t := c.g.store, schema.TrackerChanges
	bySeen := map[schema.Date][]schema.TrackerChange{}
	for _, l := range c.g.trackerChanges {
		seen := schema.DateOf(l.SeenAt.Time())
		bySeen[seen] = append(bySeen[seen], l)
	}
	for _, seen := range slices.Sorted(maps.Keys(bySeen)) {
		path := manifest.PartPath(t.Table, s.account, seen)
		var lines []schema.TrackerChange
		if old := c.file(path); old != nil {
			var err error
			if lines, err = readPart(c.files, path, old, t); err != nil {
				return err
			}
		}
		info, err := c.g.putPart(path, t.Table, parquet.Record(t, mergeTrackerChanges(lines, bySeen[seen])))
		if err != nil {
			return fmt.Errorf("%s %s: %w", t.FullName(), seen, err)
		}
		info.Day = seen
		c.put(path, info)
	}
	return nil
}

// mergeTrackerChanges returns all lines in key order, of each key the last one.
func mergeTrackerChanges(stored, lines []schema.TrackerChange) []schema.TrackerChange {
	all := slices.Concat(lines, stored)
	slices.Reverse(all[:len(lines)])
	slices.SortStableFunc(all, compareTrackerChanges)
	return slices.CompactFunc(all, func(a, b schema.TrackerChange) bool { return compareTrackerChanges(a, b) == 0 })
}

func compareTrackerChanges(a, b schema.TrackerChange) int {
	return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.ReportDate, b.ReportDate),
		cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.SeenAt, b.SeenAt))
}
