package load

import (
	"errors"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generationBuilder is a generation in the making.
type generationBuilder struct {
	g       *Staged
	base    *manifest.Manifest // its base; nil: nothing is published yet
	next    *manifest.Manifest
	acc     *manifest.Account // this account's part of next
	files   *filing
	updates // of the DuckDB file, if it is carried forward

	// everyAccount means that all accounts are loaded, and may change.
	everyAccount bool

	repair bool // what follows from the other files is made again

	w           *duck.Warehouse // the DuckDB file while it is built
	fromNothing bool            // it does not carry the base's forward
	fullMemory  bool            // DuckDB takes all the memory that it may have at once
	newViews    bool            // whether the views differ from the base's
	restoreGC   func()          // nil: the garbage collector works as it always does
}

// updates are what the DuckDB file of the base needs to become that of the generation.
type updates struct {
	loads        []duck.ReplacePartition // of the tables of main
	amends       []duck.Amend
	changed      map[schema.Date]bool
	dead         int64 // rows of the file that others replace
	replacedRows int64 // rows of the days that are replaced
	versions     int64 // rows of the tables of versions that are loaded whole
}

// begin returns the published generation, which may be newer than at the start of this run because another account
// published, and the head of the next one.
func (g *Staged) begin() (base *manifest.Manifest, head manifest.Head, err error) {
	s := g.store
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
	head.RunID, head.Version = g.area.runID, s.opts.Version
	return base, head, nil
}

// needsEveryAccount reports whether a generation changes other accounts than that of its run.
func (g *Staged) needsEveryAccount(base *manifest.Manifest, head manifest.Head, repair bool) bool {
	return base != nil && (repair || base.SchemaVersion != head.SchemaVersion ||
		schema.DateOf(base.PublishedAt.Time()) != schema.DateOf(head.PublishedAt.Time()) ||
		base.Views != g.store.opts.DuckDB.ViewsDefinition())
}

// loadAll loads every account. A generation changes other accounts only for a new day, a new schema or new views, or
// if it is built from nothing. Otherwise their files are not read.
func (n *generationBuilder) loadAll() error {
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
func (n *generationBuilder) accounts() []string {
	if n.everyAccount {
		return n.next.LoadedNames()
	}
	return []string{n.g.store.account}
}

// whoseRows is the condition for rows of these accounts.
func (n *generationBuilder) whoseRows() string {
	if n.everyAccount {
		return "true"
	}
	return "account_id = " + schema.QuoteText(n.g.store.account)
}

// ownRows is the condition for the rows that this run has written.
func (g *Staged) ownRows() string {
	return schema.Quote("_run_id") + " = " + schema.QuoteText(g.area.runID)
}

// Contents is the content of a generation besides the staged files.
type Contents struct {
	Since   schema.Date           // first day that could be asked for, for an account's first generation
	Unknown []schema.UnknownField // met by this run; known fields stay unchanged
	Asked   bool                  // the run knows what the report answers: Ask and Reach replace the account's
	Ask     *manifest.Ask
	Reach   int
	Notes   []manifest.Note    // of the account after this run; nil: they stay unchanged
	Own     *manifest.OwnFiles // nil: it stays unchanged
	// Repair makes again what follows from the other files: the DuckDB file, and every mart and copy.
	Repair bool
}
