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

// Preview describes a generation before it is published. The caller uses it to make the record of the run and to decide
// the run's exit code.
type Preview struct {
	Generation int64
	Coverage   []schema.DayCoverage // of this account
	// NewlyLost are the lost days that no earlier run has reported. A day is lost if the service can no longer report
	// it in full.
	NewlyLost []schema.Date
	// Notes are all notes of this account, accepted or not. A note is about a difference between the stored data and
	// what the service states, see [manifest.Note].
	Notes []manifest.Note
	// ViewErrors are the errors of models that could not be made. The stored data is complete nevertheless.
	ViewErrors []error
	// Restatements is the number of new lines in spend_change.
	Restatements int
}

// RunRecord is the record of a run in the ledger and in schema ops.
type RunRecord struct {
	Run   schema.Run
	Steps []schema.Step
	// ReportedLost are the lost days that the run reports by its exit code. They are part of the generation, so that no
	// later run reports them again, whether it runs in this folder or in one that was filled from a bucket. If the
	// process is killed between the publication and its exit, the caller sees the kill and not the exit code. The days
	// are then only lost in the coverage, and the record of the run has its exit code.
	ReportedLost []schema.Date
}

// Publication is the argument of [Store.Publish]: the changes of a run, and the area with the files of these changes.
type Publication struct {
	Area    *Area
	Changes []StagedChange
	// Repair rebuilds everything that is derived: the DuckDB file, the marts and the copies.
	Repair bool
	// Record returns the record of the run, given a preview of the generation.
	Record func(Preview) RunRecord
}

// Publish builds the next generation with the changes, and publishes all of it or nothing. The published generation is
// untouched until the commit. Publish returns [durable.ErrLocked] if runs of other accounts hold the store's lock for
// longer than Options.LockWait.
//
// After an error the old generation is still published, and the changes may be published again. The exception is an
// error after the commit has started: then the next start of any run publishes the new generation.
func (s *Store) Publish(ctx context.Context, p Publication) (_ *manifest.Manifest, err error) {
	err = s.whileLocked(ctx, func() (err error) {
		n, err := begin(s, p)
		if err != nil {
			return err
		}
		w := &warehouse{generation: n, fromNothing: p.Repair}
		defer func() { err = errors.Join(err, w.drop()) }()
		if w.updates, err = n.updates(); err != nil {
			return err
		}
		viewErrors, err := w.build(ctx)
		if err != nil {
			return err
		}
		now := s.opts.Now()
		record := p.Record(n.preview(now, viewErrors))
		n.next.Accounts[s.account].AddReportedLost(record.ReportedLost)
		if err := n.addLedger(record, now); err != nil {
			return err
		}
		if err := w.finish(ctx); err != nil {
			return err
		}
		return n.commit(ctx)
	})
	if err != nil {
		return nil, err
	}
	return s.base, nil
}

// begin creates the next generation from the published one and the changes of the run.
func begin(s *Store, p Publication) (*generation, error) {
	n, err := newGeneration(s, p.Area, p.Repair)
	if err != nil {
		return nil, err
	}
	n.repair = p.Repair
	n.adopt(p.Changes)
	var changes []manifest.Change
	for _, c := range p.Changes {
		changes = append(changes, c.Change)
	}
	n.next = manifest.Next(n.base, n.head, s.account, changes...)
	return n, errors.Join(n.addLines(), n.addCalendar(), n.readLedgers(), upgrader{n}.upgrade())
}

// preview describes the generation for [Publication.Record]. The given time decides the state of each day.
func (n *generation) preview(now time.Time, viewErrors []error) Preview {
	account := n.store.account
	a := n.next.Accounts[account]
	return Preview{Generation: n.next.Generation, Coverage: a.Coverage(account, now),
		NewlyLost: a.NewlyLost(account, now), Notes: a.Notes, Restatements: n.restatements(), ViewErrors: viewErrors}
}

// commit makes the generation durable and published.
func (n *generation) commit(ctx context.Context) error {
	if err := n.writeManifest(); err != nil {
		return err
	}
	// After this check the run can no longer be stopped.
	if err := ctx.Err(); err != nil {
		return err
	}
	staging, err := filepath.Rel(n.store.dir, n.area.dir)
	if err != nil {
		return err
	}
	r := commit.Record{RunID: n.area.runID, Generation: n.next.Generation, Staging: staging, Moves: n.files.moves,
		Removes: n.files.removes}
	if n.base != nil {
		r.Base = n.base.Generation
	}
	if err := n.writeCommit(r); err != nil {
		if n.area.committing {
			err = fmt.Errorf("its commit had begun, and the next start ends it: %w", err)
		}
		return err
	}
	n.store.base = n.next
	return nil
}

// writeManifest stages the manifest: first the new account files, then manifest.json, which names them. The commit
// removes the account files that they replace.
func (n *generation) writeManifest() error {
	s := n.store
	e, err := n.next.Encode()
	if err != nil {
		return err
	}
	files := maps.Clone(e.AccountFiles)
	files[manifest.FileName] = e.Root
	for _, path := range append(slices.Sorted(maps.Keys(e.AccountFiles)), manifest.FileName) {
		if _, _, err := s.opts.disk.WriteFile(n.area.path(path), files[path]); err != nil {
			return err
		}
		n.files.move(path)
	}
	old, err := e.Replaced(s.opts.disk, s.dir)
	n.files.removes = append(n.files.removes, old...)
	return err
}

// writeCommit publishes the staged files.
func (n *generation) writeCommit(r commit.Record) error {
	s := n.store
	return s.place().Write(r, s.base, func() error {
		if err := n.fence(r); err != nil {
			return err
		}
		n.area.committing = true
		return nil
	})
}

// fence checks right before the commit that the base is still the published generation. The store's lock ensures this,
// except on a volume that does not honor locks.
func (n *generation) fence(r commit.Record) error {
	s := n.store
	committing, err := s.opts.disk.Exists(filepath.Join(s.dir, manifest.CommitName))
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
	if committing || published != r.Base {
		return fmt.Errorf("somebody else published while generation %d was built on %d (is flock honoured on this "+
			"volume?): %w", r.Generation, r.Base, durable.ErrLocked)
	}
	return nil
}
