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
	next  *manifest.Manifest
	files *filing

	everyAccount bool // all accounts are loaded, and may change
	repair       bool // what follows from the other files is made again
}

// begin returns the published generation, which may be newer than at the start of this run because another account
// published, and the head of the next one.
func (s *Store) begin(runID string) (base *manifest.Manifest, head manifest.Head, err error) {
	base, err = s.published(s.base)
	if err != nil && !errors.Is(err, durable.ErrEmpty) {
		return nil, head, err
	}
	if base != nil {
		head.Generation = base.Generation
	}
	if s.base != nil && head.Generation < s.base.Generation {
		return nil, head, durable.Damaged(manifest.FileName, "restore the newest backup",
			"this run began with generation %d, and an older one is published now", s.base.Generation)
	}
	head.Generation++
	head.SchemaVersion, head.PublishedAt = schema.Version, schema.InstantOf(s.opts.Now())
	head.RunID, head.Version = runID, s.opts.Version
	return base, head, nil
}

// needsEveryAccount reports whether a generation changes other accounts than that of its run.
func (s *Store) needsEveryAccount(base *manifest.Manifest, head manifest.Head, repair bool) bool {
	return base != nil && (repair || base.SchemaVersion != head.SchemaVersion ||
		schema.DateOf(base.PublishedAt.Time()) != schema.DateOf(head.PublishedAt.Time()) ||
		base.Views != s.opts.DuckDB.ViewsDefinition())
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
