package load

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// coverageLoad makes ops.day_coverage, which the views use.
func (n *warehouse) coverageLoad() (duck.ReplacePartition, error) {
	var coverage []schema.DayCoverage
	for _, name := range n.accounts() {
		coverage = append(coverage, n.next.Coverage(name)...)
	}
	return stageOps(n.area, schema.Coverage, coverage, n.whoseRows())
}

// opsLoads makes the rest of schema ops from the manifest and the ledger. Changed files are replaced; runs,
// steps and unreadable entities are appended, or all read again for a file that is built from nothing.
func (n *warehouse) opsLoads() ([]duck.ReplacePartition, error) {
	var unknown []schema.UnknownField
	var notes []schema.Note
	var ledger manifest.LedgerRows
	for _, name := range n.accounts() {
		a := n.next.Accounts[name]
		unknown, notes = append(unknown, a.Unknown...), append(notes, noteRows(name, a.Notes)...)
		if n.fromNothing || name == n.store.account {
			if err := n.readLedgers(name, a, &ledger); err != nil {
				return nil, err
			}
		}
	}
	// A run that publishes twice has two lines; the later one counts.
	runs := lastOfEachRun(ledger.Runs)
	if err := (&derived{n}).addCopies(runs); err != nil {
		return nil, err
	}
	var loads []duck.ReplacePartition
	var errs []error
	add := func(l duck.ReplacePartition, err error) { loads, errs = append(loads, l), append(errs, err) }
	add(n.filesLoad())
	add(stageOps(n.area, schema.UnknownFields, unknown, n.whoseRows()))
	add(stageOps(n.area, schema.Notes, notes, n.whoseRows()))
	add(stageOps(n.area, schema.Runs, runs, runsSQL(runs)))
	add(stageOps(n.area, schema.Steps, ledger.Steps, ""))
	add(stageOps(n.area, schema.EntityReads, ledger.Entities, ""))
	add(stageOps(n.area, schema.RefusedRows, ledger.Refused, ""))
	return loads, errors.Join(errs...)
}

// filesLoad makes ops.file of the files that differ from those of the base.
func (n *warehouse) filesLoad() (duck.ReplacePartition, error) {
	var files []schema.File
	var differ []string
	for name, a := range n.next.Accounts {
		var was map[string]*manifest.File
		if !n.fromNothing && n.base.Accounts[name] != nil {
			was = n.base.Accounts[name].Files
		}
		for path, f := range a.Files {
			if was[path] == nil || *was[path] != *f {
				files, differ = append(files, fileRow(name, path, f)), append(differ, schema.QuoteText(path))
			}
		}
		for path := range was {
			if a.Files[path] == nil {
				differ = append(differ, schema.QuoteText(path))
			}
		}
	}
	where := ""
	if len(differ) > 0 {
		where = "path IN (" + strings.Join(differ, ", ") + ")"
	}
	return stageOps(n.area, schema.Files, files, where)
}

// readLedgers collects the lines that the DuckDB file does not hold yet, and records in the manifest that it will. For
// other accounts it reads only published lines: they publish the rest themselves.
func (n *warehouse) readLedgers(account string, a *manifest.Account, into *manifest.LedgerRows) error {
	s := n.store
	own := account == s.account
	paths := slices.Collect(maps.Keys(a.Ledger))
	if own {
		var err error
		if paths, err = ownLedgers(n.files, paths); err != nil {
			return err
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		b, err := n.files.readLedger(path)
		if err != nil {
			return err
		}
		from, end := a.Ledger[path], int64(len(b))
		if err := manifest.CheckLedger(path, b, from, a.LedgerSHA256[path]); err != nil {
			return err
		}
		if own {
			a.Ledger[path], a.LedgerSHA256[path] = end, manifest.HashLedger(b)
		} else {
			end = from
		}
		if n.fromNothing {
			from = 0
		}
		rows, err := manifest.DecodeLedger(path, b[from:end])
		if err != nil {
			return err
		}
		into.Runs = append(into.Runs, rows.Runs...)
		into.Steps = append(into.Steps, rows.Steps...)
		into.Entities = append(into.Entities, rows.Entities...)
		into.Refused = append(into.Refused, rows.Refused...)
	}
	return nil
}

// ownLedgers adds the ledger files that failed runs have started since, and the staged one of this run.
func ownLedgers(files *filing, paths []string) ([]string, error) {
	s := files.store
	found, err := manifest.LedgerFiles(s.opts.disk, s.dir, s.account)
	if err != nil {
		return nil, err
	}
	for _, m := range files.moves {
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

func noteRows(account string, notes []manifest.Note) (rows []schema.Note) {
	for _, n := range notes {
		rows = append(rows, schema.Note{AccountID: account, Name: n.Name, IsStanding: n.Stands(),
			Decision: schema.Null[string]{V: n.Decision, Valid: n.Decision != ""}, Runs: n.Runs,
			FirstSeenAt: n.FirstSeenAt, LastSeenAt: n.LastSeenAt, Message: n.Message, RunID: n.RunID})
	}
	return rows
}

func fileRow(account, path string, f *manifest.File) schema.File {
	row := schema.File{AccountID: account, Path: path, Kind: f.Kind, Rows: f.Rows, Bytes: f.Bytes, SHA256: f.SHA256,
		RunID: f.RunID}
	if f.Table != "" {
		row.TableName = schema.Some(f.Table)
	}
	return row
}

// stageOps writes rows of schema ops as a private Parquet file, the one way into DuckDB.
func stageOps[R any](a *Area, t schema.TableOf[R], rows []R, where string) (duck.ReplacePartition, error) {
	l := duck.ReplacePartition{Table: t.Table, Where: where}
	if len(rows) == 0 {
		return l, nil
	}
	path := "ops/" + t.Name
	if _, err := a.putPrivate(path, t.Table, parquet.Record(t, rows)); err != nil {
		return l, err
	}
	l.Files = []string{a.path(path)}
	return l, nil
}
