package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Every part of a store knows its generation: the manifest by its number, the ledger and ops.run by the runs that
// published, and a Parquet file by the runs in its rows. This reveals a backup with parts from different times. If
// some part is newer than the manifest, the store was set back: publishing on top would forget the newer part, and no
// later run could know of it.

// RepairLost is the repair of damage that no part of the store can undo.
const RepairLost = "bring the whole data directory back into an empty folder, with 'spendsync pull --all' from the " +
	"bucket or from one backup"

// NewerPart is a part of the store that is newer than the manifest.
type NewerPart struct {
	Path       string         // the file that shows it
	Generation int64          // 0: it is not known, only that it is later
	RunID      string         // that published it
	At         schema.Instant // when; 0: not known
}

// SetBack returns the damage of a store that has a part newer than its manifest.
func (m *Manifest) SetBack(p NewerPart) *durable.Damage {
	to, of := "a later generation", "a generation later than "+fmt.Sprint(m.Generation)
	if p.Generation > 0 {
		to = fmt.Sprintf("generation %d", p.Generation)
		of = fmt.Sprintf("generation %d or later", p.Generation)
	}
	between := fmt.Sprintf("since %s", m.PublishedAt)
	if p.At > 0 {
		between = fmt.Sprintf("between %s and %s", m.PublishedAt, p.At)
	}
	return durable.Damaged(FileName, RepairLost+", of "+of,
		"the store was set back from %s to %d: %s is newer than the manifest (run %s). Restated numbers and versions "+
			"of settings that were first seen %s, and that only the parts that were set back had, are lost for good "+
			"unless a backup has them", to, m.Generation, p.Path, p.RunID, between)
}

// Newest returns a part that is newer than the manifest, judging by the names and sizes of files; its path
// is empty if there is none. It reads only files that differ from the manifest.
func (m *Manifest) Newest(d durable.Disk, dir string, files map[string]int64) (NewerPart, error) {
	part, err := newestInLedgers(d, dir, files, m)
	if err != nil || part.Path != "" {
		return part, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		account, info := m.fileOf(path)
		if info != nil && info.Bytes == files[path] {
			continue
		}
		if part, err := m.newerParquet(d, dir, account, path); err != nil || part.Path != "" {
			return part, err
		}
	}
	return NewerPart{}, nil
}

// fileOf returns the loaded account whose file belongs at a path, and the description of the file; nil if
// the manifest does not name it. The account is empty if no loaded account has a file there.
func (m *Manifest) fileOf(path string) (account string, info *File) {
	_, after, _ := strings.Cut(path, "/account=")
	name, _, _ := strings.Cut(after, "/")
	if a := m.Accounts[name]; a != nil {
		return name, a.Files[path]
	}
	return "", nil
}

// newestInLedgers returns the newest generation above that of the manifest that the ledgers record as
// published; without a manifest, any published one. It skips unreadable lines: they are another damage.
func newestInLedgers(d durable.Disk, dir string, files map[string]int64, m *Manifest) (newest NewerPart, err error) {
	published := int64(0)
	if m != nil {
		published = m.Generation
	}
	for path, size := range files {
		if !ledgerFile.MatchString(path) {
			continue
		}
		covered := int64(0)
		if m != nil {
			if account, _ := m.fileOf(path); account != "" {
				covered = m.Accounts[account].Ledger[path]
			}
		}
		if size == covered {
			continue
		}
		b, err := ReadLedger(d, dir, path)
		if err != nil {
			return newest, err
		}
		for _, r := range publishedRuns(b[min(covered, int64(len(b))):]) {
			if r.Generation > max(published, newest.Generation) {
				newest = NewerPart{path, r.Generation, r.RunID, r.FinishedAt}
			}
		}
	}
	return newest, nil
}

// GrownLedgers returns the accounts that are not loaded and whose ledgers have more lines than were
// published: a later generation may have added them, or a run that published nothing.
func (m *Manifest) GrownLedgers(d durable.Disk, dir string) (accounts []string, err error) {
	for name, p := range m.Parts {
		if m.Accounts[name] != nil {
			continue
		}
		paths, err := LedgerFiles(d, dir, name)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			continue
		}
		newest := paths[len(paths)-1]
		info, err := d.Lstat(filepath.Join(dir, newest))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, durable.Storage(err)
		}
		if err != nil || info.Size() != p.Ledger[newest] {
			accounts = append(accounts, name)
		}
	}
	slices.Sort(accounts)
	return accounts, nil
}

// publishedRuns returns the runs that published, skipping unreadable lines.
func publishedRuns(lines []byte) (runs []schema.Run) {
	for line := range bytes.Lines(lines) {
		var l ledgerLine
		if json.Unmarshal(line, &l) == nil && l.Run != nil && l.Run.Published {
			runs = append(runs, *l.Run)
		}
	}
	return runs
}

// newerParquet reports whether a Parquet file of the account has rows of a run that published after the
// manifest's generation, or that neither the manifest nor a ledger knows: a later generation wrote it then.
// A file that is not a Parquet file of a table shows nothing.
func (m *Manifest) newerParquet(d durable.Disk, dir, account, path string) (NewerPart, error) {
	t, _ := tableAt(account, path)
	if t == nil {
		return NewerPart{}, nil
	}
	known, err := m.knownRuns(d, dir, account)
	if known == nil || err != nil {
		return NewerPart{}, err
	}
	part := NewerPart{}
	for rec, err := range parquet.Records(d, filepath.Join(dir, path), t) {
		if errors.Is(err, durable.ErrStorage) {
			return NewerPart{}, err
		}
		if err != nil {
			return NewerPart{}, nil // it is damaged, or not ours
		}
		runs, accounts := texts(rec, "_run_id"), texts(rec, "account_id")
		at := instants(rec)
		for i := range int(rec.NumRows()) {
			if accounts.Value(i) != account {
				return NewerPart{}, nil
			}
			if known[runs.Value(i)] {
				continue
			}
			if part.Path == "" {
				part = NewerPart{Path: path, RunID: strings.Clone(runs.Value(i))}
			}
			if at != nil {
				part.At = max(part.At, schema.Instant(at.Value(i)))
			}
		}
	}
	return part, nil
}

// tableAt returns the table whose file of an account belongs at a path, and the day of its partition; nil if
// there is none, or only a mart.
func tableAt(account, path string) (*schema.Table, schema.Date) {
	parts := strings.Split(path, "/")
	if len(parts) < 4 {
		return nil, 0
	}
	t := tableNamed(parts[1])
	if t == nil {
		return nil, 0
	}
	day := schema.Date(0)
	if t.Partition != schema.ByAccount {
		_, text, _ := strings.Cut(parts[3], "=")
		var err error
		if day, err = schema.ParseDate(text); err != nil {
			return nil, 0
		}
	}
	if PartPath(t, account, day) != path {
		return nil, 0
	}
	return t, day
}

// knownRuns returns the runs of an account that published no later generation than the manifest's, as far as
// the manifest and the ledgers know. It is nil if a ledger is damaged, as the lost lines may have had the
// run.
func (m *Manifest) knownRuns(d durable.Disk, dir, account string) (map[string]bool, error) {
	a := m.Accounts[account]
	if a == nil {
		return nil, nil
	}
	known := map[string]bool{m.RunID: true}
	for _, f := range a.Files {
		known[f.RunID] = true
	}
	for _, day := range a.Days {
		known[day.RunID] = true
	}
	paths, err := LedgerFiles(d, dir, account)
	if err != nil {
		return nil, err
	}
	for path := range a.Ledger {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	var later []string
	for _, path := range paths {
		b, err := ReadLedger(d, dir, path)
		if err != nil {
			return nil, err
		}
		if CheckLedger(path, b, a.Ledger[path], a.LedgerSHA256[path]) != nil {
			return nil, nil
		}
		rows, err := DecodeLedger(path, b)
		if err != nil {
			return nil, nil
		}
		for _, r := range rows.Runs {
			known[r.RunID] = true
			if r.Published && r.Generation > m.Generation {
				later = append(later, r.RunID)
			}
		}
	}
	for _, id := range later {
		delete(known, id)
	}
	return known, nil
}

// texts returns a text column of a record.
func texts(rec arrow.Record, column string) *array.String {
	return rec.Column(rec.Schema().FieldIndices(column)[0]).(*array.String)
}

// instants returns when the rows of a table were seen or changed; nil if the table has no such column.
func instants(rec arrow.Record) *array.Timestamp {
	for _, name := range []string{"seen_at", "_changed_at", "valid_from"} {
		if i := rec.Schema().FieldIndices(name); len(i) > 0 {
			return rec.Column(i[0]).(*array.Timestamp)
		}
	}
	return nil
}
