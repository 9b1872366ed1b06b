package load

import (
	"fmt"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// addSettings adds the staged settings.
func (c *contribution) addSettings() {
	c.Pinned, c.ExtraKeys = c.g.pinned, c.g.extraKeys
	if settled := c.g.settled; settled != nil {
		c.Settled, c.SettledUnclear = append([]string{}, settled.ids...), settled.unclear
	}
	for name, st := range c.g.tables {
		if st.confirmations != nil {
			c.Confirmations[name] = *st.confirmations
		}
		if t := schema.Named(name); t != nil && t.Schema == "main" && st.info != nil {
			c.put(manifest.PartPath(t, c.g.store.account, 0), st.info)
		}
	}
}

// loadTables loads the staged settings. was and is are the account before and after.
func (u *updates) loadTables(g *Staged, was, is *manifest.Account, known bool, files *filing) error {
	account := g.store.account
	for _, t := range schema.Tables {
		st := g.tables[t.Name]
		if st == nil || t.Schema != "main" {
			continue
		}
		path := manifest.PartPath(t, account, 0)
		load := duck.ReplacePartition{Table: t, Where: "account_id = " + schema.QuoteText(account)}
		switch h := versionedTable(t.Name); {
		case h != nil:
			if known && st.info == nil {
				if amends, ok := confirmations(t, account, was, is); ok {
					u.amends = append(u.amends, amends...)
					continue
				}
			}
			private, err := h.confirm(files, account, is)
			if err != nil {
				return err
			}
			load.Files = private
			u.versions += is.Files[path].Rows
		case st.info == nil:
			continue
		default:
			load.Files = []string{g.area.path(path)}
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
		table := map[string]string{"last_confirmed_at": t.Name, "bids_last_read_at": bidsRead}[c.Name]
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
