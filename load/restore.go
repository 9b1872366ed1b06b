package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// restore brings back published files that are no longer what was published. The
// DuckDB file holds the same rows; where its own bytes are those that were
// published, a file written again from them has the old hash, or it is not taken.
// Only the versions of settings may differ in it by what DuckDB knows better: when
// they were last confirmed.
//
// The error names every file that cannot be brought back.
func (n *generation) restore(ctx context.Context) (err error) {
	damages, err := n.damages()
	if err != nil {
		return err
	}
	ledgers, err := n.ledgerDamages()
	if err != nil || len(damages)+len(ledgers) == 0 {
		return err
	}
	w, err := n.openPublished(ctx)
	if err != nil {
		return err
	}
	if w != nil {
		defer func() { err = w.Stop(err) }()
	}
	var lost []error
	for _, d := range damages {
		err := error(d.Damage)
		if w != nil {
			err = n.restoreFile(ctx, w, d)
		}
		if errors.Is(err, ErrDamaged) {
			lost = append(lost, err)
		} else if err != nil {
			return err
		}
	}
	for _, d := range ledgers {
		if err := n.restoreLedger(ctx, w, d); err != nil {
			return err
		}
	}
	return errors.Join(lost...)
}

// damagedFile is a published file that is not what was published.
type damagedFile struct {
	*Damage
	account string
}

// damages are the damaged Parquet files of all accounts, but for those that this
// run brings anew.
func (n *generation) damages() (found []damagedFile, err error) {
	s := n.g.store
	for _, name := range n.next.AccountNames() {
		a := n.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Files)) {
			info := a.Files[path]
			if info.Kind != KindParquet || isMart(info.Table) || name == s.account && n.brings(info) {
				continue
			}
			err := checkBytes(s.opts.disk, s.dir, path, info)
			var d *Damage
			if errors.As(err, &d) {
				found = append(found, damagedFile{d, name})
			} else if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// brings says whether this run has staged a new file for a published one.
func (n *generation) brings(info *FileInfo) bool {
	if info.Table == schema.SpendDaily.Name {
		d := n.g.days[info.Day]
		return d != nil && d.proven != nil && d.part != nil
	}
	st := n.g.tables[info.Table]
	return st != nil && st.info != nil
}

// openPublished opens the published DuckDB file under the name w, or returns nil
// if its bytes are not those that were published.
func (n *generation) openPublished(ctx context.Context) (*duck.Warehouse, error) {
	s := n.g.store
	path := filepath.Join(s.dir, duck.FileName)
	sha, _, err := s.opts.disk.HashFile(path)
	if there, existsErr := s.opts.disk.Exists(path); !there && existsErr == nil || err == nil &&
		sha != n.base.Warehouse.SHA256 {
		s.opts.Log.Warn("warehouse.duckdb is not what was published either; nothing can be restored from it")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := s.opts.DuckDB
	o.MemoryLimits, o.TempDir = nil, n.g.staged("restore.tmp")
	return duck.OpenPublished(ctx, path, o)
}

// restoreFile writes a file again from the rows in DuckDB. An [ErrDamaged] says
// that they do not give the file that was published.
func (n *generation) restoreFile(ctx context.Context, w *duck.Warehouse, d damagedFile) error {
	a := n.next.Accounts[d.account]
	was := a.Files[d.Path]
	t := tableNamed(was.Table)
	if t == nil {
		return d.Damage
	}
	if n.base.SchemaVersion < t.FilesVersion() {
		n.g.store.opts.Log.Warn("warehouse.duckdb is of an older schema; this table is not restored from it", "table",
			t.FullName(), "schema", n.base.SchemaVersion)
		return d.Damage
	}
	recs := w.TableRecords(ctx, t, partCondition(t, d.account, was.Day))
	info, err := n.g.putAnswer(d.Path, t, recs)
	if err == nil && info.SHA256 != was.SHA256 && t != schema.SpendDaily.Table {
		// Some tables are written as one record, which shows where they are large.
		var rec arrow.Record
		if rec, err = parquet.Concat(recs); err == nil {
			info, err = n.g.putPart(d.Path, t, slices.Values([]arrow.Record{rec}))
			rec.Release()
		}
	}
	if err != nil {
		return err
	}
	info.Day = was.Day
	if info.SHA256 == was.SHA256 {
		info = was
	} else if err := n.takeRestored(d, t, info); err != nil {
		return errors.Join(err, n.g.store.opts.disk.RemoveIfThere(n.g.staged(d.Path)))
	}
	n.g.store.opts.Log.Warn("a damaged file is restored from warehouse.duckdb", "file", d.Path, "damage", d.What,
		"identical", info == was)
	a.Files[d.Path] = info
	n.moveStaged(d.Path)
	n.restored = append(n.restored, d.Path)
	return nil
}

// takeRestored judges a restored file that is not byte for byte the old one. A day of
// the report is taken if its rows say what the service said: another release may have
// written the old file. Versions of settings are taken if they hold together and are as
// many: DuckDB follows when they were last confirmed, their file does not.
func (n *generation) takeRestored(d damagedFile, t *schema.Table, info *FileInfo) error {
	a := n.next.Accounts[d.account]
	if t == schema.SpendDaily.Table {
		return n.takeRestoredDay(d, info.Day)
	}
	h, was := versionedTable(t.Name), a.Files[d.Path]
	if h == nil || info.Rows != was.Rows {
		return durable.Damaged(d.Path, d.Mend, "%s; the rows in warehouse.duckdb give another file", d.What)
	}
	staged := n.g.staged(d.Path)
	if err := h.check(n.g.store.opts.disk, filepath.Dir(staged), filepath.Base(staged), a, info); err != nil {
		return durable.Damaged(d.Path, d.Mend, "%s; the versions in warehouse.duckdb do not hold together: %v",
			d.What, err)
	}
	return nil
}

func (n *generation) takeRestoredDay(d damagedFile, day schema.Date) error {
	rows, err := readDay(n.g.store.opts.disk, n.g.staged(d.Path), d.account, day)
	if err != nil {
		return err
	}
	sealed, err := history.OrderedDay(rows)
	if known := n.next.Accounts[d.account].Days[day]; err != nil || known == nil || sealed.Hash() != known.ContentHash {
		return durable.Damaged(d.Path, d.Mend, "%s; the rows in warehouse.duckdb are not those that the "+
			"service gave", d.What)
	}
	return nil
}

func tableNamed(name string) *schema.Table {
	if t := schema.Named(name); t != nil && t.HasFiles() && t.View == "" {
		return t
	}
	return nil
}

// partCondition selects the rows that one file of a table holds.
func partCondition(t *schema.Table, account string, day schema.Date) string {
	c := "account_id = " + schema.QuoteText(account)
	switch t.Partition {
	case schema.ByDay:
		c += fmt.Sprintf(" AND report_date = DATE '%s'", day)
	case schema.BySeen:
		c += " AND " + seenCondition(day)
	}
	return c
}

// seenCondition selects what was seen on a Chicago day.
func seenCondition(day schema.Date) string {
	return fmt.Sprintf("seen_at >= make_timestamptz(%d) AND seen_at < make_timestamptz(%d)",
		schema.InstantOf(day.Start()), schema.InstantOf(day.End()))
}

// ledgerDamages are the ledger files of all accounts of which the published part
// is not what it was, or that cannot be read.
func (n *generation) ledgerDamages() (found []damagedFile, err error) {
	disk, dir := n.g.store.opts.disk, n.g.store.dir
	for _, name := range n.next.AccountNames() {
		a := n.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Ledger)) {
			b, err := readLedger(disk, dir, path)
			if err != nil {
				return nil, err
			}
			if err = checkLedger(path, b, a.Ledger[path], a.LedgerSHA256[path]); err == nil {
				_, err = decodeLedger(path, b)
			}
			var d *Damage
			if errors.As(err, &d) {
				found = append(found, damagedFile{d, name})
			}
		}
	}
	return found, nil
}

// restoreLedger writes a ledger file again: the runs that DuckDB knows and no
// whole ledger file of the account tells of, and every line of the old file that
// can be read and tells of another run. w is nil where DuckDB cannot be asked.
func (n *generation) restoreLedger(ctx context.Context, w *duck.Warehouse, d damagedFile) error {
	s := n.g.store
	told, err := n.runsToldElsewhere(d)
	if err != nil {
		return err
	}
	var known ledgerRows
	if w != nil {
		if known, err = n.ledgerOfDuckDB(ctx, w, d.account, told); err != nil {
			return err
		}
	}
	old, err := readLedger(s.opts.disk, s.dir, d.Path)
	if err != nil {
		return err
	}
	told.add(known.runs)
	kept, unreadable := readableLines(old, told)
	lines, err := encodeRuns(known)
	if err != nil {
		return err
	}
	lines = append(lines, kept...)
	s.opts.Log.Warn("a damaged ledger file is written again", "file", d.Path, "damage", d.What, "runs_from_duckdb",
		len(known.runs), "unreadable_lines", unreadable)
	if _, _, err := s.opts.disk.WriteFile(n.g.staged(d.Path), lines); err != nil {
		return err
	}
	a := n.next.Accounts[d.account]
	a.Ledger[d.Path], a.LedgerSHA256[d.Path] = int64(len(lines)), hashLedger(lines)
	n.moveStaged(d.Path)
	n.restored = append(n.restored, d.Path)
	return nil
}

// runsToldElsewhere are the runs of the account's other ledger files, as far as
// these can be read.
func (n *generation) runsToldElsewhere(d damagedFile) (runsTold, error) {
	s := n.g.store
	told := runsTold{}
	for path := range n.next.Accounts[d.account].Ledger {
		if path == d.Path {
			continue
		}
		dir, rel := n.whereIs(path)
		b, err := readLedger(s.opts.disk, dir, rel)
		if err != nil {
			return nil, err
		}
		rows, err := decodeLedger(path, b)
		if err != nil {
			continue // damaged too, and written again by itself
		}
		told.add(rows.runs)
	}
	return told, nil
}

// runsTold are the ends of the runs that some lines tell of. A run may have several
// lines, of which the last counts.
type runsTold map[string]schema.Instant

func (t runsTold) add(runs []schema.Run) {
	for _, r := range runs {
		t[r.RunID] = max(t[r.RunID], r.FinishedAt)
	}
}

func (t runsTold) has(runID string) bool {
	_, ok := t[runID]
	return ok
}

// hasEnd says whether they tell of the run up to the end that this line tells of.
func (t runsTold) hasEnd(r schema.Run) bool { return t.has(r.RunID) && t[r.RunID] >= r.FinishedAt }

// ledgerOfDuckDB are the account's runs in DuckDB with what belongs to them, but
// for some.
func (n *generation) ledgerOfDuckDB(ctx context.Context, w *duck.Warehouse, account string,
	but runsTold) (rows ledgerRows, err error) {
	if rows.runs, err = opsRows(ctx, w, schema.Runs, account); err != nil {
		return rows, err
	}
	if rows.steps, err = opsRows(ctx, w, schema.Steps, account); err != nil {
		return rows, err
	}
	if rows.entities, err = opsRows(ctx, w, schema.EntityReads, account); err != nil {
		return rows, err
	}
	if n.base.SchemaVersion >= schema.RefusedRows.Since {
		if rows.refused, err = opsRows(ctx, w, schema.RefusedRows, account); err != nil {
			return rows, err
		}
	}
	rows.refused = slices.DeleteFunc(rows.refused, func(r schema.RefusedRow) bool { return but.has(r.RunID) })
	rows.runs = slices.DeleteFunc(rows.runs, but.hasEnd)
	rows.steps = slices.DeleteFunc(rows.steps, func(r schema.Step) bool { return but.has(r.RunID) })
	rows.entities = slices.DeleteFunc(rows.entities, func(r schema.EntityRead) bool { return but.has(r.RunID) })
	return rows, nil
}

func opsRows[R any](ctx context.Context, w *duck.Warehouse, t schema.TableOf[R], account string) (all []R, err error) {
	recs := w.TableRecords(ctx, t.Table, "account_id = "+schema.QuoteText(account))
	for rec, err := range recs {
		if err != nil {
			return nil, err
		}
		if all, err = t.AppendRows(all, rec); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// encodeRuns writes runs as their ledger lines, each after its steps, oldest
// first.
func encodeRuns(rows ledgerRows) ([]byte, error) {
	slices.SortStableFunc(rows.runs, func(a, b schema.Run) int {
		return a.FinishedAt.Time().Compare(b.FinishedAt.Time())
	})
	var lines []byte
	for _, r := range rows.runs {
		of := ledgerRows{runs: []schema.Run{r}}
		for _, s := range rows.steps {
			if s.RunID == r.RunID {
				of.steps = append(of.steps, s)
			}
		}
		for _, e := range rows.entities {
			if e.RunID == r.RunID {
				of.entities = append(of.entities, e)
			}
		}
		for _, l := range rows.refused {
			if l.RunID == r.RunID {
				of.refused = append(of.refused, l)
			}
		}
		b, err := encodeLedger(of)
		if err != nil {
			return nil, err
		}
		lines = append(lines, b...)
	}
	return lines, nil
}

// readableLines are the lines of a ledger file that can be read and tell of other runs
// than the given ones, or of a later end of one, and how many cannot be read.
func readableLines(b []byte, but runsTold) (kept []byte, unreadable int) {
	for line := range strings.Lines(string(b)) {
		rows, err := decodeLedger("", []byte(line))
		switch {
		case err != nil:
			unreadable++
		case len(rows.runs) > 0 && !but.hasEnd(rows.runs[0]),
			len(rows.steps) > 0 && !but.has(rows.steps[0].RunID),
			len(rows.entities) > 0 && !but.has(rows.entities[0].RunID),
			len(rows.refused) > 0 && !but.has(rows.refused[0].RunID):
			kept = append(kept, strings.TrimSuffix(line, "\n")+"\n"...)
		}
	}
	return kept, unreadable
}
