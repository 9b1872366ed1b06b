package load

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// StoredTracker returns the stored rows of a day of the tracker's exports, in key order. A damaged day has none.
func (g *Staged) StoredTracker(day schema.Date) (rows []schema.TrackerDay, err error) {
	s, t := g.store, schema.TrackerDaily
	path := manifest.PartPath(t.Table, s.account, day)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	rows, err = manifest.Rows(s.opts.disk, s.dir, path, info, t)
	if errors.Is(err, durable.ErrDamaged) {
		s.opts.Log.Warn("a stored day of the tracker is damaged; the export replaces it", "day", day.String(),
			"error", err)
		return nil, nil
	}
	return rows, err
}

// PutTracker stages one day of a tracker's export in the place of the stored one, and reports whether they differ.
// The rows are in key order. Those that are stored with the same numbers keep the run that brought them.
func (g *Staged) PutTracker(day schema.Date, stored, rows []schema.TrackerDay) (changed bool, err error) {
	s, t := g.store, schema.TrackerDaily
	path := manifest.PartPath(t.Table, s.account, day)
	was := map[[2]string]*schema.TrackerDay{}
	for i := range stored {
		was[[2]string{stored[i].CampaignID, stored[i].SourceID}] = &stored[i]
	}
	changed = len(stored) != len(rows)
	for i := range rows {
		r := &rows[i]
		r.AccountID, r.RunID = s.account, g.runID
		if old := was[[2]string{r.CampaignID, r.SourceID}]; old != nil {
			same := *r
			if same.RunID = old.RunID; same == *old {
				*r = same
				continue
			}
		}
		changed = true
	}
	if !changed {
		return false, nil
	}
	info, err := g.putPart(path, t.Table, parquet.Record(t, rows))
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", t.FullName(), day, err)
	}
	info.Day = day
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tracker[day] = info
	return true, nil
}

// addTracker adds the staged days of the tracker.
func (c *contribution) addTracker() {
	for _, d := range slices.Sorted(maps.Keys(c.g.tracker)) {
		c.put(manifest.PartPath(schema.TrackerDaily.Table, c.g.store.account, d), c.g.tracker[d])
	}
}

// loadTracker loads the staged days of the tracker. base is the account before.
func (u *updates) loadTracker(g *Staged, base *manifest.Account) {
	if len(g.tracker) == 0 {
		return
	}
	account, t := g.store.account, schema.TrackerDaily.Table
	load, days := duck.ReplacePartition{Table: t}, map[schema.Date]bool{}
	for _, d := range slices.Sorted(maps.Keys(g.tracker)) {
		path := manifest.PartPath(t, account, d)
		load.Files, days[d] = append(load.Files, g.staged(path)), true
		if was := base.Files[path]; was != nil {
			u.dead += was.Rows
		}
	}
	load.Where = duck.DaysSQL(account, "report_date", days)
	u.loads = append(u.loads, load)
}
