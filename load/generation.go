package load

import (
	"errors"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generation is a generation in the making.
type generation struct {
	store *Store
	area  *Area
	base  *manifest.Manifest // its base; nil: nothing is published yet
	head  manifest.Head
	next  *manifest.Manifest
	files *filing

	everyAccount bool // all accounts are loaded, and may change
	repair       bool // what follows from the other files is made again

	groups   map[string][]string // [Part.groups]
	lines    []lines
	replaced map[string]bool     // files of lines, of which a new one has taken the place of a stored one
	news     manifest.LedgerRows // lines of the account's ledgers that the base's DuckDB file does not have
}

// newGeneration begins the generation after the published one, which may be newer than at the start of this run because
// another account published. It rewrites files of other accounts only if the day, the schema or the views are new.
func newGeneration(s *Store, a *Area, everyAccount bool) (*generation, error) {
	base, err := s.published(s.base)
	if err != nil && !errors.Is(err, durable.ErrEmpty) {
		return nil, err
	}
	n := &generation{store: s, area: a, base: base, files: &filing{store: s, area: a}, head: manifest.Head{
		Generation: 1, SchemaVersion: schema.Version, PublishedAt: schema.InstantOf(s.opts.Now()), RunID: a.runID,
		Version: s.opts.Version},
		groups: map[string][]string{}, replaced: map[string]bool{}}
	if base != nil {
		n.head.Generation = base.Generation + 1
		n.everyAccount = everyAccount || base.SchemaVersion != schema.Version ||
			schema.DateOf(base.PublishedAt.Time()) != schema.DateOf(n.head.PublishedAt.Time()) ||
			base.Views != s.opts.DuckDB.ViewsDefinition()
	}
	if s.base != nil && n.head.Generation <= s.base.Generation {
		return nil, durable.Damaged(manifest.FileName, "restore the newest backup",
			"this run began with generation %d, and an older one is published now", s.base.Generation)
	}
	if n.everyAccount {
		return n, base.Load(s.opts.disk, s.dir, base.AccountNames()...)
	}
	return n, nil
}

// loadAll loads every account. Most generations read only the files of the account that is published; the others are
// needed if a new day has begun, if the schema or the views are new, or if the generation is built from nothing.
func (n *generation) loadAll() error {
	n.everyAccount = true
	if n.base == nil {
		return nil
	}
	s := n.store
	for _, name := range n.next.AccountNames() {
		if n.next.Accounts[name] != nil {
			continue
		}
		if err := n.base.Load(s.opts.disk, s.dir, name); err != nil {
			return err
		}
		n.next.Take(name, n.base)
	}
	return nil
}

// accounts returns the accounts that the generation may change.
func (n *generation) accounts() []string {
	if n.everyAccount {
		return n.next.LoadedNames()
	}
	return []string{n.store.account}
}

// whoseRows is the condition for rows of these accounts.
func (n *generation) whoseRows() string {
	if n.everyAccount {
		return "true"
	}
	return "account_id = " + schema.QuoteText(n.store.account)
}

// rowsOfRun is the condition for the rows that this run has written.
func (n *generation) rowsOfRun() string {
	return schema.Quote("_run_id") + " = " + schema.QuoteText(n.area.runID)
}

// accountOf returns an account of a manifest, or a new one.
func accountOf(m *manifest.Manifest, name string, since schema.Date) *manifest.Account {
	if m != nil && m.Accounts[name] != nil {
		return m.Accounts[name]
	}
	return manifest.NewAccount(since)
}

// restatements returns how many lines spend_change gains.
func (n *generation) restatements() (count int) {
	for _, l := range n.lines {
		if l.table == schema.SpendChanges.Table {
			count += int(l.rows)
		}
	}
	return count
}
