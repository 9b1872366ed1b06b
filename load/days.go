package load

import (
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// addDays adds the proven days. Staged files of other days are removed with the staging area.
func (c *contribution) addDays() {
	for _, d := range slices.Sorted(maps.Keys(c.g.days)) {
		day := c.g.days[d]
		if day.proven == nil {
			continue
		}
		c.Days[d] = day.proven
		if day.part != nil {
			c.put(manifest.PartPath(schema.SpendDaily.Table, c.g.store.account, d), day.part)
		}
		if day.replacesRaw { // the old replies belong to the old content, or were damaged
			for _, old := range c.base.RawPages(d) {
				if c.Files[old] = nil; day.raw[old] == nil {
					c.files.removes = append(c.files.removes, old)
				}
			}
		}
		for _, path := range slices.Sorted(maps.Keys(day.raw)) {
			c.files.enter(c.Files, path, day.raw[path], !day.unchanged[path])
		}
	}
}

// loadDays loads the changed days: of a day with few changed rows only those, of any other the whole day. base is
// the account before.
func (u *updates) loadDays(g *Staged, base *manifest.Account) {
	account, spend := g.store.account, schema.SpendDaily.Table
	replaced, all := map[schema.Date]bool{}, duck.ReplacePartition{Table: spend}
	some := duck.ReplacePartition{Table: spend, Only: g.area.ownRows()}
	for _, d := range slices.Sorted(maps.Keys(g.days)) {
		day, file := g.days[d], g.area.path(manifest.PartPath(spend, account, d))
		if day.proven == nil || day.part == nil {
			continue
		}
		u.changed[d] = true
		if day.isSmallChange {
			some.Files = append(some.Files, file)
			if day.stale != "" {
				some.Stale = append(some.Stale, day.stale)
			}
			continue
		}
		replaced[d], all.Files = true, append(all.Files, file)
		if was := base.Days[d]; was != nil {
			u.dead += was.Sums.Rows
		}
	}
	if len(replaced) > 0 {
		all.Where = duck.DaysSQL(account, "report_date", replaced)
		u.loads = append(u.loads, all)
	}
	if len(some.Files) > 0 {
		u.loads = append(u.loads, some)
	}
	if len(u.changed) > 0 {
		u.loads = append(u.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", u.changed)))
	}
}
