package load

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// updates are what the DuckDB file of the base needs to become that of the generation.
type updates struct {
	loads    []duck.ReplacePartition // of the tables of main
	amends   []duck.Amend
	changed  map[schema.Date]bool
	dead     int64 // rows of the file that others replace
	versions int64 // rows of the tables of versions that are loaded whole
}

// updates returns what brings the DuckDB file of the base to the generation: of a day with few changed rows only those,
// of any other the whole day.
func (n *generation) updates() (updates, error) {
	u, account := updates{changed: map[schema.Date]bool{}}, n.store.account
	was, is := accountOf(n.base, account, 0), n.next.Accounts[account]
	some := duck.ReplacePartition{Table: schema.SpendDaily.Table, Only: n.ownRows()}
	whole, days := map[*schema.Table]*duck.ReplacePartition{}, map[*schema.Table]map[schema.Date]bool{}
	for _, path := range slices.Sorted(maps.Keys(is.Files)) {
		info, file := is.Files[path], n.area.path(path)
		t := schema.Named(info.Table)
		if t == nil || !n.files.isStaged(path) {
			continue
		}
		switch stale, isSmall := n.stale[info.Day]; {
		case isGrowing(t):
			u.loads = append(u.loads, n.linesLoad(path, t, info.Day))
		case t == some.Table && isSmall:
			u.changed[info.Day], some.Files = true, append(some.Files, file)
			if stale != "" {
				some.Stale = append(some.Stale, stale)
			}
		case t == schema.SpendDaily.Table, t == schema.TrackerDaily.Table:
			if whole[t] == nil {
				whole[t], days[t] = &duck.ReplacePartition{Table: t}, map[schema.Date]bool{}
			}
			whole[t].Files, days[t][info.Day] = append(whole[t].Files, file), true
			if t == schema.SpendDaily.Table {
				u.changed[info.Day] = true
			}
			if old := was.Files[path]; old != nil {
				u.dead += old.Rows
			}
		}
	}
	for _, t := range []*schema.Table{schema.SpendDaily.Table, schema.TrackerDaily.Table} {
		if load := whole[t]; load != nil {
			load.Where = duck.DaysSQL(account, "report_date", days[t])
			u.loads = append(u.loads, *load)
		}
	}
	if len(some.Files) > 0 {
		u.loads = append(u.loads, some)
	}
	if len(u.changed) > 0 {
		u.loads = append(u.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", u.changed)))
	}
	return u, u.addTables(n, was, is)
}

// linesLoad loads the new lines of a file, or all if one of them has taken the place of a stored one.
func (n *generation) linesLoad(path string, t *schema.Table, day schema.Date) duck.ReplacePartition {
	load := duck.ReplacePartition{Table: t, Files: []string{n.area.path(path)},
		Where: duck.PartSQL(t, n.store.account, day)}
	if !n.replaced[path] {
		load.Where, load.Only = load.Where+" AND "+n.ownRows(), n.ownRows()
	}
	return load
}

// addTables adds the tables of one file that are new, and of the versions those that the run has confirmed.
func (u *updates) addTables(n *generation, was, is *manifest.Account) error {
	account := n.store.account
	isKnown := n.base != nil && n.base.Accounts[account] != nil
	for _, t := range schema.Tables {
		path := manifest.PartPath(t, account, 0)
		isNew := n.files.isStaged(path)
		load := duck.ReplacePartition{Table: t, Where: "account_id = " + schema.QuoteText(account)}
		if h := versionedTable(t.Name); h != nil {
			if _, confirmed := n.confirmed[t.Name]; !confirmed {
				continue
			}
			if isKnown && !isNew {
				if amends, ok := confirmations(t, account, was, is); ok {
					u.amends = append(u.amends, amends...)
					continue
				}
			}
			var err error
			if load.Files, err = h.confirm(n.files, account, is); err != nil {
				return err
			}
			u.versions += is.Files[path].Rows
		} else if isNew {
			load.Files = []string{n.area.path(path)}
		} else {
			continue
		}
		u.loads = append(u.loads, load)
	}
	return nil
}

// confirmations move instants on if the versions in DuckDB differ from the new ones by nothing but the
// instants that most versions share: when they, or the bids, were last read.
func confirmations(t *schema.Table, account string, was, is *manifest.Account) (amends []duck.Amend, ok bool) {
	current := "account_id = " + schema.QuoteText(account) + " AND is_current AND "
	for _, c := range t.ColumnsThatAre(schema.Volatile) {
		table := map[string]string{"last_confirmed_at": t.Name, "bids_last_read_at": BidsRead}[c.Name]
		was, now := was.Confirmations[table], is.Confirmations[table]
		if !now.MovesOnly(was) {
			return nil, false
		}
		instant := c.Name + " = make_timestamptz(%d)"
		amends = append(amends, duck.Amend{Table: t, Set: fmt.Sprintf(instant, now.ConfirmedAt),
			Where: current + fmt.Sprintf(instant, was.ConfirmedAt), Rows: now.SharedCount})
	}
	return amends, true
}
