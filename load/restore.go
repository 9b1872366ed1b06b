package load

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// repair makes the files of a generation good again, as far as they can be.
type repair struct {
	g        *Staged
	files    *filing
	base     *manifest.Manifest // as published
	next     *manifest.Manifest // with the repaired files
	restored []string           // damaged files that are brought back
	accepted []string           // what became of those that nothing can restore
}

// restore rewrites published files whose content has changed. The DuckDB file holds the same rows; if its own bytes
// are intact, a file that is written from them must have the published hash, or it is discarded. Only versions of
// settings may differ: DuckDB has their latest confirmation.
//
// The error names every file that cannot be brought back.
func (r *repair) restore(ctx context.Context) (err error) {
	if r.accepting() {
		if err := errors.Join(r.takeNewer(), r.forgetLostReplies()); err != nil {
			return err
		}
	}
	damages, err := r.damages()
	if err != nil {
		return err
	}
	ledgers, err := r.ledgerDamages()
	if err != nil || len(damages)+len(ledgers) == 0 {
		return err
	}
	w, err := r.openPublished(ctx)
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
			err = r.restoreFile(ctx, w, d)
		}
		if errors.Is(err, durable.ErrDamaged) && r.accepting() {
			err = r.acceptLoss(d)
		}
		if errors.Is(err, durable.ErrDamaged) {
			lost = append(lost, err)
		} else if err != nil {
			return err
		}
	}
	for _, d := range ledgers {
		if err := r.restoreLedger(ctx, w, d); err != nil {
			return err
		}
	}
	if len(ledgers) > 0 && w == nil && !r.accepting() {
		lost = append(lost, r.missingRuns(ledgers[0]))
	}
	return errors.Join(lost...)
}

// missingRuns returns the damage of a ledger that was set back if no part of the store knows the runs since;
// nil if the rewritten ledgers know the run that published this generation.
func (r *repair) missingRuns(d damagedFile) error {
	newest := int64(0)
	for _, name := range r.next.AccountNames() {
		for path := range r.next.Accounts[name].Ledger {
			b, err := r.files.readLedger(path)
			if err != nil {
				return err
			}
			for _, r := range manifest.PublishedRuns(b) {
				newest = max(newest, r.Generation)
			}
		}
	}
	if newest >= r.base.Generation {
		return nil
	}
	return durable.Damaged(d.Path, manifest.RepairLost, "it was set back from generation %d to %d, and "+
		"warehouse.duckdb, which knows the runs since, is not what was published either", r.base.Generation, newest)
}

// damages returns the damaged Parquet files of all accounts, except those that this run replaces.
func (r *repair) damages() (found []damagedFile, err error) {
	s := r.g.store
	for _, name := range r.next.AccountNames() {
		a := r.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Files)) {
			info := a.Files[path]
			if info.Kind != manifest.KindParquet || info.IsMart() || name == s.account && r.replaces(info) {
				continue
			}
			err := manifest.CheckBytes(s.opts.disk, s.dir, path, info)
			var d *durable.Damage
			if errors.As(err, &d) {
				found = append(found, damagedFile{d, name})
			} else if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// replaces reports whether this run stages a new version of the file.
func (r *repair) replaces(info *manifest.File) bool {
	if info.Table == schema.SpendDaily.Name {
		d := r.g.days[info.Day]
		return d != nil && d.proven != nil && d.part != nil
	}
	st := r.g.tables[info.Table]
	return st != nil && st.info != nil
}

// openPublished opens the published DuckDB file under the name w. It returns nil if its bytes differ from
// the published ones.
func (r *repair) openPublished(ctx context.Context) (*duck.Warehouse, error) {
	s := r.g.store
	path := filepath.Join(s.dir, duck.FileName)
	sha, _, err := s.opts.disk.HashFile(path)
	if there, existsErr := s.opts.disk.Exists(path); !there && existsErr == nil || err == nil &&
		sha != r.base.Warehouse.SHA256 {
		s.opts.Log.Warn("warehouse.duckdb is not what was published either; nothing can be restored from it")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := s.opts.DuckDB
	o.FirstMemory, o.TempDir = "", r.g.staged("restore.tmp")
	return duck.OpenPublished(ctx, path, o)
}

// restoreFile writes a file again from the rows in DuckDB. A [durable.ErrDamaged] means that they do not
// give the published file.
func (r *repair) restoreFile(ctx context.Context, w *duck.Warehouse, d damagedFile) error {
	a := r.next.Accounts[d.account]
	was := a.Files[d.Path]
	t := manifest.TableNamed(was.Table)
	if t != nil {
		t = t.AsOf(r.base.SchemaVersion) // the columns that the file of that version has, too
	}
	if t == nil {
		return d.Damage
	}
	recs := w.TableRecords(ctx, t, duck.PartSQL(t, d.account, was.Day))
	info, err := r.g.putAnswer(d.Path, t, recs)
	if err == nil && info.SHA256 != was.SHA256 && t.Name != schema.SpendDaily.Name {
		// Some tables are written as one record, which shows where they are large.
		var rec arrow.Record
		if rec, err = parquet.Concat(recs); err == nil {
			info, err = r.g.putPart(d.Path, t, slices.Values([]arrow.Record{rec}))
			rec.Release()
		}
	}
	if err != nil {
		return err
	}
	info.Day = was.Day
	if info.SHA256 == was.SHA256 {
		info = was
	} else if err := r.takeRestored(d, t, info); err != nil {
		return errors.Join(err, r.g.store.opts.disk.RemoveIfThere(r.g.staged(d.Path)))
	}
	r.g.store.opts.Log.Warn("a damaged file is restored from warehouse.duckdb", "file", d.Path, "damage", d.What,
		"identical", info == was)
	r.files.enter(a.Files, d.Path, info, true)
	r.restored = append(r.restored, d.Path)
	return nil
}

// takeRestored judges a restored file that differs from the old one. A day of the report is accepted if its
// rows are those that the service gave: another release may have written the old file. Versions of settings
// are accepted if they join and are as many: DuckDB follows when they were last confirmed, their file does
// not.
func (r *repair) takeRestored(d damagedFile, t *schema.Table, info *manifest.File) error {
	a := r.next.Accounts[d.account]
	if t.Name == schema.SpendDaily.Name {
		return r.takeRestoredDay(d, info.Day)
	}
	h, was := versionedTable(t.Name), a.Files[d.Path]
	if h == nil || info.Rows != was.Rows {
		return durable.Damaged(d.Path, d.Repair, "%s; the rows in warehouse.duckdb give another file", d.What)
	}
	staged := r.g.staged(d.Path)
	if err := h.check(r.g.store.opts.disk, filepath.Dir(staged), filepath.Base(staged), a, info); err != nil {
		return durable.Damaged(d.Path, d.Repair, "%s; the versions in warehouse.duckdb do not hold together: %v",
			d.What, err)
	}
	return nil
}

func (r *repair) takeRestoredDay(d damagedFile, day schema.Date) error {
	rows, err := manifest.ReadDay(r.g.store.opts.disk, r.g.staged(d.Path), d.account, day)
	if err != nil {
		return err
	}
	sealed, err := history.OrderedDay(rows)
	if known := r.next.Accounts[d.account].Days[day]; err != nil || known == nil || sealed.Hash() != known.ContentHash {
		return durable.Damaged(d.Path, d.Repair, "%s; the rows in warehouse.duckdb are not those that the "+
			"service gave", d.What)
	}
	return nil
}

// ledgerDamages returns the ledger files of all accounts whose published part is damaged, or that cannot be
// read.
func (r *repair) ledgerDamages() (found []damagedFile, err error) {
	disk, dir := r.g.store.opts.disk, r.g.store.dir
	for _, name := range r.next.AccountNames() {
		a := r.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Ledger)) {
			b, err := manifest.ReadLedger(disk, dir, path)
			if err != nil {
				return nil, err
			}
			if err = manifest.CheckLedger(path, b, a.Ledger[path], a.LedgerSHA256[path]); err == nil {
				_, err = manifest.DecodeLedger(path, b)
			}
			var d *durable.Damage
			if errors.As(err, &d) {
				found = append(found, damagedFile{d, name})
			}
		}
	}
	return found, nil
}

// restoreLedger writes a ledger file again: the runs that DuckDB has and no undamaged ledger file of the
// account, and every readable line of the old file that is of another run. w is nil if DuckDB cannot be
// asked.
func (r *repair) restoreLedger(ctx context.Context, w *duck.Warehouse, d damagedFile) error {
	s := r.g.store
	others, err := r.runsInOtherLedgers(d)
	if err != nil {
		return err
	}
	var known manifest.LedgerRows
	if w != nil {
		if known, err = r.ledgerOfDuckDB(ctx, w, d.account, others); err != nil {
			return err
		}
	}
	old, err := manifest.ReadLedger(s.opts.disk, s.dir, d.Path)
	if err != nil {
		return err
	}
	others.add(known.Runs)
	kept, unreadable := readableLines(old, others)
	lines, err := encodeRuns(known)
	if err != nil {
		return err
	}
	lines = append(lines, kept...)
	s.opts.Log.Warn("a damaged ledger file is written again", "file", d.Path, "damage", d.What, "runs_from_duckdb",
		len(known.Runs), "unreadable_lines", unreadable)
	if _, _, err := s.opts.disk.WriteFile(r.g.staged(d.Path), lines); err != nil {
		return err
	}
	a := r.next.Accounts[d.account]
	a.Ledger[d.Path], a.LedgerSHA256[d.Path] = int64(len(lines)), manifest.HashLedger(lines)
	r.files.move(d.Path)
	r.restored = append(r.restored, d.Path)
	return nil
}

// runsInOtherLedgers returns the runs of the account's other ledger files, as far as these can be read.
func (r *repair) runsInOtherLedgers(d damagedFile) (runEnds, error) {
	ends := runEnds{}
	for path := range r.next.Accounts[d.account].Ledger {
		if path == d.Path {
			continue
		}
		b, err := r.files.readLedger(path)
		if err != nil {
			return nil, err
		}
		rows, err := manifest.DecodeLedger(path, b)
		if err != nil {
			continue // damaged too, and written again by itself
		}
		ends.add(rows.Runs)
	}
	return ends, nil
}

// runEnds returns when each run ended, by run ID. A run may have several lines; the last one counts.
type runEnds map[string]schema.Instant

func (t runEnds) add(runs []schema.Run) {
	for _, r := range runs {
		t[r.RunID] = max(t[r.RunID], r.FinishedAt)
	}
}

func (t runEnds) has(runID string) bool {
	_, ok := t[runID]
	return ok
}

// hasEnd reports whether the run of a line has that end or a later one.
func (t runEnds) hasEnd(r schema.Run) bool { return t.has(r.RunID) && t[r.RunID] >= r.FinishedAt }

// ledgerOfDuckDB returns the account's runs in DuckDB with their steps and reads, except some.
func (r *repair) ledgerOfDuckDB(ctx context.Context, w *duck.Warehouse, account string,
	but runEnds) (rows manifest.LedgerRows, err error) {
	its := "account_id = " + schema.QuoteText(account)
	if rows.Runs, err = opsRows(ctx, w, schema.Runs, its); err != nil {
		return rows, err
	}
	if rows.Steps, err = opsRows(ctx, w, schema.Steps, its); err != nil {
		return rows, err
	}
	if rows.Entities, err = opsRows(ctx, w, schema.EntityReads, its); err != nil {
		return rows, err
	}
	if rows.Refused, err = opsRows(ctx, w, schema.RefusedRows, its); err != nil {
		return rows, err
	}
	rows.Refused = slices.DeleteFunc(rows.Refused, func(r schema.RefusedRow) bool { return but.has(r.RunID) })
	rows.Runs = slices.DeleteFunc(rows.Runs, but.hasEnd)
	rows.Steps = slices.DeleteFunc(rows.Steps, func(r schema.Step) bool { return but.has(r.RunID) })
	rows.Entities = slices.DeleteFunc(rows.Entities, func(r schema.EntityRead) bool { return but.has(r.RunID) })
	return rows, nil
}

// encodeRuns writes runs as their ledger lines, each after its steps, oldest first.
func encodeRuns(rows manifest.LedgerRows) ([]byte, error) {
	slices.SortStableFunc(rows.Runs, func(a, b schema.Run) int {
		return a.FinishedAt.Time().Compare(b.FinishedAt.Time())
	})
	var lines []byte
	for _, r := range rows.Runs {
		of := manifest.LedgerRows{Runs: []schema.Run{r}}
		for _, s := range rows.Steps {
			if s.RunID == r.RunID {
				of.Steps = append(of.Steps, s)
			}
		}
		for _, e := range rows.Entities {
			if e.RunID == r.RunID {
				of.Entities = append(of.Entities, e)
			}
		}
		for _, l := range rows.Refused {
			if l.RunID == r.RunID {
				of.Refused = append(of.Refused, l)
			}
		}
		b, err := manifest.EncodeLedger(of)
		if err != nil {
			return nil, err
		}
		lines = append(lines, b...)
	}
	return lines, nil
}

// readableLines are the lines of a ledger file that can be read and are of other runs
// than the given ones, or of a later end of one. unreadable counts those that cannot be read.
func readableLines(b []byte, but runEnds) (kept []byte, unreadable int) {
	for line := range strings.Lines(string(b)) {
		rows, err := manifest.DecodeLedger("", []byte(line))
		switch {
		case err != nil:
			unreadable++
		case len(rows.Runs) > 0 && !but.hasEnd(rows.Runs[0]),
			len(rows.Steps) > 0 && !but.has(rows.Steps[0].RunID),
			len(rows.Entities) > 0 && !but.has(rows.Entities[0].RunID),
			len(rows.Refused) > 0 && !but.has(rows.Refused[0].RunID):
			kept = append(kept, strings.TrimSuffix(line, "\n")+"\n"...)
		}
	}
	return kept, unreadable
}
