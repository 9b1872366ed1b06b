package load

import (
	"errors"
	"path/filepath"
	"slices"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generation is a generation in the making.
type generation struct {
	g       *Staged
	base    *manifest.Manifest // what it is built on; nil: nothing yet
	next    *manifest.Manifest
	acc     *manifest.Account // this account's part of next
	moves   []commit.Move
	removes []string
	loads   []duck.ReplacePartition // of the tables of main, for a file that is carried forward
	amends  []duck.Amend            // likewise
	changed map[schema.Date]bool
	dead    int64 // rows of the base's DuckDB file that others replace
	whole   int64 // rows of the days that are loaded whole

	versions int64 // rows of the tables of versions that are loaded whole

	martsLater bool // another generation of the run writes the account's marts
	// everyAccount means that all accounts are loaded, and may change.
	everyAccount bool

	repair   bool     // everything that can be made again is made again
	restored []string // damaged files that this generation brings back
	accepted []string // what became of those that nothing can restore

	w           *duck.Warehouse // the DuckDB file while it is built
	fromNothing bool            // it does not carry the base's forward
	fullMemory  bool            // DuckDB takes all the memory that it may have at once
	newViews    bool            // whether the views are other than those of the base
	restoreGC   func()          // nil: the garbage collector works as it always does
}

// newGeneration starts from what is published now, which another account's run
// may have moved on since this run began.
func (g *Staged) newGeneration(c Contents) (*generation, error) {
	s := g.store
	n := &generation{g: g, changed: map[schema.Date]bool{}, repair: c.Repair, fromNothing: c.Repair,
		martsLater: c.MartsLater && !c.Repair}
	var err error
	n.base, err = s.published(s.base)
	switch {
	case errors.Is(err, durable.ErrEmpty):
		n.next = manifest.New()
	case err != nil:
		return nil, err
	default:
		n.next = n.base.Clone()
	}
	if s.base != nil && (n.base == nil || n.base.Generation < s.base.Generation) {
		return nil, durable.Damaged(manifest.FileName, "restore the newest backup",
			"this run began with generation %d, and an older one is published now", s.base.Generation)
	}
	// No number is given twice, though it may be that of a generation that is lost.
	n.next.Generation = max(n.next.Generation, s.newer.Generation) + 1
	n.next.SchemaVersion = schema.Version
	n.next.PublishedAt = schema.InstantOf(s.opts.Now())
	n.next.RunID, n.next.Version = g.runID, s.opts.Version
	if n.base != nil && (n.repair || n.base.SchemaVersion != schema.Version ||
		schema.DateOf(n.base.PublishedAt.Time()) != schema.DateOf(n.next.PublishedAt.Time()) ||
		n.base.Views != s.opts.DuckDB.ViewsDefinition()) {
		if err := n.loadAll(); err != nil {
			return nil, err
		}
	}
	n.acc = n.next.Of(s.account)
	if n.base == nil || n.base.Accounts[s.account] == nil {
		n.acc.Since = c.Since
	}
	return n, nil
}

// loadAll loads every account. What a generation changes of other accounts follows from a new day, a
// new schema or new views alone, or it is made from nothing: at other times they stay as they are, and
// their files unread.
func (n *generation) loadAll() error {
	n.everyAccount = true
	if n.base == nil {
		return nil
	}
	s := n.g.store
	for _, name := range n.base.AccountNames() {
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

// accounts returns the accounts of which the generation may change anything.
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

// putFile adds a staged file to the generation.
func (n *generation) putFile(path string, info *manifest.File) {
	n.acc.Files[path] = info
	n.moveStaged(path)
}

// whereIs is the folder and the name of a file of the generation.
func (n *generation) whereIs(path string) (dir, name string) {
	if n.isStaged(path) {
		return n.g.dir, filepath.Base(n.g.staged(path))
	}
	return n.g.store.dir, path
}

// readPart reads a file of the generation.
func readPart[R any](n *generation, path string, info *manifest.File, t schema.TableOf[R]) ([]R, error) {
	dir, name := n.whereIs(path)
	return manifest.Rows(n.g.store.opts.disk, dir, name, info, t)
}

// isStaged says whether this run brings a new file for a published path.
func (n *generation) isStaged(path string) bool {
	return slices.ContainsFunc(n.moves, func(m commit.Move) bool { return m.To == path })
}

func (n *generation) moveStaged(path string) {
	if n.isStaged(path) {
		return // written again
	}
	from, _ := filepath.Rel(n.g.store.dir, n.g.staged(path))
	n.moves = append(n.moves, commit.Move{From: from, To: path})
}

// ownRows is the condition for the rows that this run has written.
func (g *Staged) ownRows() string {
	return schema.Quote("_run_id") + " = " + schema.QuoteText(g.runID)
}

// Contents is what goes into a generation beside what is staged.
type Contents struct {
	Since   schema.Date           // first day that could be asked for, for an account's first generation
	Unknown []schema.UnknownField // met by this run; known ones are left as they are
	// Repair makes again all that can be made again: damaged files are restored, the DuckDB
	// file is built from nothing, and so is every mart.
	Repair bool
	// MartsLater leaves the account's marts as they are: the run publishes another generation,
	// which writes them.
	MartsLater bool
}
