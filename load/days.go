package load

import (
	"maps"
	"slices"

	"spendsync/load/catalog"
	"spendsync/load/duck"
	"spendsync/schema"
)

// addDays takes in the proven days. What was staged of unproven ones is left
// behind with the staging area.
func (n *generation) addDays() {
	account := n.g.store.account
	whole := map[schema.Date]bool{}
	all := duck.Replace{Table: schema.SpendDaily.Table}
	some := duck.Patch{Table: schema.SpendDaily.Table, Only: n.g.ownRows()}
	for _, d := range slices.Sorted(maps.Keys(n.g.days)) {
		day := n.g.days[d]
		p := day.proven
		if p == nil {
			continue
		}
		known := n.acc.Days[d]
		if known == nil {
			known = &Day{FirstReadAt: p.ReadAt}
			n.acc.Days[d] = known
		}
		stored := known.Sums.Rows
		known.ContentHash, known.Sums, known.Rounded = p.hash, p.sums, p.Rounded
		known.Refused, known.Unread = p.Refused, p.Unread
		if !p.Replayed {
			known.LastReadAt, known.RunID = p.ReadAt, n.g.runID
			known.Control, known.ControlTotal = p.Control, p.ControlTotal
			known.Reads++
		}
		if day.part != nil {
			path := catalog.PartPath(schema.SpendDaily.Table, account, d)
			n.putFile(path, day.part)
			n.changed[d] = true
			if day.few {
				some.Files = append(some.Files, n.g.staged(path))
				if day.stale != "" {
					some.Stale = append(some.Stale, day.stale)
				}
			} else {
				whole[d], all.Files = true, append(all.Files, n.g.staged(path))
				n.dead += stored
				n.whole += day.part.Rows
			}
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
	if len(whole) > 0 {
		all.Where = duck.DaysSQL(account, "report_date", whole)
		n.loads = append(n.loads, all)
	}
	if len(some.Files) > 0 {
		n.loads = append(n.loads, some)
	}
	if len(n.changed) > 0 {
		n.loads = append(n.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", n.changed)))
	}
}
