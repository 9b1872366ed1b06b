package load

import (
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// updates are the changes that turn the base's DuckDB file into the file of the generation.
type updates struct {
	loads    []duck.ReplacePartition // replacements of rows in schema main
	changed  map[schema.Date]bool
	dead     int64 // number of rows that the loads replace; their space in the file stays unused
	versions int64 // number of rows in the staged files of versioned tables
}

// updates returns the changes to the DuckDB file that this account's staged files require.
func (n *generation) updates() (updates, error) {
	u, account := updates{changed: map[schema.Date]bool{}}, n.store.account
	next := n.next.Accounts[account]
	dayLoads, days := map[*schema.Table]*duck.ReplacePartition{}, map[*schema.Table]map[schema.Date]bool{}
	for _, path := range slices.Sorted(maps.Keys(next.Files)) {
		info := next.Files[path]
		t := schema.Named(info.Table)
		if t == nil || !n.files.isStaged(path) {
			continue
		}
		switch {
		case isGrowing(t):
			u.loads = append(u.loads, duck.ReplacePartition{Table: t, Where: duck.FileSQL(t, account, info.Day),
				Files: []string{n.area.path(path)}})
		case t == schema.SpendDaily.Table, t == schema.TrackerDaily.Table:
			if dayLoads[t] == nil {
				dayLoads[t], days[t] = &duck.ReplacePartition{Table: t}, map[schema.Date]bool{}
			}
			dayLoads[t].Files, days[t][info.Day] = append(dayLoads[t].Files, n.area.path(path)), true
			if t == schema.SpendDaily.Table {
				u.changed[info.Day] = true
			}
			if old := n.baseFiles(account)[path]; old != nil {
				u.dead += old.Rows
			}
		}
	}
	for _, t := range []*schema.Table{schema.SpendDaily.Table, schema.TrackerDaily.Table} {
		if load := dayLoads[t]; load != nil {
			load.Where = duck.DaysSQL(account, "report_date", days[t])
			u.loads = append(u.loads, *load)
		}
	}
	if len(u.changed) > 0 {
		u.loads = append(u.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", u.changed)))
	}
	u.addTables(n, next)
	return u, nil
}

// addTables adds a load for each staged file of a table that has one file per account.
func (u *updates) addTables(n *generation, next *manifest.Account) {
	account := n.store.account
	for _, t := range schema.Tables {
		path := manifest.TablePath(t, account, 0)
		if !t.HasFiles() || t.Partition != schema.ByAccount || !n.files.isStaged(path) {
			continue
		}
		if t.Versioned {
			u.versions += next.Files[path].Rows
		}
		u.loads = append(u.loads, duck.ReplacePartition{Table: t, Where: "account_id = " + schema.QuoteText(account),
			Files: []string{n.area.path(path)}})
	}
}
