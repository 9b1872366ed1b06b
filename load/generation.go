package load

import (
	"errors"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generation is the next generation while a run builds it.
type generation struct {
	store *Store
	area  *Area
	base  *manifest.Manifest // the published generation; nil if nothing is published yet
	head  manifest.Head
	next  *manifest.Manifest
	files *filing

	everyAccount bool // whether all accounts are loaded and may change
	repair       bool // whether all derived files are rebuilt

	lines   []lines
	newRows manifest.LedgerRows // ledger lines that the base's DuckDB file does not have
}

// newGeneration begins the generation after the published one. The published generation may be newer than s.base,
// because another account's run may have published since. Files of other accounts are rewritten only if everyAccount is
// set, on a new day, or if the schema or the views have changed.
func newGeneration(s *Store, a *Area, everyAccount bool) (*generation, error) {
	base, err := s.published(s.base)
	if err != nil && !errors.Is(err, durable.ErrEmpty) {
		return nil, err
	}
	n := &generation{store: s, area: a, base: base, files: &filing{store: s, area: a}, head: manifest.Head{
		Generation: 1, SchemaVersion: schema.Version, PublishedAt: schema.InstantOf(s.opts.Now()), RunID: a.runID,
		Version: s.opts.Version}}
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

// loadAll loads every account. Most generations need only the account that is published. The other accounts are needed
// on a new day, after a change of the schema or the views, and to build the DuckDB file from nothing.
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
		n.next.AddCopy(name, n.base)
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

// whoseRows returns the SQL condition for the rows of the accounts that the generation may change.
func (n *generation) whoseRows() string {
	if n.everyAccount {
		return "true"
	}
	return "account_id = " + schema.QuoteText(n.store.account)
}

// baseFiles returns the files of an account in the base; nil if there are none.
func (n *generation) baseFiles(account string) map[string]*manifest.File {
	if n.base == nil || n.base.Accounts[account] == nil {
		return nil
	}
	return n.base.Accounts[account].Files
}

// restatements returns the number of new lines in spend_change.
func (n *generation) restatements() (count int) {
	for _, l := range n.lines {
		if l.table == schema.SpendChanges.Table {
			count += int(l.rows)
		}
	}
	return count
}
