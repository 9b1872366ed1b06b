package load

import (
	"errors"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generation is a generation in the making.
type generation struct {
	g     *Staged
	base  *manifest.Manifest // its base; nil: nothing is published yet
	head  manifest.Head
	next  *manifest.Manifest
	files *filing

	everyAccount bool // all accounts are loaded, and may change
	repair       bool // what follows from the other files is made again
}

// newGeneration begins the generation after the published one, which may be newer than at the start of this run because
// another account published. It changes other accounts than that of its run for a new day, a new schema or new views.
func newGeneration(g *Staged, everyAccount bool) (*generation, error) {
	s := g.store
	base, err := s.published(s.base)
	if err != nil && !errors.Is(err, durable.ErrEmpty) {
		return nil, err
	}
	n := &generation{g: g, base: base, files: &filing{g: g}, head: manifest.Head{Generation: 1,
		SchemaVersion: schema.Version, PublishedAt: schema.InstantOf(s.opts.Now()), RunID: g.area.runID,
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

// loadAll loads every account. A generation changes other accounts only for a new day, a new schema or new views, or
// if it is built from nothing. Otherwise their files are not read.
func (n *generation) loadAll() error {
	n.everyAccount = true
	if n.base == nil {
		return nil
	}
	s := n.g.store
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
	return []string{n.g.store.account}
}

// whoseRows is the condition for rows of these accounts.
func (n *generation) whoseRows() string {
	if n.everyAccount {
		return "true"
	}
	return "account_id = " + schema.QuoteText(n.g.store.account)
}

// Contents is the content of a generation besides the parts that are staged.
type Contents struct {
	manifest.Change
	// Repair makes again what follows from the other files: the DuckDB file, and every mart and copy.
	Repair bool
}
