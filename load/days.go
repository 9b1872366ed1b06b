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

// loadDays loads the changed days: of a day with few changed rows only those, of any other the whole day. stored
// holds how many rows each day had before.
func (n *generation) loadDays(stored map[schema.Date]int64) {
	account, spend := n.g.store.account, schema.SpendDaily.Table
	whole, all := map[schema.Date]bool{}, duck.ReplacePartition{Table: spend}
	some := duck.ReplacePartition{Table: spend, Only: n.g.ownRows()}
	for _, d := range slices.Sorted(maps.Keys(n.changed)) {
		day, file := n.g.days[d], n.g.staged(manifest.PartPath(spend, account, d))
		if day.few {
			some.Files = append(some.Files, file)
			if day.stale != "" {
				some.Stale = append(some.Stale, day.stale)
			}
			continue
		}
		whole[d], all.Files = true, append(all.Files, file)
		n.dead += stored[d]
		n.whole += day.part.Rows
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
