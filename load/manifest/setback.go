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

// Ledgers, warehouse.duckdb and account files record the generations that they belong to. If one of these files is of a
// later generation than the manifest, the store was set back: part of the store was replaced from an older backup. A
// run that published then would forget what was stored since that backup, and no later run could notice the loss.

// RepairLost is the repair of damage that cannot be undone from the rest of the store.
const RepairLost = "bring the whole data directory back into an empty folder, with 'spendsync pull --all' from the " +
	"bucket or from one backup"

// NewerPart is a part of the store that is newer than the manifest.
type NewerPart struct {
	Path       string         // path of the newer file
	Generation int64          // 0: not known, but later than the manifest's generation
	RunID      string         // the run that published the part; empty: not known
	At         schema.Instant // when that run finished; 0: not known
}

// SetBack returns the damage to report if p, a part of the store, is newer than the manifest: somebody has replaced
// part of the store by an older copy.
func (m *Manifest) SetBack(p NewerPart) *durable.Damage {
	lost, needed := "a later generation", "a generation later than "+fmt.Sprint(m.Generation)
	if p.Generation > 0 {
		lost = fmt.Sprintf("generation %d", p.Generation)
		needed = fmt.Sprintf("generation %d or later", p.Generation)
	}
	between := fmt.Sprintf("since %s", m.PublishedAt)
	if p.At > 0 {
		between = fmt.Sprintf("between %s and %s", m.PublishedAt, p.At)
	}
	by := p.Path
	if p.RunID != "" {
		by += ", of run " + p.RunID + ","
	}
	return durable.Damaged(FileName, RepairLost+", of "+needed,
		"the store was set back from %s to %d: %s is newer than the manifest. Restated numbers and versions "+
			"of settings that were first seen %s, and that only the parts that were set back had, are lost for good "+
			"unless a backup has them", lost, m.Generation, by, between)
}

// Newest looks for a part of the store that is newer than the manifest. If there is none, the result has no path.
// Newest reads ledgers whose size differs from the manifest, and account files that the manifest does not name. The map
// has the sizes of the store's files, by path.
func (m *Manifest) Newest(d durable.Disk, dir string, files map[string]int64) (NewerPart, error) {
	part, err := m.newestInLedgers(d, dir, files)
	if err != nil || part.Path != "" {
		return part, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if name := accountAt(path); strings.HasPrefix(path, "manifest/") && m.AccountFiles[name] != nil &&
			m.AccountFiles[name].Path != path {
			if part, err := m.newerAccount(d, dir, name, path, files[path]); part.Path != "" || err != nil {
				return part, err
			}
		}
	}
	return NewerPart{}, nil
}

// accountAt returns the account that a path belongs to.
func accountAt(path string) string {
	_, after, _ := strings.Cut(path, "/account=")
	name, _, _ := strings.Cut(after, "/")
	return name
}

// newerAccount checks an account file that the manifest does not name. The file is newer if, for some ledger, it states
// a larger published size than the manifest states. Otherwise the result has no path.
func (m *Manifest) newerAccount(d durable.Disk, dir, name, path string, size int64) (part NewerPart, err error) {
	if err := m.Load(d, dir, name); err != nil {
		return part, err
	}
	b, err := d.ReadFile(filepath.Join(dir, path), size)
	if err != nil {
		return part, durable.Storage(err)
	}
	var stray struct {
		Ledger map[string]int64 `json:"ledger"`
	}
	if json.Unmarshal(b, &stray) != nil {
		return part, nil // the file is damaged, or not ours
	}
	for file, n := range stray.Ledger {
		if n > m.Accounts[name].Ledger[file] {
			part.Path = path
		}
	}
	return part, nil
}

// newestInLedgers returns the newest published generation that the ledgers record. If it is not later than the
// manifest, the result has no path. Unreadable lines are skipped: they are reported elsewhere.
func (m *Manifest) newestInLedgers(d durable.Disk, dir string, files map[string]int64) (newest NewerPart, err error) {
	for path, size := range files {
		if !ledgerFile.MatchString(path) {
			continue
		}
		covered := int64(0)
		if a := m.Accounts[accountAt(path)]; a != nil {
			covered = a.Ledger[path]
		}
		if size == covered {
			continue
		}
		runs, err := publishedRuns(d, dir, path, covered)
		if err != nil {
			return newest, err
		}
		for _, r := range runs {
			if r.Generation > max(m.Generation, newest.Generation) {
				newest = NewerPart{path, r.Generation, r.RunID, r.FinishedAt}
			}
		}
	}
	return newest, nil
}

// GrownLedgers returns the accounts whose newest ledger file does not have its published size. It ignores loaded
// accounts. Either a later generation or a run that published nothing may have added lines.
func (m *Manifest) GrownLedgers(d durable.Disk, dir string) (accounts []string, err error) {
	for name, p := range m.AccountFiles {
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

// publishedRuns returns the runs of a ledger file that have published. The argument from is the byte offset at which it
// starts to read. Unreadable lines are skipped.
func publishedRuns(d durable.Disk, dir, path string, from int64) (runs []schema.Run, err error) {
	f, size, err := openLedger(d, dir, path)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	for line, err := range linesOf(path, io.NewSectionReader(f, from, max(0, size-from))) {
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
