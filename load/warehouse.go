package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// warehouse is the DuckDB file of the generation that is being built.
type warehouse struct {
	*generation
	updates // changes that turn the base's DuckDB file into this file

	w           *duck.Warehouse // the open file; nil after it is built
	fromNothing bool            // whether a new file is built; otherwise a copy of the base's file is updated
	fullMemory  bool            // whether DuckDB starts with its full memory limit
	newViews    bool            // whether the models differ from the models of the base
	restoreGC   func()          // restores the usual garbage collection; nil if that is in use
}

// build builds the DuckDB file and its models; [warehouse.finish] adds the record of the run. If the published file is
// intact, build updates a copy of that file. Otherwise it builds a new file.
func (n *warehouse) build(ctx context.Context) (viewErrors []error, err error) {
	for {
		err := n.open(ctx)
		switch {
		case duck.IsOutOfMemory(err) && !n.fullMemory:
			// After a COMMIT that ran out of memory the engine may be unusable, so start a new engine.
			n.fullMemory = true
			if err := n.store.opts.disk.RemoveIfThere(n.area.path(duck.FileName) + ".wal"); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		break
	}
	return n.makeModels(ctx)
}

// open opens the DuckDB file with the rows of the generation.
func (n *warehouse) open(ctx context.Context) error {
	s := n.store
	path := n.area.path(duck.FileName)
	if !n.fromNothing {
		carried, err := n.carryForward(ctx, path)
		if err != nil {
			return err
		}
		n.fromNothing = !carried
	}
	loads := n.loads
	if n.fromNothing {
		if err := errors.Join(n.refuseNewerDuckDB(ctx), s.opts.disk.RemoveIfThere(path), n.loadAll()); err != nil {
			return err
		}
		var err error
		if loads, err = n.allLoads(); err != nil {
			return err
		}
	}
	if err := s.opts.crash("build warehouse"); err != nil {
		return err
	}
	coverage, err := n.coverageLoad()
	if err != nil {
		return err
	}
	n.newViews = n.base == nil || n.base.Views != s.opts.DuckDB.ViewsDefinition()
	loads = append(loads, coverage)
	if n.fromNothing {
		ledger, err := n.ledgerLoads()
		if err != nil {
			return err
		}
		loads = append(loads, ledger...)
	}
	n.w, err = duck.Build(ctx, path, n.fromNothing, loads, n.engine())
	return err
}

// engine returns the options of the engine that builds the file.
func (n *warehouse) engine() duck.Options {
	o := n.store.opts.DuckDB
	if n.fullMemory {
		o.FirstMemory = ""
	}
	// DuckDB's threads wait for each other in busy loops. With two threads, a build of 645,000 rows takes 40 % more CPU
	// time, and a build of three million rows takes a sixth more.
	o.Threads = 1
	if n.versions < smallRows/10 && (n.next.Rows() < smallRows || !n.fromNothing && len(n.changed) == 0) {
		return o
	}
	// Return freed memory to the system before DuckDB allocates its own, because a pod's limit counts both. Without
	// this call and the stricter garbage collection, a first load of three million rows takes 424 MiB instead of 280 to
	// 310.
	debug.FreeOSMemory()
	if n.restoreGC == nil { // frequent collection is cheap: few objects are live now
		percent := debug.SetGCPercent(25)
		n.restoreGC = func() { debug.SetGCPercent(percent) }
	}
	return o
}

// finish adds schema ops to the DuckDB file, closes and checks the file, and adds it to the manifest.
func (n *warehouse) finish(ctx context.Context) error {
	s := n.store
	ops, err := n.opsLoads()
	if err != nil {
		return err
	}
	if err := n.w.Load(ctx, ops); err != nil {
		return err
	}
	if err := n.w.Finish(ctx); err != nil {
		return err
	}
	check := warehouseCheck{manifest: n.next}
	if !n.fromNothing {
		check.changed = map[string]map[schema.Date]bool{s.account: n.changed}
	}
	if err := check.file(ctx, n.w); err != nil {
		return fmt.Errorf("the new warehouse.duckdb is not published: %w", err)
	}
	if err := n.addAccountFiles(ctx); err != nil {
		return err
	}
	if err := n.drop(); err != nil {
		return err
	}
	path := n.area.path(duck.FileName)
	sha, size, err := s.opts.disk.HashFile(path)
	if err != nil {
		return err
	}
	if err := s.opts.disk.Chmod(path, 0o444); err != nil {
		return durable.Storage(err)
	}
	w := &n.next.Warehouse
	w.Path, w.SHA256, w.Bytes = duck.FileName, sha, size
	if n.fromNothing {
		w.BuiltBytes, w.BuiltRows = size, n.next.Rows()
	}
	n.files.move(duck.FileName)
	return nil
}

// drop stops the engine, if it is running.
func (n *warehouse) drop() (err error) {
	if n.w != nil {
		err = n.w.Stop(nil)
		n.w = nil
	}
	if n.restoreGC != nil {
		n.restoreGC()
		n.restoreGC = nil
	}
	return err
}

// smallRows is a number of rows. If DuckDB handles fewer rows than that, this process need not first return freed
// memory to the system.
const smallRows = 100_000

// carryForward copies the published DuckDB file into the staging area. It returns false if the file is missing, differs
// from what was published, or has an older schema. It also returns false if replaced rows have left too much dead space
// in the file.
func (n *warehouse) carryForward(ctx context.Context, path string) (bool, error) {
	s := n.store
	if n.base == nil {
		return false, nil
	}
	published := filepath.Join(s.dir, duck.FileName)
	if n.base.SchemaVersion != schema.Version || n.base.GrownTooMuch(n.dead) {
		s.opts.Log.Info("building warehouse.duckdb from nothing", "schema", n.base.SchemaVersion, "bytes",
			n.base.Warehouse.Bytes)
		return false, nil
	}
	sha, _, err := s.opts.disk.CopyFile(ctx, published, path)
	if err != nil || sha != n.base.Warehouse.SHA256 {
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		s.opts.Log.Warn("warehouse.duckdb is not the file that was published; it is built again from Parquet",
			"missing", err != nil)
		return false, nil
	}
	return true, nil
}

// refuseNewerDuckDB refuses to replace the DuckDB file of a later generation: it may be the only remaining part of that
// generation.
func (n *warehouse) refuseNewerDuckDB(ctx context.Context) error {
	s := n.store
	sha, _, err := s.opts.disk.HashFile(filepath.Join(s.dir, duck.FileName))
	if n.base == nil || errors.Is(err, os.ErrNotExist) || err == nil && sha == n.base.Warehouse.SHA256 {
		return nil
	}
	if err != nil {
		return err
	}
	newer, err := newerDuckDB(ctx, n.base, s.dir, s.opts.DuckDB)
	if err != nil || newer.Path == "" {
		return err
	}
	return refusal(n.base.SetBack(newer))
}

// allLoads returns the loads that fill an empty DuckDB file with all files of the generation. It checks the bytes of
// each file first, because DuckDB reads many damaged files without an error. The error names every damaged file.
func (n *warehouse) allLoads() ([]duck.ReplacePartition, error) {
	files := map[string][]string{}
	var damages []error
	for _, name := range n.next.AccountNames() {
		a := n.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Files)) {
			f := a.Files[path]
			if f.Kind != manifest.KindParquet {
				continue
			}
			if f.IsMart() {
				continue // made from the views
			}
			full := filepath.Join(n.store.dir, path)
			if n.files.isStaged(path) {
				full = n.area.path(path)
			} else if err := manifest.CheckBytes(n.store.opts.disk, n.store.dir, path, f); err != nil {
				if !errors.Is(err, durable.ErrDamaged) {
					return nil, err
				}
				damages = append(damages, err)
			}
			files[f.Table] = append(files[f.Table], full)
		}
	}
	if len(damages) > 0 {
		return nil, errors.Join(damages...)
	}
	var loads []duck.ReplacePartition
	for _, t := range schema.Tables {
		if t.HasFiles() {
			loads = append(loads, duck.ReplacePartition{Table: t, Files: files[t.Name]})
		}
	}
	return append(loads, duck.CampaignSums("true")), nil
}
