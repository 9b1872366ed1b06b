package load

import (
	"fmt"
	"maps"

	"spendsync/load/catalog"
	"spendsync/load/duck"
	"spendsync/load/history"
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
		n.acc.SettledTables = catalog.SettingsTables()
	}
	for table, keys := range n.g.beyond {
		if n.acc.Beyond == nil {
			n.acc.Beyond = map[string]map[string]KeyChanges{}
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
		path := catalog.PartPath(t, s.account, 0)
		if st.info != nil {
			n.putFile(path, st.info)
		}
		load := duck.Replace{Table: t, Where: "account_id = " + schema.QuoteText(s.account)}
		switch h := versionedTable(t.Name); {
		case h != nil && n.onlyConfirmed(h, st):
			n.loads = append(n.loads, n.confirmations(t, st))
			continue
		case h != nil:
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

// onlyConfirmed says that DuckDB's versions differ from those that it is to have by
// nothing but one instant, which most of them share: when they were last confirmed.
func (n *generation) onlyConfirmed(h *versioned, st *stagedTable) bool {
	if st.info != nil || st.memory.Shared == 0 || len(h.table.ColumnsThatAre(schema.Volatile)) > 1 || n.base == nil ||
		n.base.Accounts[n.g.store.account] == nil {
		return false
	}
	was, now := n.base.Accounts[n.g.store.account].Memory[h.table.Name], st.memory
	for _, at := range was.Excepted {
		if at == was.ConfirmedAt {
			return false // it cannot be told from the others
		}
	}
	return was.ConfirmedAt != 0 && now.ConfirmedAt != 0 && maps.Equal(was.Excepted, now.Excepted)
}

// confirmations move that instant on where it is, without the rows being written again.
func (n *generation) confirmations(t *schema.Table, st *stagedTable) duck.Amend {
	account := n.g.store.account
	instant := func(m history.Memory) string {
		return fmt.Sprintf("last_confirmed_at = make_timestamptz(%d)", m.ConfirmedAt)
	}
	return duck.Amend{
		Table: t, Set: instant(*st.memory), Rows: st.memory.Shared,
		Where: "account_id = " + schema.QuoteText(account) + " AND is_current AND " +
			instant(n.base.Accounts[account].Memory[t.Name]),
	}
}
