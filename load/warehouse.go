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
	"strings"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// addWarehouse builds the DuckDB file of the generation, verifies it, and adds it
// to the manifest. It carries the published file forward where that is what was
// published, and builds one from nothing where it is not, or where fresh is set.
func (n *generation) addWarehouse(ctx context.Context, p Publication) error {
	s := n.g.store
	path := n.g.staged(duck.FileName)
	fresh := p.Fresh || n.rebuild
	if !fresh {
		carried, err := n.carryForward(ctx, path)
		if err != nil {
			return err
		}
		fresh = !carried
	}
	loads := n.loads
	check := warehouseCheck{manifest: n.next, changed: map[string]map[schema.Date]bool{s.account: n.changed}}
	if fresh {
		if err := s.opts.disk.RemoveIfThere(path); err != nil {
			return err
		}
		var err error
		if loads, err = n.allLoads(); err != nil {
			return err
		}
		check.changed = nil
	}
	if err := s.opts.crash("build warehouse"); err != nil {
		return err
	}
	coverage, err := n.coverageLoad()
	if err != nil {
		return err
	}
	definition := s.opts.DuckDB.ViewsDefinition()
	n.newViews = n.base == nil || n.base.Views != definition
	n.next.Views = definition
	views := s.opts.DuckDB.Views
	if !fresh && !n.newViews {
		views = nil // the file has them
	}
	loaded := false
	afterViews := func(w *duck.Warehouse, viewErrors []error) ([]duck.Load, error) {
		loaded = true
		more, err := n.addMarts(ctx, w, p.Fresh)
		if err != nil {
			return nil, err
		}
		if viewErrors = append(viewErrors, more...); len(viewErrors) > 0 {
			n.next.Views = "" // the next run tries again
		}
		if err := n.addLedger(p, viewErrors); err != nil {
			return nil, err
		}
		return n.opsLoads(fresh)
	}
	o := s.opts.DuckDB
	if n.fullMemory {
		o.MemoryLimits = nil
	}
	if n.isSmall() || !fresh && len(n.changed) == 0 {
		o.Threads = 1
	} else {
		// What reading the days took goes back to the system before DuckDB takes its
		// share: a pod's limit counts both.
		debug.FreeOSMemory()
		defer debug.SetGCPercent(debug.SetGCPercent(25)) // there is little to look through now
	}
	proven := func(w *duck.Warehouse) error {
		if err := checkFile(ctx, w, check); err != nil {
			return fmt.Errorf("the new warehouse.duckdb is not published: %w", err)
		}
		return nil
	}
	err = duck.Build(ctx, path, fresh, append(loads, coverage), views, o, afterViews, proven)
	if errors.Is(err, duck.ErrOtherRows) && !fresh {
		s.opts.Log.Warn("warehouse.duckdb has not the rows that were published; it is built again from Parquet",
			"error", err)
		n.rebuild = true
		return n.addWarehouse(ctx, p)
	}
	if duck.IsOutOfMemory(err) && !loaded && !n.fullMemory {
		// A COMMIT that had too little memory may have left an engine that does nothing more.
		n.fullMemory = true
		return errors.Join(s.opts.disk.RemoveIfThere(path+".wal"), n.addWarehouse(ctx, p))
	}
	if err != nil {
		return err
	}
	sha, size, err := s.opts.disk.HashFile(path)
	if err != nil {
		return err
	}
	if err := s.opts.disk.Chmod(path, 0o444); err != nil {
		return durable.Storage(err)
	}
	w := &n.next.Warehouse
	w.Path, w.SHA256, w.Bytes = duck.FileName, sha, size
	if fresh {
		w.BuiltBytes, w.BuiltRows = size, n.next.rows()
	}
	n.moveStaged(duck.FileName)
	return nil
}

// smallRows is how many rows one processor goes through faster than several that
// wait for each other.
const smallRows = 100_000

// isSmall says whether the generation has so few rows that one processor is best,
// as it is where no day has changed.
func (n *generation) isSmall() bool { return n.next.rows() < smallRows }

// carryForward copies the published DuckDB file into the staging area. It
// reports false where there is none to build on: no file, one that is not what
// was published, one of an older schema, or one that has grown too much.
func (n *generation) carryForward(ctx context.Context, path string) (bool, error) {
	s := n.g.store
	if n.base == nil {
		return false, nil
	}
	published := filepath.Join(s.dir, duck.FileName)
	if n.base.SchemaVersion != schema.Version || grownTooMuch(n.base, n.dead) {
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

// bloat is how much larger than a fresh one the DuckDB file may grow before it
// is built from nothing: days that were replaced leave dead space behind.
const (
	bloat         = 1.8
	bloatFreeSize = 64 << 20
)

// grownTooMuch compares the published file with one built from nothing, once so many
// of its rows are dead.
func grownTooMuch(m *Manifest, dead int64) bool {
	w := m.Warehouse
	if w.BuiltRows == 0 {
		return false
	}
	row := float64(w.BuiltBytes) / float64(w.BuiltRows)
	will := float64(w.Bytes) + row*float64(dead)
	return will >= bloatFreeSize && will > bloat*row*float64(m.rows())
}

// allLoads fill an empty DuckDB file with every file of the generation. A file
// that is not what was published is refused: DuckDB would read many damaged
// files without an error.
func (n *generation) allLoads() ([]duck.Load, error) {
	files := map[string][]string{}
	for _, name := range n.next.AccountNames() {
		a := n.next.Accounts[name]
		for path, f := range a.Files {
			if f.Kind != KindParquet {
				continue
			}
			if isMart(f.Table) {
				continue // made from the views
			}
			if h := versionedTable(f.Table); h != nil {
				private, err := h.confirm(n, name, a)
				if err != nil {
					return nil, err
				}
				files[f.Table] = append(files[f.Table], private...)
				continue
			}
			full := filepath.Join(n.g.store.dir, path)
			if n.isStaged(path) {
				full = n.g.staged(path)
			} else if d := checkBytes(n.g.store.opts.disk, n.g.store.dir, path, f); d != nil {
				return nil, d
			}
			files[f.Table] = append(files[f.Table], full)
		}
	}
	var loads []duck.Load
	for _, t := range schema.Tables {
		if t.HasFiles() {
			loads = append(loads, duck.Replace{Table: t, Files: files[t.Name]})
		}
	}
	return append(loads, duck.CampaignSums("true")), nil
}

// coverageLoad makes ops.day_coverage, which the views ask, of all accounts.
func (n *generation) coverageLoad() (duck.Load, error) {
	var coverage []schema.DayCoverage
	for _, name := range n.next.AccountNames() {
		coverage = append(coverage, n.next.Accounts[name].Coverage(name, n.g.store.opts.Now())...)
	}
	return stageOps(n.g, schema.Coverage, coverage, "true")
}

// opsLoads make the rest of schema ops from the manifest and the ledger. Small tables are
// replaced, that of the files where one is another; runs, steps and unreadable entities
// are appended, or all read again for a fresh file.
func (n *generation) opsLoads(fresh bool) ([]duck.Load, error) {
	s := n.g.store
	var files []schema.File
	var unknown []schema.UnknownField
	var ledger ledgerRows
	for _, name := range n.next.AccountNames() {
		a := n.next.Accounts[name]
		for path, f := range a.Files {
			files = append(files, fileRow(name, path, f))
		}
		unknown = append(unknown, a.Unknown...)
		if fresh || name == s.account {
			if err := n.readLedgers(name, a, fresh, &ledger); err != nil {
				return nil, err
			}
		}
	}
	var loads []duck.Load
	var errs []error
	add := func(l duck.Replace, err error) { loads, errs = append(loads, l), append(errs, err) }
	if fresh || !n.sameFiles() {
		add(stageOps(n.g, schema.Files, files, "true"))
	}
	add(stageOps(n.g, schema.UnknownFields, unknown, "true"))
	// A run that publishes twice has two lines; the later one counts.
	add(stageOps(n.g, schema.Runs, lastOfEachRun(ledger.runs), runsSQL(ledger.runs)))
	add(stageOps(n.g, schema.Steps, ledger.steps, ""))
	add(stageOps(n.g, schema.EntityReads, ledger.entities, ""))
	add(stageOps(n.g, schema.RefusedRows, ledger.refused, ""))
	return loads, errors.Join(errs...)
}

// sameFiles says that the generation has the files of the one that it is built on.
func (n *generation) sameFiles() bool {
	return n.base != nil && maps.EqualFunc(n.base.Accounts, n.next.Accounts, func(a, b *Account) bool {
		return maps.EqualFunc(a.Files, b.Files, func(f, g *FileInfo) bool { return *f == *g })
	})
}

// readLedgers collects the lines that the DuckDB file does not hold yet, and
// notes in the manifest that it will. Of other accounts only what is published
// already is read: the rest is theirs to publish.
func (n *generation) readLedgers(account string, a *Account, fresh bool, into *ledgerRows) error {
	s := n.g.store
	own := account == s.account
	paths := slices.Collect(maps.Keys(a.Ledger))
	if own {
		var err error
		if paths, err = n.ownLedgers(paths); err != nil {
			return err
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		dir, rel := n.whereIs(path)
		b, err := readLedger(s.opts.disk, dir, rel)
		if err != nil {
			return err
		}
		from, end := a.Ledger[path], int64(len(b))
		if err := checkLedger(path, b, from, a.LedgerSHA256[path]); err != nil {
			return err
		}
		if own {
			a.Ledger[path], a.LedgerSHA256[path] = end, hashLedger(b)
		} else {
			end = from
		}
		if fresh {
			from = 0
		}
		rows, err := decodeLedger(path, b[from:end])
		if err != nil {
			return err
		}
		into.runs = append(into.runs, rows.runs...)
		into.steps = append(into.steps, rows.steps...)
		into.entities = append(into.entities, rows.entities...)
		into.refused = append(into.refused, rows.refused...)
	}
	return nil
}

// ownLedgers adds the files that failed runs have begun since, and the one that
// this run has staged.
func (n *generation) ownLedgers(paths []string) ([]string, error) {
	s := n.g.store
	found, err := ledgerFiles(s.opts.disk, s.dir, s.account)
	if err != nil {
		return nil, err
	}
	for _, m := range n.moves {
		if strings.HasPrefix(m.To, "ledger/account="+s.account+"/") {
			found = append(found, m.To)
		}
	}
	for _, f := range found {
		if !slices.Contains(paths, f) {
			paths = append(paths, f)
		}
	}
	return paths, nil
}

// lastOfEachRun drops the lines that a run has replaced by a later one.
func lastOfEachRun(runs []schema.Run) []schema.Run {
	last := map[[2]string]int{}
	for i, r := range runs {
		last[[2]string{r.AccountID, r.RunID}] = i
	}
	var kept []schema.Run
	for i, r := range runs {
		if last[[2]string{r.AccountID, r.RunID}] == i {
			kept = append(kept, r)
		}
	}
	return kept
}

// runsSQL is the condition for runs, by their identity.
func runsSQL(runs []schema.Run) string {
	if len(runs) == 0 {
		return ""
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, schema.QuoteText(r.RunID))
	}
	return schema.Quote("_run_id") + " IN (" + strings.Join(ids, ", ") + ")"
}

func fileRow(account, path string, f *FileInfo) schema.File {
	row := schema.File{AccountID: account, Path: path, Kind: f.Kind, Rows: f.Rows, Bytes: f.Bytes, SHA256: f.SHA256,
		RunID: f.RunID}
	if f.Table != "" {
		row.TableName = schema.Some(f.Table)
	}
	return row
}

// stageOps writes rows of schema ops as a private Parquet file, since that is the
// one way into DuckDB.
func stageOps[R any](g *Staged, t schema.TableOf[R], rows []R, where string) (duck.Replace, error) {
	l := duck.Replace{Table: t.Table, Where: where}
	if len(rows) == 0 {
		return l, nil
	}
	path := "ops/" + t.Name
	if _, err := g.putPart(path, t.Table, parquet.Record(t, rows)); err != nil {
		return l, err
	}
	l.Files = []string{g.staged(path)}
	return l, nil
}
