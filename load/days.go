package load

import (
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// addDays takes in the proven days. What was staged of unproven ones is left
// behind with the staging area.
func (n *generation) addDays() {
	account := n.g.store.account
	stored := map[schema.Date]int64{}
	for _, d := range slices.Sorted(maps.Keys(n.g.days)) {
		day := n.g.days[d]
		p := day.proven
		if p == nil {
			continue
		}
		known := n.acc.Days[d]
		if known == nil {
			known = &manifest.Day{FirstReadAt: p.ReadAt}
			n.acc.Days[d] = known
		}
		stored[d] = known.Sums.Rows
		known.ContentHash, known.Sums, known.Rounded = p.hash, p.sums, p.Rounded
		known.Refused, known.Unread = p.Refused, p.Unread
		if !p.Replayed {
			known.LastReadAt, known.RunID = p.ReadAt, n.g.runID
			known.Control, known.ControlTotal = p.Control, p.ControlTotal
			known.Reads++
		}
		if day.part != nil {
			path := manifest.PartPath(schema.SpendDaily.Table, account, d)
			n.putFile(path, day.part)
			n.changed[d] = true
		}
		if (day.part != nil || day.renewRaw) && !p.Replayed {
			// The old replies stand behind the old content, or are not what they were.
			for _, old := range n.acc.RawPages(d) {
				delete(n.acc.Files, old)
				if day.raw[old] == nil {
					n.removes = append(n.removes, old)
				}
			}
		}
		for _, path := range slices.Sorted(maps.Keys(day.raw)) {
			if n.acc.Files[path] = day.raw[path]; !day.stays[path] {
				n.moveStaged(path)
			}
		}
	}
	if len(n.changed) > 0 {
		n.loadDays(stored)
	}
}

// renewedPart is how large a part of an account's rows may be of days that are renewed: DuckDB holds
// every new value in memory.
const renewedPart = 4

// loadDays loads the days that have changed; stored is how many rows each had before. Of a day with
// a few rows that are others it loads those alone; of one whose rows stay for the most part, as the
// open day's do from hour to hour, the columns that differ; other days whole.
func (n *generation) loadDays(stored map[schema.Date]int64) {
	account, spend := n.g.store.account, schema.SpendDaily.Table
	whole, all := map[schema.Date]bool{}, duck.Replace{Table: spend}
	some := duck.Patch{Table: spend, Only: n.g.ownRows()}
	var rowsOfAll, renewed int64
	for _, d := range n.acc.Days {
		rowsOfAll += d.Sums.Rows
	}
	for _, d := range slices.Sorted(maps.Keys(n.changed)) {
		day, file := n.g.days[d], n.g.staged(manifest.PartPath(spend, account, d))
		rows := day.part.Rows
		switch {
		case day.few:
			some.Files = append(some.Files, file)
			if day.stale != "" {
				some.Stale = append(some.Stale, day.stale)
			}
		case day.differ != nil && 2*day.diff.Inserted <= rows && renewedPart*(renewed+rows) <= rowsOfAll:
			renewed += rows
			n.dead += day.diff.Deleted
			n.loads = append(n.loads, duck.Renew{Table: spend, Account: account, Day: d, File: file,
				Only: n.g.ownRows(), Set: day.differ, Came: day.diff.Inserted > 0, Went: day.diff.Deleted > 0})
		default:
			whole[d], all.Files = true, append(all.Files, file)
			n.dead += stored[d]
			n.whole += rows
		}
	}
	if len(whole) > 0 {
		all.Where = duck.DaysSQL(account, "report_date", whole)
		n.loads = append(n.loads, all)
	}
	if len(some.Files) > 0 {
		n.loads = append(n.loads, some)
	}
	n.loads = append(n.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", n.changed)))
}
