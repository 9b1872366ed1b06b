package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// A ledger, warehouse.duckdb and the file of an account know of generations. If one of them knows of a later generation
// than that of the manifest, the store was set back, or an older backup was laid over it: publishing on top would
// forget what was stored since, and no later run could know of it.

// RepairLost is the repair of damage that no part of the store can undo.
const RepairLost = "bring the whole data directory back into an empty folder, with 'spendsync pull --all' from the " +
	"bucket or from one backup"

// NewerPart is a part of the store that is newer than the manifest.
type NewerPart struct {
	Path       string         // the file that shows it
	Generation int64          // 0: it is not known, only that it is later
	RunID      string         // that published it; empty: it is not known
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
	by := p.Path
	if p.RunID != "" {
		by += ", of run " + p.RunID + ","
	}
	return durable.Damaged(FileName, RepairLost+", of "+of,
		"the store was set back from %s to %d: %s is newer than the manifest. Restated numbers and versions "+
			"of settings that were first seen %s, and that only the parts that were set back had, are lost for good "+
			"unless a backup has them", to, m.Generation, by, between)
}

// Newest returns a part that is newer than the manifest; its path is empty if there is none. It reads the ledgers that
// differ from the manifest, and the files of accounts that it does not name.
func (m *Manifest) Newest(d durable.Disk, dir string, files map[string]int64) (NewerPart, error) {
	part, err := newestInLedgers(d, dir, files, m)
	if err != nil || part.Path != "" {
		return part, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if name := accountAt(path); strings.HasPrefix(path, "manifest/") && m.Parts[name] != nil &&
			m.Parts[name].Path != path {
			if part, err := m.newerAccount(d, dir, name, path, files[path]); part.Path != "" || err != nil {
				return part, err
			}
		}
	}
	return NewerPart{}, nil
}

// accountAt returns the account whose file belongs at a path.
func accountAt(path string) string {
	_, after, _ := strings.Cut(path, "/account=")
	name, _, _ := strings.Cut(after, "/")
	return name
}

// newerAccount returns the file of an account at a path if it has more of its ledger than the manifest.
func (m *Manifest) newerAccount(d durable.Disk, dir, name, path string, size int64) (part NewerPart, err error) {
	if err := m.Load(d, dir, name); err != nil {
		return part, err
	}
	b, err := d.ReadFile(filepath.Join(dir, path), size)
	if err != nil {
		return part, durable.Storage(err)
	}
	var other struct {
		Ledger map[string]int64 `json:"ledger"`
	}
	if json.Unmarshal(b, &other) != nil {
		return part, nil // it is damaged, or not ours
	}
	for file, n := range other.Ledger {
		if n > m.Accounts[name].Ledger[file] {
			part.Path = path
		}
	}
	return part, nil
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
			if a := m.Accounts[accountAt(path)]; a != nil {
				covered = a.Ledger[path]
			}
		}
		if size == covered {
			continue
		}
		runs, err := publishedRuns(d, dir, path, covered)
		if err != nil {
			return newest, err
		}
		for _, r := range runs {
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

// publishedRuns returns the runs behind the first bytes of a ledger file that published, skipping unreadable lines.
func publishedRuns(d durable.Disk, dir, path string, from int64) (runs []schema.Run, err error) {
	f, size, err := openLedger(d, dir, path)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	if size <= from {
		return nil, nil
	}
	for line, err := range linesOf(path, io.NewSectionReader(f, from, size-from)) {
		if err != nil {
			return nil, err
		}
		var l ledgerLine
		if json.Unmarshal(line, &l) == nil && l.Run != nil && l.Run.Published {
			runs = append(runs, *l.Run)
		}
	}
	return runs, nil
}
