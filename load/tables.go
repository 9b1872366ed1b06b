package load

import (
	"fmt"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// addTables takes in the staged settings tables.
func (n *generation) addTables() error {
	s := n.g.store
	if n.g.pinned != "" {
		n.acc.Pinned = n.g.pinned
	}
	if settled := n.g.settled; settled != nil {
		n.acc.Settled, n.acc.SettledUnclear = settled.ids, settled.unclear
		n.acc.SettledTables = manifest.SettingsTables()
	}
	for table, keys := range n.g.beyond {
		if n.acc.Beyond == nil {
			n.acc.Beyond = map[string]map[string]manifest.KeyChanges{}
		}
		n.acc.Beyond[table] = keys
	}
	n.addReplies()
	for name, st := range n.g.tables {
		if st.memory != nil {
			n.acc.Memory[name] = *st.memory
		}
	}
	for _, t := range schema.Tables {
		st := n.g.tables[t.Name]
		if st == nil || t.Schema != "main" {
			continue
		}
		path := manifest.PartPath(t, s.account, 0)
		if st.info != nil {
			n.putFile(path, st.info)
		}
		load := duck.ReplacePartition{Table: t, Where: "account_id = " + schema.QuoteText(s.account)}
		switch h := versionedTable(t.Name); {
		case h != nil:
			if amends, ok := n.confirmations(t, st); ok {
				n.amends = append(n.amends, amends...)
				continue
			}
			private, err := h.confirm(n, s.account, n.acc)
			if err != nil {
				return err
			}
			load.Files = private
			n.versions += n.acc.Files[path].Rows
		case st.info == nil:
			continue
		default:
			load.Files = []string{n.g.staged(path)}
		}
		n.loads = append(n.loads, load)
	}
	return nil
}

// confirmations move instants on where DuckDB's versions differ from those that it is to have by
// nothing but these, each of which most versions share: when they, or the bids, were last read.
func (n *generation) confirmations(t *schema.Table, st *stagedTable) (amends []duck.Amend, ok bool) {
	account := n.g.store.account
	if st.info != nil || n.base == nil || n.base.Accounts[account] == nil {
		return nil, false
	}
	current := "account_id = " + schema.QuoteText(account) + " AND is_current AND "
	for _, c := range t.ColumnsThatAre(schema.Volatile) {
		memory := map[string]string{"last_confirmed_at": t.Name, "bids_last_read_at": bidsRead}[c.Name]
		was, now := n.base.Accounts[account].Memory[memory], n.acc.Memory[memory]
		if !now.MovesOnly(was) {
			return nil, false
		}
		instant := c.Name + " = make_timestamptz(%d)"
		amends = append(amends, duck.Amend{Table: t, Set: fmt.Sprintf(instant, now.ConfirmedAt),
			Where: current + fmt.Sprintf(instant, was.ConfirmedAt), Rows: now.Shared})
	}
	return amends, true
}
