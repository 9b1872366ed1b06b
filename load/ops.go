package load

import (
	"cmp"
	"errors"

	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// coverageLoad stages ops.day_coverage. The table is loaded before the models are made, because models read it.
func (n *warehouse) coverageLoad() (duck.ReplacePartition, error) {
	var coverage []schema.DayCoverage
	for _, name := range n.accounts() {
		coverage = append(coverage, n.next.Coverage(name)...)
	}
	return stageOps(n.area, schema.Coverage, coverage, n.whoseRows())
}

// opsLoads stages the tables of schema ops, except the coverage, from the manifest and the ledger. The new row of a run
// replaces the stored row of that run, if there is one. Steps are only added. The table of files gets the changed
// files. In the other tables, the rows of the accounts that this run may change are replaced. If the DuckDB file is
// built from nothing, all runs and steps are read from the ledger.
func (n *warehouse) opsLoads() ([]duck.ReplacePartition, error) {
	var unknown []schema.UnknownField
	var unread []schema.EntityRead
	var refused []schema.RefusedRow
	var notes []schema.Note
	for _, name := range n.accounts() {
		a := n.next.Accounts[name]
		unknown, notes = append(unknown, a.Unknown...), append(notes, noteRows(name, a.Notes)...)
		unread, refused = append(unread, a.UnreadRows(name)...), append(refused, a.RefusedRows(name)...)
	}
	ledger := n.newRows
	if n.fromNothing {
		var err error
		if ledger, err = n.wholeLedgers(); err != nil {
			return nil, err
		}
	}
	runs := lastOfEachRun(ledger.Runs)
	if err := (copies{n.generation, n.fromNothing}).add(runs); err != nil {
		return nil, err
	}
	var loads []duck.ReplacePartition
	var errs []error
	add := func(l duck.ReplacePartition, err error) { loads, errs = append(loads, l), append(errs, err) }
	add(n.filesLoad())
	add(stageOps(n.area, schema.UnknownFields, unknown, n.whoseRows()))
	add(stageOps(n.area, schema.Notes, notes, n.whoseRows()))
	add(stageOps(n.area, schema.EntityReads, unread, n.whoseRows()))
	add(stageOps(n.area, schema.RefusedRows, refused, n.whoseRows()))
	everything := ""
	if n.fromNothing {
		everything = "true" // replaces the rows of [warehouse.ledgerLoads]
	}
	add(stageOps(n.area, schema.Runs, runs, cmp.Or(everything, runsSQL(runs))))
	add(stageOps(n.area, schema.Steps, ledger.Steps, everything))
	return loads, errors.Join(errs...)
}

// ledgerLoads stages the published runs and steps for a DuckDB file that is built from nothing, because the models read
// these rows. The record of this run does not exist yet.
func (n *warehouse) ledgerLoads() ([]duck.ReplacePartition, error) {
	published, err := n.wholeLedgers()
	if err != nil {
		return nil, err
	}
	runs, err := stageOps(n.area, schema.Runs, lastOfEachRun(published.Runs), "")
	steps, err2 := stageOps(n.area, schema.Steps, published.Steps, "")
	return []duck.ReplacePartition{runs, steps}, errors.Join(err, err2)
}

// filesLoad stages the rows of ops.file for new and changed files. It also deletes the rows of files that the
// generation no longer has.
func (n *warehouse) filesLoad() (duck.ReplacePartition, error) {
	var files []schema.File
	var changedPaths []string
	for name, a := range n.next.Accounts {
		var baseFiles map[string]*manifest.File
		if !n.fromNothing {
			baseFiles = n.baseFiles(name)
		}
		for path, f := range a.Files {
			if f.Kind == manifest.KindDuckDB { // the DuckDB file cannot contain its own hash
				continue
			}
			if baseFiles[path] == nil || *baseFiles[path] != *f {
				files = append(files, fileRow(name, path, f))
				changedPaths = append(changedPaths, path)
			}
		}
		for path, f := range baseFiles {
			if a.Files[path] == nil && f.Kind != manifest.KindDuckDB {
				changedPaths = append(changedPaths, path)
			}
		}
	}
	where := ""
	if len(changedPaths) > 0 {
		where = "path IN (" + schema.QuoteTexts(changedPaths) + ")"
	}
	return stageOps(n.area, schema.Files, files, where)
}

// runsSQL returns the SQL condition for the rows of the given runs.
func runsSQL(runs []schema.Run) string {
	if len(runs) == 0 {
		return ""
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.RunID)
	}
	return schema.Quote("_run_id") + " IN (" + schema.QuoteTexts(ids) + ")"
}

func noteRows(account string, notes []manifest.Note) (rows []schema.Note) {
	for _, n := range notes {
		row := schema.Note{AccountID: account, Name: n.Name, IsStanding: n.IsAccepted(), Runs: n.Runs,
			SizePercent: schema.Null[int64]{V: n.Size, Valid: n.Size > 0 && !n.IsCount},
			FirstSeenAt: n.FirstSeenAt, LastSeenAt: n.LastSeenAt, Message: n.Message, RunID: n.RunID}
		if n.Accepted != nil {
			row.Decision, row.AcceptedAt = schema.Some(schema.NoteAccepted), schema.Some(n.Accepted.At)
			if row.AcceptedPercent = schema.Some(n.Accepted.Size); n.IsCount {
				row.AcceptedPercent.V = 0
			}
		}
		rows = append(rows, row)
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

// stageOps writes rows of a table of schema ops into a private Parquet file, because DuckDB loads only Parquet.
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
