package load

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// bidsRead is the memory of when each campaign's bids per source could last be
// read, by campaign. It is no table: it fills one column of source_mode_history.
const bidsRead = "source_bids"

// stagedTable is a settings table on its way.
type stagedTable struct {
	info   *FileInfo       // nil: the stored file stands
	memory *history.Memory // nil: nothing is remembered beside the rows
	// confirmedRows counts the current rows that share the common confirmation time; 0
	// means not counted.
	confirmedRows int64
}

// StoredTable reads an account's rows of a table that has one file per account.
func StoredTable[R any](s *Store, t schema.TableOf[R]) ([]R, error) {
	path := partPath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return readPublished(s.opts.disk, s.dir, path, info, t)
}

// StoredHistory reads an account's versions with what is remembered of them.
func StoredHistory[R any, P history.Versioned[R]](s *Store, t schema.TableOf[R]) (history.Versions[R], error) {
	rows, err := StoredTable(s, t)
	h := history.Versions[R]{Rows: rows, Memory: s.Account().Memory[t.Name]}
	if err != nil || len(rows) == 0 {
		return h, err
	}
	// What the table has gained since its file was written has never been read.
	version, err := parquet.Version(s.opts.disk, filepath.Join(s.dir, partPath(t.Table, s.account, 0)))
	if err != nil {
		return h, err
	}
	for _, c := range t.Tracked() {
		if c.Since > version {
			if h, err = history.AddColumn[R, P](t, h, c.Name); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}

// PutTable stages all rows of an account's table. Equal rows give an equal file,
// and then the stored one stands.
func PutTable[R any](g *Staged, t schema.TableOf[R], rows []R) error {
	path := partPath(t.Table, g.store.account, 0)
	info, err := g.putPart(path, t.Table, parquet.Record(t, rows))
	if err != nil {
		return fmt.Errorf("%s: %w", t.FullName(), err)
	}
	if old := g.store.Account().Files[path]; old != nil && old.SHA256 == info.SHA256 {
		info = nil
		if err := g.store.opts.disk.RemoveIfThere(g.staged(path)); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tables[t.Name] = &stagedTable{info: info}
	return nil
}

// PutHistory stages an account's versions with what is remembered of them.
func PutHistory[R any, P history.Versioned[R]](g *Staged, t schema.TableOf[R], h history.Versions[R]) error {
	if err := PutTable(g, t, h.Rows); err != nil {
		return err
	}
	staged := g.tables[t.Name]
	staged.memory = &h.Memory
	if staged.info == nil {
		return nil
	}
	old, err := StoredTable(g.store, t)
	if err != nil {
		return err
	}
	for id, day := range history.Learned[R, P](t, old, h.Rows) {
		if known, ok := g.learned[id]; !ok || day < known {
			g.learned[id] = day
		}
	}
	return nil
}

// PutMemory stages what is remembered of versions that are as they are stored: their
// file stands. Where there is none yet, it stages one.
func PutMemory[R any, P history.Versioned[R]](g *Staged, t schema.TableOf[R], h history.Versions[R]) error {
	if g.store.Account().Files[partPath(t.Table, g.store.account, 0)] == nil {
		return PutHistory[R, P](g, t, h)
	}
	staged := &stagedTable{memory: &h.Memory}
	keyText := history.KeyTextOf(t)
	for i := range h.Rows {
		if P(&h.Rows[i]).FramePtr().IsCurrent {
			if _, excepted := h.Memory.Excepted[keyText(&h.Rows[i])]; !excepted {
				staged.confirmedRows++
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tables[t.Name] = staged
	return nil
}

// BidsRead is when each campaign's bids per source could last be read.
func (s *Store) BidsRead() history.Memory { return s.Account().Memory[bidsRead] }

// PutBidsRead stages when each campaign's bids could last be read.
func (g *Staged) PutBidsRead(m history.Memory) {
	g.tables[bidsRead] = &stagedTable{memory: &m}
}

// PinAccount stages whose account the key acts on; empty: it stays as it is.
func (g *Staged) PinAccount(account string) { g.pinned = account }

// PutSettled stages which campaigns are archived and have been read whole.
func (g *Staged) PutSettled(campaigns []string) {
	g.settled = slices.Compact(slices.Sorted(slices.Values(campaigns)))
	if g.settled == nil {
		g.settled = []string{}
	}
}

// DropSettings forgets what is staged of the settings, so that the report can be
// published without them. Whom the key acts for is known all the same.
func (g *Staged) DropSettings() {
	clear(g.tables)
	clear(g.learned)
	g.settled = nil
}

// addTables takes in the staged settings tables.
func (n *generation) addTables() error {
	s := n.g.store
	if n.g.pinned != "" {
		n.acc.Pinned = n.g.pinned
	}
	if n.g.settled != nil {
		n.acc.Settled = n.g.settled
	}
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
		path := partPath(t, s.account, 0)
		if st.info != nil {
			n.put(path, st.info)
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
	if st.info != nil || st.confirmedRows == 0 || len(h.table.ColumnsThatAre(schema.Volatile)) > 1 || n.base == nil ||
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
		Table: t, Set: instant(*st.memory), Rows: st.confirmedRows,
		Where: "account_id = " + schema.QuoteText(account) + " AND is_current AND " +
			instant(n.base.Accounts[account].Memory[t.Name]),
	}
}

// versioned is a table of versions, whatever its rows are.
type versioned struct {
	table *schema.Table
	// confirm writes the account's versions as a private file for DuckDB, with the
	// newest confirmations, which the published file does not follow: so it stays
	// the same for as long as nothing changes.
	confirm func(n *generation, account string, a *Account) ([]string, error)
	// check reads the published versions and holds them together.
	check func(d durable.Disk, dir, path string, a *Account, info *FileInfo) error
}

var versionedTables = []versioned{
	versionedOf(schema.CampaignHistory, nil),
	versionedOf(schema.DeliveryHistory, nil),
	versionedOf(schema.CreativeHistory, nil),
	versionedOf(schema.SourceRuleHistory, nil),
	versionedOf(schema.SourceModeHistory, func(r *schema.SourceMode, a *Account) {
		if at := a.Memory[bidsRead].Confirmed(r.CampaignID); at != 0 && r.IsCurrent {
			r.BidsLastReadAt = schema.Some(at)
		}
	}),
}

func versionedTable(name string) *versioned {
	for i := range versionedTables {
		if versionedTables[i].table.Name == name {
			return &versionedTables[i]
		}
	}
	return nil
}

func versionedOf[R any, P history.Versioned[R]](t schema.TableOf[R], amend func(*R, *Account)) versioned {
	f := versioned{table: t.Table}
	f.confirm = func(n *generation, account string, a *Account) ([]string, error) {
		path := partPath(t.Table, account, 0)
		info := a.Files[path]
		if info == nil {
			return nil, nil
		}
		full := filepath.Join(n.g.store.dir, path)
		if n.isStaged(path) {
			full = n.g.staged(path)
		} else if err := checkBytes(n.g.store.opts.disk, n.g.store.dir, path, info); err != nil {
			return nil, err
		}
		rows, err := parquet.Rows(n.g.store.opts.disk, full, t)
		if err != nil {
			return nil, err
		}
		keyText, memory := history.KeyTextOf(t), a.Memory[t.Name]
		for i := range rows {
			if frame := P(&rows[i]).FramePtr(); frame.IsCurrent {
				if at := memory.Confirmed(keyText(&rows[i])); at != 0 {
					frame.LastConfirmedAt = at
				}
			}
			if amend != nil {
				amend(&rows[i], a)
			}
		}
		private := "ops/" + t.Name + "/" + account
		if _, err := n.g.putPart(private, t.Table, parquet.Record(t, rows)); err != nil {
			return nil, err
		}
		return []string{n.g.staged(private)}, nil
	}
	f.check = func(d durable.Disk, dir, path string, a *Account, info *FileInfo) error {
		rows, err := parquet.Rows(d, filepath.Join(dir, path), t)
		if err := countRows(path, info, int64(len(rows)), err); err != nil {
			return err
		}
		if err := history.Check[R, P](t, history.Versions[R]{Rows: rows, Memory: a.Memory[t.Name]}); err != nil {
			return durable.Damaged(path, durable.MendBackup, "%v", err)
		}
		return nil
	}
	return f
}
