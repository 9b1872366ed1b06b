package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Preview is what a prepared generation will show once it is published: it decides how the run ends and what
// its record contains.
type Preview struct {
	Generation int64
	Coverage   []schema.DayCoverage // of this account, as of now
	// NewlyLost are days that can never be known in full, and that no run has
	// reported before this one.
	NewlyLost []schema.Date
	// ViewErrors name the views and marts that could not be made. The stored data is complete without them.
	ViewErrors []error
	// Restatements is how many lines spend_change gains.
	Restatements int
}

// RunRecord is the record of a run in the ledger and in schema ops.
type RunRecord struct {
	Run      schema.Run
	Steps    []schema.Step
	Entities []schema.EntityRead
	Refused  []schema.RefusedRow // rows of the report that could not be stored
}

// Prepared is a generation that is built and not published: it lacks the record of its run. No other run
// publishes before it is committed or closed.
type Prepared struct {
	store   *Store
	n       *generationBuilder
	now     time.Time // the time that the preview shows
	preview Preview
	unlock  func() error // nil: it has ended
}

// Prepare builds the next generation from the staged files. The published one stays untouched. It returns
// [durable.ErrLocked] if other accounts' runs hold the store for longer than the wait. The result must be committed or
// closed.
func (g *Staged) Prepare(ctx context.Context, c Contents) (*Prepared, error) {
	unlock, err := g.store.lockStore(ctx)
	if err != nil {
		return nil, err
	}
	p := &Prepared{store: g.store, unlock: unlock}
	if err := p.prepare(ctx, g, c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Prepared) prepare(ctx context.Context, g *Staged, c Contents) (err error) {
	s := p.store
	// A publisher that died may have left its commit to the next.
	if err := s.place().End(); err != nil {
		return err
	}
	base, head, err := g.begin()
	if err != nil {
		return err
	}
	n := &generationBuilder{g: g, base: base, files: &filing{g: g}, repair: c.Repair, fromNothing: c.Repair}
	if n.everyAccount = g.needsEveryAccount(base, head, c.Repair); n.everyAccount {
		if err := base.Load(s.opts.disk, s.dir, base.AccountNames()...); err != nil {
			return err
		}
	}
	change, err := g.contribute(base, n.files, c)
	if err != nil {
		return err
	}
	n.next = manifest.Next(base, head, s.account, change)
	n.acc = n.next.Accounts[s.account]
	if n.updates, err = g.update(base, n.next, n.files); err != nil {
		return err
	}
	p.n = n
	if err := n.upgradeFiles(); err != nil {
		return err
	}
	viewErrors, err := n.buildWarehouse(ctx)
	if err != nil {
		return err
	}
	p.now = s.opts.Now()
	p.preview = Preview{
		Generation: n.next.Generation, Coverage: n.acc.Coverage(s.account, p.now),
		NewlyLost: n.acc.NewlyLost(s.account, p.now), Restatements: g.restatements(), ViewErrors: viewErrors,
	}
	return nil
}

// Preview is what the generation will show.
func (p *Prepared) Preview() Preview { return p.preview }

// Commit adds the run's record and publishes the generation, all or none. After an error the old generation is still
// published, or, if the commit had started, the new one will be as soon as the store is opened again. In both cases
// the preparation has ended.
func (p *Prepared) Commit(ctx context.Context, r RunRecord) (*manifest.Manifest, error) {
	err := p.publish(ctx, r)
	if err != nil && p.n.g.committing {
		err = fmt.Errorf("its commit had begun, and the next start ends it: %w", err)
	}
	if err := errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	p.store.base = p.n.next
	return p.n.next, nil
}

func (p *Prepared) publish(ctx context.Context, r RunRecord) error {
	if err := p.n.addLedger(r, p.now); err != nil {
		return err
	}
	if err := p.n.finishWarehouse(ctx); err != nil {
		return err
	}
	return p.n.commit(ctx)
}

// Close ends the preparation. Staged files remain, and may be prepared again; a committed generation is
// published. Closing again does nothing.
func (p *Prepared) Close() (err error) {
	if p.unlock == nil {
		return nil
	}
	if p.n != nil {
		err = p.n.dropWarehouse()
	}
	if unlockErr := p.unlock(); unlockErr != nil {
		// What is published is published; the lock dies with the process.
		p.store.opts.Log.Warn("the store's lock could not be released", "error", unlockErr)
	}
	p.unlock = nil
	return err
}

// addLedger writes the record of the run. The generation brings a longer ledger file, so the ledger never
// mentions an unpublished generation.
func (n *generationBuilder) addLedger(r RunRecord, now time.Time) error {
	s := n.g.store
	lines, err := manifest.EncodeLedger(manifest.LedgerRows{Runs: []schema.Run{r.Run}, Steps: r.Steps,
		Entities: r.Entities, Refused: r.Refused})
	if err != nil {
		return err
	}
	path := manifest.LedgerPath(s.account, now)
	old, err := n.files.readLedger(path)
	if err != nil {
		return err
	}
	if _, _, err := n.g.store.opts.disk.WriteFile(n.g.area.path(path), slices.Concat(old, lines)); err != nil {
		return err
	}
	n.files.move(path)
	return nil
}

// commit makes the generation durable and published.
func (n *generationBuilder) commit(ctx context.Context) error {
	if err := n.writeManifest(); err != nil {
		return err
	}
	// The last moment to stop: after this the run is published.
	if err := ctx.Err(); err != nil {
		return err
	}
	staging, err := filepath.Rel(n.g.store.dir, n.g.area.dir)
	if err != nil {
		return err
	}
	r := commit.Record{RunID: n.g.area.runID, Generation: n.next.Generation, Staging: staging, Moves: n.files.moves,
		Removes: n.files.removes}
	if n.base != nil {
		r.Base = n.base.Generation
	}
	return n.writeCommit(r)
}

// writeManifest stages the manifest: the account files that differ, and last the root that names
// them. The account files that it no longer names go after the commit.
func (n *generationBuilder) writeManifest() error {
	s := n.g.store
	e, err := n.next.Encode()
	if err != nil {
		return err
	}
	files := maps.Clone(e.Parts)
	files[manifest.FileName] = e.Root
	for _, path := range append(slices.Sorted(maps.Keys(e.Parts)), manifest.FileName) {
		if _, _, err := s.opts.disk.WriteFile(n.g.area.path(path), files[path]); err != nil {
			return err
		}
		n.files.move(path)
	}
	old, err := e.Replaced(s.opts.disk, s.dir)
	n.files.removes = append(n.files.removes, old...)
	return err
}

// writeCommit publishes the staged files, all or none.
func (n *generationBuilder) writeCommit(r commit.Record) error {
	s := n.g.store
	return s.place().Write(r, s.base, func() error {
		if err := n.fence(r); err != nil {
			return err
		}
		n.g.committing = true
		return nil
	})
}

// fence checks at the last moment that the base is still the published generation. While the lock is held it
// is; on a volume that does not honor locks, two runs may have come this far.
func (n *generationBuilder) fence(r commit.Record) error {
	s := n.g.store
	other, err := s.opts.disk.Exists(filepath.Join(s.dir, manifest.CommitName))
	if err != nil {
		return err
	}
	published := int64(0)
	m, err := manifest.ReadRoot(s.opts.disk, s.dir, s.base)
	if err != nil && !errors.Is(err, durable.ErrEmpty) {
		return err
	}
	if err == nil {
		published = m.Generation
	}
	if other || published != r.Base {
		return fmt.Errorf("somebody else published while generation %d was built on %d (is flock honoured on this "+
			"volume?): %w", r.Generation, r.Base, durable.ErrLocked)
	}
	return nil
}
