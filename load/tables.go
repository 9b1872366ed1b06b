package load

import (
	"fmt"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// loadTables loads the staged settings. was and is are the account before and after.
func (u *updates) loadTables(g *Staged, was, is *manifest.Account, known bool, files *filing) error {
	account := g.store.account
	for _, t := range schema.Tables {
		path := manifest.PartPath(t, account, 0)
		info := g.Settings.Files[path]
		load := duck.ReplacePartition{Table: t, Where: "account_id = " + schema.QuoteText(account)}
		switch h := versionedTable(t.Name); {
		case h != nil:
			if _, confirmed := g.Settings.Confirmations[t.Name]; !confirmed {
				continue
			}
			if known && info == nil {
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
		case info == nil:
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
