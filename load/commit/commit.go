// Package commit publishes a generation completely or not at all. A record, the file commit.json, lists the staged
// files with their destinations. Once the record exists, the commit has started. If the process then dies, the next
// process that opens the store finishes the commit.
package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// format is the present version of the format of commit.json.
const format = 2

// Record contains everything that is needed to finish a commit. Paths are below the data directory.
type Record struct {
	Format     int      `json:"format"`
	Checksum   string   `json:"checksum,omitempty"`
	RunID      string   `json:"run_id"`
	Base       int64    `json:"base_generation"`
	Generation int64    `json:"generation"`
	Staging    string   `json:"staging"`
	Moves      []Move   `json:"moves"` // in this order; the manifest comes last
	Removes    []string `json:"removes,omitempty"`
}

// StagedSuffix ends the name of every staged file, so that a glob for *.parquet never matches an incomplete file.
const StagedSuffix = ".staged"

// Move names a staged file and its destination. Paths are below the data directory.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Place is the data directory in which commits are made, with the disk and the log that they use.
type Place struct {
	Dir  string
	Disk durable.Disk
	Log  *slog.Logger
	// Crash is for tests. It is called before every named step; an error ends the commit there, as if the process had
	// died.
	Crash func(step string) error
}

// Write publishes the staged files, all or none. The caller has synced the files and holds the store's lock. The
// manifest is the one of the present generation, or nil. Right before the commit may start, Write calls begin(). If
// that returns nil, the commit may have started even if Write returns an error.
func (p Place) Write(r Record, published *manifest.Manifest, begin func() error) error {
	if err := p.tryMoves(r); err != nil {
		return err
	}
	if err := p.Crash("sync staging"); err != nil {
		return err
	}
	staging := filepath.Join(p.Dir, r.Staging)
	// The record may exist only after everything that it names is durable. The name of the folder staging/ may not be
	// durable yet, because the first run has just created the folder.
	for _, dir := range []string{staging, filepath.Dir(staging), p.Dir} {
		if err := p.Disk.SyncDir(dir); err != nil {
			return err
		}
	}
	r.Format, r.Checksum = format, durable.Unsealed
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	durable.Seal(b)
	draft := filepath.Join(staging, manifest.CommitName+StagedSuffix)
	if _, _, err := p.Disk.WriteFile(draft, b); err != nil {
		return err
	}
	if err := p.Crash("commit record"); err != nil {
		return err
	}
	// The rename may take effect even if it returns an error, so begin() is called before the rename.
	if err := begin(); err != nil {
		return err
	}
	if err := p.Disk.Rename(draft, filepath.Join(p.Dir, manifest.CommitName)); err != nil {
		return durable.Storage(err)
	}
	if err := p.Disk.SyncDir(p.Dir); err != nil {
		return err
	}
	// From here on the run is committed: whatever happens, the next start finishes the commit by the same code.
	return p.end(published)
}

// repairRecord tells the operator how to repair a damaged commit.json. A backup never contains this file, because
// backups are made of published generations.
const repairRecord = "restore the whole data directory from a backup ('spendsync pull --all URL DIR'); if there is " +
	"none, copy it, move commit.json out of it and run 'spendsync verify', which names what to do of each file"

// End finishes the commit that commit.json records, if there is one. It may be interrupted and repeated at any point.
// The caller holds the store's lock.
func (p Place) End() error {
	started, err := p.Disk.Exists(filepath.Join(p.Dir, manifest.CommitName))
	if err != nil || !started {
		return err
	}
	// The writer of the record may have died before it synced the record's name. If a power loss then removed the
	// record after some of the moves, the other moves would be forgotten.
	if err := p.Disk.SyncDir(p.Dir); err != nil {
		return err
	}
	return p.end(nil)
}

// end finishes the commit. The argument is the manifest as the caller last read it, or nil.
func (p Place) end(published *manifest.Manifest) error {
	r, err := Read(p.Disk, p.Dir, published)
	if r == nil || err != nil {
		return err
	}
	if err := asideForeignWAL(p.Disk, p.Dir, p.Log); err != nil {
		return err
	}
	for _, step := range []func(*Record) error{p.move, p.remove, p.forget} {
		if err := step(r); err != nil {
			return err
		}
	}
	return nil
}

// move renames the staged files to their destinations, in order, and makes the new names durable.
func (p Place) move(r *Record) error {
	touched := map[string]bool{}
	for i, m := range r.Moves {
		if i == len(r.Moves)-1 {
			// The manifest comes last. The names of the new files must be durable before the manifest names these
			// files.
			if err := p.Disk.SyncNames(p.Dir, touched); err != nil {
				return err
			}
		}
		if err := p.Crash("move " + m.To); err != nil {
			return err
		}
		if err := moveFile(p.Disk, p.Dir, m); err != nil {
			return err
		}
		touched[filepath.Dir(filepath.Join(p.Dir, m.To))] = true
	}
	if err := p.Crash("manifest moved"); err != nil {
		return err
	}
	if err := p.Disk.SyncDir(p.Dir); err != nil || r.Base > 0 {
		return err
	}
	// The first generation: the data directory itself may be new.
	return p.Disk.SyncAbove(p.Dir)
}

// remove removes the files that the new manifest no longer names.
func (p Place) remove(r *Record) error {
	removed := map[string]bool{}
	for _, path := range r.Removes {
		full := filepath.Join(p.Dir, path)
		if err := p.Disk.RemoveIfThere(full); err != nil {
			return err
		}
		removed[filepath.Dir(full)] = true
	}
	return p.Disk.SyncNames(p.Dir, removed)
}

// forget removes the record, and then the staging area.
func (p Place) forget(r *Record) error {
	if err := p.Crash("remove commit record"); err != nil {
		return err
	}
	if err := p.Disk.RemoveIfThere(filepath.Join(p.Dir, manifest.CommitName)); err != nil {
		return err
	}
	if err := p.Disk.SyncDir(p.Dir); err != nil {
		return err
	}
	if err := p.Crash("remove staging"); err != nil {
		return err
	}
	return p.Disk.RemoveTree(filepath.Join(p.Dir, r.Staging))
}

// moveFile moves one staged file to its destination, unless an earlier attempt has done so. It copies the file if the
// destination is on another file system. [Place.Write] starts no commit in that state, but a started commit must
// finish.
func moveFile(d durable.Disk, dir string, m Move) error {
	from, to := filepath.Join(dir, m.From), filepath.Join(dir, m.To)
	if err := d.MakeDirs(filepath.Dir(to)); err != nil {
		return err
	}
	err := d.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		// The original stays until the commit has ended: the copy's name is not durable yet.
		err = d.CopyInto(from, to)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return durable.Storage(err)
	}
	there, err := d.Exists(to)
	if err != nil {
		return err
	}
	if !there {
		return durable.Damaged(m.To, durable.RepairBackup, "a committed file is neither at %s nor in its place", m.From)
	}
	// An earlier attempt has moved the file.
	return nil
}

// Read reads the record of a commit under way; nil if there is none. A record that does not fit the published
// generation is damage: somebody has restored an older or a newer part of the store.
func Read(d durable.Disk, dir string, published *manifest.Manifest) (*Record, error) {
	b, err := d.ReadFile(filepath.Join(dir, manifest.CommitName), durable.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sealed, err := durable.CheckSeal(b)
	if err != nil {
		return nil, durable.Damaged(manifest.CommitName, repairRecord, "%v", err)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, durable.Damaged(manifest.CommitName, repairRecord, "it is not readable: %v", err)
	}
	if r.Format > format {
		return nil, fmt.Errorf("%s: format %d; this binary knows format %d: %w", manifest.CommitName, r.Format,
			format, durable.ErrNewer)
	}
	if r.Format != format || !sealed {
		return nil, durable.Damaged(manifest.CommitName, repairRecord, "it lacks its format or its checksum")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	m, err := manifest.ReadRoot(d, dir, published)
	switch {
	case errors.Is(err, durable.ErrEmpty), errors.Is(err, durable.ErrDamaged):
		// A missing or damaged manifest is no obstacle, because the commit brings an intact one.
		return &r, nil
	case err != nil:
		return nil, err
	case m.Generation != r.Base && m.Generation != r.Generation:
		return nil, durable.Damaged(manifest.CommitName, repairRecord, "it leads from generation %d to %d, "+
			"and generation %d is published", r.Base, r.Generation, m.Generation)
	}
	return &r, nil
}

// check refuses a record with paths outside of the store: such a record is damaged or was not written by spendsync.
func (r *Record) check() error {
	if len(r.Moves) == 0 || r.Moves[len(r.Moves)-1].To != manifest.FileName {
		return durable.Damaged(manifest.CommitName, repairRecord, "it does not end with the manifest")
	}
	paths := append([]string{r.Staging}, r.Removes...)
	for _, m := range r.Moves {
		paths = append(paths, m.From, m.To)
		if !strings.HasPrefix(m.From, r.Staging+"/") {
			return durable.Damaged(manifest.CommitName, repairRecord, "%q is not in the staging area", m.From)
		}
	}
	for _, p := range paths {
		if manifest.LeadsOut(p) {
			return durable.Damaged(manifest.CommitName, repairRecord, "%q leads out of the store", p)
		}
	}
	if !strings.HasPrefix(r.Staging, "staging/") {
		return durable.Damaged(manifest.CommitName, repairRecord, "%q is not a staging area", r.Staging)
	}
	return nil
}

// asideForeignWAL moves a write-ahead log of the published DuckDB file out of the way. A person who opened the file for
// writing has left the log, and DuckDB would replay it into the next generation.
func asideForeignWAL(d durable.Disk, dir string, log *slog.Logger) error {
	wal := filepath.Join(dir, manifest.WarehouseName+".wal")
	if there, err := d.Exists(wal); !there || err != nil {
		return err
	}
	aside := fmt.Sprintf("%s.aside-%s", wal, time.Now().UTC().Format("20060102T150405.000000000"))
	log.Warn("somebody opened warehouse.duckdb for writing and left a write-ahead log; it is moved aside and "+
		"not replayed",
		"from", filepath.Base(wal), "to", filepath.Base(aside))
	if err := d.Rename(wal, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Storage(err)
	}
	return d.SyncDir(dir)
}
