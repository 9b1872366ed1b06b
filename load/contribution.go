package load

import (
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// contribution is what a run brings into a generation, while it is collected.
type contribution struct {
	manifest.Change
	g     *Staged
	base  *manifest.Account // this account before
	files *filing
}

// contribute returns what the run changes of its account, and stages the files that join new rows
// with those of the base.
func contribute(g *Staged, base *manifest.Manifest, files *filing, contents Contents) (manifest.Change, error) {
	c := &contribution{g: g, base: accountOf(base, g.store.account, contents.Since), files: files}
	is := manifest.NewChange()
	c.Change, c.Pinned = contents.Change, g.Pinned
	c.Days, c.Files, c.Confirmations = is.Days, is.Files, is.Confirmations
	c.Settled, c.SettledUnclear, c.ExtraKeys = g.Settings.Settled, g.Settings.SettledUnclear, g.Settings.ExtraKeys
	maps.Copy(c.Confirmations, g.Settings.Confirmations)
	c.addDays()
	for _, part := range []Part{g.Settings, g.tracker} {
		for _, path := range slices.Sorted(maps.Keys(part.Files)) {
			c.put(path, part.Files[path])
		}
	}
	for _, add := range []func() error{c.addChanges, c.addIntraday, c.addTrackerChanges,
		c.addCalendar, c.addReportedLost} {
		if err := add(); err != nil {
			return c.Change, err
		}
	}
	return c.Change, nil
}

// accountOf returns an account of a manifest, or a new one.
func accountOf(m *manifest.Manifest, name string, since schema.Date) *manifest.Account {
	if m != nil && m.Accounts[name] != nil {
		return m.Accounts[name]
	}
	return manifest.NewAccount(since)
}

// put adds a staged file.
func (c *contribution) put(path string, info *manifest.File) {
	c.files.enter(c.Files, path, info, true)
}

// addReportedLost adds the lost days that runs have reported since the generation.
func (c *contribution) addReportedLost() error {
	paths, err := ownLedgers(c.files, slices.Collect(maps.Keys(c.base.Ledger)))
	if err != nil {
		return err
	}
	for _, path := range paths {
		b, err := c.files.readLedger(path)
		if err != nil {
			return err
		}
		rows, err := manifest.DecodeLedger(path, b[min(int64(len(b)), c.base.Ledger[path]):])
		if err != nil {
			return err
		}
		for _, lost := range rows.Lost {
			c.ReportedLost = append(c.ReportedLost, lost.Days...)
		}
	}
	return nil
}

// updatesOf returns what brings the DuckDB file of the base to the next generation.
func updatesOf(g *Staged, base, next *manifest.Manifest, files *filing) (updates, error) {
	u := updates{changed: map[schema.Date]bool{}}
	account := g.store.account
	was, is := accountOf(base, account, 0), next.Accounts[account]
	u.loadDays(g, was)
	u.loadTracker(g, was)
	for _, path := range slices.Sorted(maps.Keys(is.Files)) {
		info := is.Files[path]
		if !files.isStaged(path) {
			continue
		}
		t := schema.Named(info.Table)
		switch {
		case t == schema.SpendChanges.Table || t == schema.SpendIntraday.Table: // lines are only ever added
			u.loads = append(u.loads, duck.ReplacePartition{Table: t, Files: []string{g.area.path(path)},
				Where: duck.PartSQL(t, account, info.Day) + " AND " + g.area.ownRows(), Only: g.area.ownRows()})
		case t == schema.TrackerChanges.Table:
			u.loads = append(u.loads, duck.ReplacePartition{Table: t, Files: []string{g.area.path(path)},
				Where: duck.PartSQL(t, account, info.Day)})
		case t == schema.Calendar.Table:
			u.loads = append(u.loads, duck.ReplacePartition{Table: t, Files: []string{g.area.path(path)},
				Where: "account_id = " + schema.QuoteText(account)})
		}
	}
	return u, u.loadTables(g, was, is, base != nil && base.Accounts[account] != nil, files)
}
