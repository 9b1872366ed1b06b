package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// commitName is the record of a commit under way. While it exists, the run that
// it names is committed and its files are on their way to their places.
const commitName = "commit.json"

// commitRecord is all that is needed to finish a commit. Paths are below the data
// directory.
type commitRecord struct {
	Format     int      `json:"format"`
	RunID      string   `json:"run_id"`
	Base       int64    `json:"base_generation"`
	Generation int64    `json:"generation"`
	Staging    string   `json:"staging"`
	Moves      []move   `json:"moves"` // in this order; the manifest is the last
	Removes    []string `json:"removes,omitempty"`
}

type move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// commit publishes what is staged, all or none. The files are durable already.
// The store's lock is held.
func (g *Staged) commit(r commitRecord) error {
	s := g.store
	if err := s.opts.crash("sync staging"); err != nil {
		return err
	}
	if err := syncDir(g.dir); err != nil {
		return err
	}
	if err := syncDir(filepath.Join(s.dir, "staging")); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	draft := filepath.Join(g.dir, commitName+stagedSuffix)
	if _, _, err := writeStaged(draft, b); err != nil {
		return err
	}
	if err := s.opts.crash("commit record"); err != nil {
		return err
	}
	// Whether or not the rename reports success, it may have happened.
	g.committing = true
	if err := os.Rename(draft, filepath.Join(s.dir, commitName)); err != nil {
		return storage(err)
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	// From here on the run is committed: whatever happens, the next start rolls
	// forward by the same code.
	return rollForwardStep(s.dir, s.opts.Log, s.opts.crash)
}

// rollForward finishes the commit that commit.json records, if there is one. It
// may be interrupted and repeated at any point. The store's lock is held.
func rollForward(dir string, log *slog.Logger) error {
	return rollForwardStep(dir, log, func(string) error { return nil })
}

func rollForwardStep(dir string, log *slog.Logger, crash func(string) error) error {
	record := filepath.Join(dir, commitName)
	b, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storage(err)
	}
	var r commitRecord
	if err := json.Unmarshal(b, &r); err != nil || r.Format != 1 {
		return damaged(commitName, "", "format %d is not readable: %v", r.Format, err)
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := asideForeignWAL(dir, log); err != nil {
		return err
	}
	touched := map[string]bool{}
	for i, m := range r.Moves {
		if i == len(r.Moves)-1 {
			// The manifest comes last: before it names the new files, their names
			// must survive a power cut.
			if err := syncDirs(touched); err != nil {
				return err
			}
		}
		if err := crash("move " + m.To); err != nil {
			return err
		}
		to := filepath.Join(dir, m.To)
		if err := m.do(dir, to); err != nil {
			return err
		}
		touched[filepath.Dir(to)] = true
	}
	if err := crash("manifest moved"); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	for _, path := range r.Removes {
		if err := removeIfThere(filepath.Join(dir, path)); err != nil {
			return err
		}
	}
	if err := crash("remove commit record"); err != nil {
		return err
	}
	if err := removeIfThere(record); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	if err := crash("remove staging"); err != nil {
		return err
	}
	return storage(os.RemoveAll(filepath.Join(dir, r.Staging)))
}

// do moves one file to its place, or finds that it is there already.
func (m move) do(dir, to string) error {
	if err := makeDirs(dir, filepath.Dir(to)); err != nil {
		return err
	}
	err := os.Rename(filepath.Join(dir, m.From), to)
	if errors.Is(err, fs.ErrNotExist) && exists(to) {
		// An earlier start got this far before it died.
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(m.To, "restore the data directory from a backup", "a committed file is neither at %s nor in its place", m.From)
	}
	return storage(err)
}

// check refuses a record that would reach outside the store: somebody else wrote
// it, or it is damaged.
func (r *commitRecord) check() error {
	if len(r.Moves) == 0 || r.Moves[len(r.Moves)-1].To != manifestName {
		return damaged(commitName, "", "it does not end with the manifest")
	}
	paths := append([]string{r.Staging}, r.Removes...)
	for _, m := range r.Moves {
		paths = append(paths, m.From, m.To)
		if !strings.HasPrefix(m.From, r.Staging+"/") {
			return damaged(commitName, "", "%q is not in the staging area", m.From)
		}
	}
	for _, p := range paths {
		if !filepath.IsLocal(p) || p == "." {
			return damaged(commitName, "", "%q leads out of the store", p)
		}
	}
	if !strings.HasPrefix(r.Staging, "staging/") {
		return damaged(commitName, "", "%q is no staging area", r.Staging)
	}
	return nil
}

func syncDirs(dirs map[string]bool) error {
	for d := range dirs {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// asideForeignWAL moves away a write-ahead log that somebody left who opened the
// published file for writing: DuckDB would replay it into the next generation.
func asideForeignWAL(dir string, log *slog.Logger) error {
	wal := filepath.Join(dir, warehouseName+".wal")
	if !exists(wal) {
		return nil
	}
	aside := fmt.Sprintf("%s.aside-%s", wal, time.Now().UTC().Format("20060102T150405.000000000"))
	log.Warn("somebody opened warehouse.duckdb for writing and left a write-ahead log; it is moved aside and not replayed",
		"from", filepath.Base(wal), "to", filepath.Base(aside))
	if err := os.Rename(wal, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storage(err)
	}
	return syncDir(dir)
}
