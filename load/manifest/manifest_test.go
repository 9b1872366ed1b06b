package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spendsync/load/durable"
	"spendsync/schema"
)

// unreadable is a disk on which all calls with certain paths fail.
type unreadable struct {
	durable.FS
	fails func(path string) error
}

func (u unreadable) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.OpenFile(path, flag, perm)
}

func (u unreadable) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.ReadDir(path)
}

func (u unreadable) Lstat(path string) (fs.FileInfo, error) {
	if err := u.fails(path); err != nil {
		return nil, err
	}
	return u.FS.Lstat(path)
}

// failingAt returns a disk that cannot read a path below a folder.
func failingAt(dir, path string) durable.Disk {
	return durable.Disk{FS: unreadable{durable.OS.FS, func(at string) error {
		if at == filepath.Join(dir, path) {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.EIO}
		}
		return nil
	}}}
}

// TestRead_WithoutAManifest: a folder with parts of a store is damage, and any other folder is an empty store. A disk
// error is returned as it is.
func TestRead_WithoutAManifest(t *testing.T) {
	run := func(published bool) string {
		b, err := EncodeLedger(LedgerRows{Runs: []schema.Run{{RunID: "R1", Generation: 1, Published: published}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const ledger = "ledger/account=acme/2026-11.jsonl"
	for name, c := range map[string]struct {
		files map[string]string
		left  string // the part of a store that is left; empty: none
	}{
		"nothing":                       {nil, ""},
		"other files":                   {map[string]string{"notes.txt": "x"}, ""},
		"a new volume":                  {map[string]string{"parquet/lost+found/x": ""}, ""},
		"runs that published nothing":   {map[string]string{ledger: run(false)}, ""},
		"a run that published":          {map[string]string{ledger: run(true)}, ledger},
		"DuckDB file":                   {map[string]string{"warehouse.duckdb": ""}, "warehouse.duckdb"},
		"parquet":                       {map[string]string{"parquet/spend_daily/x": ""}, "parquet"},
		"raw":                           {map[string]string{"raw/x": ""}, "raw"},
		"account files":                 {map[string]string{"manifest/account=acme/x": ""}, "manifest"},
		"the first commit is under way": {map[string]string{"parquet/x": "", CommitName: "{}"}, ""},
	} {
		dir := t.TempDir()
		for path, content := range c.files {
			write(t, filepath.Join(dir, path), []byte(content))
		}
		_, err := Read(dir)
		if c.left == "" && !errors.Is(err, durable.ErrEmpty) || c.left != "" && (!errors.Is(err, durable.ErrDamaged) ||
			!strings.HasSuffix(err.Error(), ": "+c.left)) {
			t.Errorf("%s: %v, want %q", name, err, c.left)
		}
	}
	for _, path := range []string{FileName, "warehouse.duckdb", "parquet", "raw", "manifest", "ledger", CommitName,
		ledger} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ledger), []byte(run(false)))
		_, err := ReadFrom(failingAt(dir, path), dir)
		if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrEmpty) ||
			errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s cannot be read: %v", path, err)
		}
	}
}

// TestDecode_RefusesWhatCannotBe: each text has a correct checksum and impossible content.
func TestDecode_RefusesWhatCannotBe(t *testing.T) {
	sha := strings.Repeat("a", 64)
	part := func(p *AccountFile) func(*Manifest) { return func(m *Manifest) { m.AccountFiles["acme"] = p } }
	for name, c := range map[string]struct {
		edit func(*Manifest)
		want string // empty: it is read
	}{
		"as it is":      {func(*Manifest) {}, ""},
		"oldest schema": {func(m *Manifest) { m.SchemaVersion = schema.Oldest }, ""},
		"an account":    {part(&AccountFile{Path: accountPath("acme", sha), SHA256: sha}), ""},
		"no generation": {func(m *Manifest) { m.Generation = 0 }, "lacks"},
		"no schema":     {func(m *Manifest) { m.SchemaVersion = 0 }, "lacks"},
		"bad name": {func(m *Manifest) {
			m.AccountFiles["../x"] = &AccountFile{Path: accountPath("../x", sha), SHA256: sha}
		}, "not a valid name"},
		"null":         {part(nil), "not named by its content"},
		"another path": {part(&AccountFile{Path: "manifest/x.json", SHA256: sha}), "not named by its content"},
		"another hash": {part(&AccountFile{Path: accountPath("acme", sha), SHA256: strings.Repeat("b", 64)}),
			"not named by its content"},
		"no hash": {part(&AccountFile{Path: accountPath("acme", "../../x"), SHA256: "../../x"}),
			"not named by its content"},
	} {
		m := New()
		m.Generation = 1
		c.edit(m)
		e, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Decode(e.Root)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, durable.ErrDamaged) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, edit := range [][2]string{
		{fmt.Sprintf(`"schema_version": %d`, schema.Version), fmt.Sprintf(`"schema_version": %d`, schema.Oldest-1)},
		{fmt.Sprintf(`"format": %d`, Format), fmt.Sprintf(`"format": %d`, Format-1)},
	} {
		m := New()
		m.Generation = 1
		e, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		root := []byte(strings.Replace(string(e.Root), edit[0], edit[1], 1))
		if _, err := Decode(root); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s, and another seal: %v", edit[1], err)
		}
		copy(durable.FindSeal(root), durable.Unsealed)
		durable.Seal(root)
		_, err = Decode(root)
		if !errors.Is(err, durable.ErrOlder) || !strings.Contains(err.Error(), schema.OldestCommit) {
			t.Errorf("%s: %v", edit[1], err)
		}
	}
}

// TestGrownLedgers: GrownLedgers returns the accounts, sorted, whose newest ledger file differs from its published
// size. It leaves out loaded accounts.
func TestGrownLedgers(t *testing.T) {
	dir, m := t.TempDir(), New()
	file := func(account, month string) string { return "ledger/account=" + account + "/" + month + ".jsonl" }
	for account, files := range map[string]map[string]int{
		"z-grown": {"2026-10": 9}, "b-new-month": {"2026-10": 5, "2026-11": 1}, "no-ledger": {},
		"as-published": {"2026-09": 3, "2026-10": 5}, "loaded": {"2026-10": 9}, "a-cut": {"2026-10": 2},
	} {
		m.AccountFiles[account] = &AccountFile{Ledger: map[string]int64{file(account, "2026-10"): 5}}
		for month, size := range files {
			write(t, filepath.Join(dir, file(account, month)), make([]byte, size))
		}
	}
	m.Of("loaded")
	want := []string{"a-cut", "b-new-month", "z-grown"}
	if got, err := m.GrownLedgers(durable.OS, dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, path := range []string{"ledger/account=as-published", file("as-published", "2026-10")} {
		if got, err := m.GrownLedgers(failingAt(dir, path), dir); !errors.Is(err, durable.ErrStorage) {
			t.Errorf("%s cannot be read: %q, %v", path, got, err)
		}
	}
	gone := durable.Disk{FS: unreadable{durable.OS.FS, func(path string) error {
		if strings.HasSuffix(path, file("as-published", "2026-10")) {
			return &fs.PathError{Op: "lstat", Path: path, Err: os.ErrNotExist}
		}
		return nil
	}}}
	if got, err := m.GrownLedgers(gone, dir); err != nil || !slices.Contains(got, "as-published") {
		t.Errorf("a file that was removed meanwhile: %q, %v", got, err)
	}
}

// TestRawPages_AreInTheOrderOfTheirNumbers: pages from 10,000 on have longer file names.
func TestRawPages_AreInTheOrderOfTheirNumbers(t *testing.T) {
	a := &Account{Files: map[string]*File{}}
	var want []string
	for _, page := range []int{1, 2, 10, 9_998, 9_999, 10_000, 10_001, 100_000} {
		path := RawPath("acme", 20_000, page)
		want = append(want, path)
		a.Files[path] = &File{Kind: KindRaw, Day: 20_000}
	}
	if got := a.RawPages(20_000); !slices.Equal(got, want) {
		t.Errorf("the pages are %v", got)
	}
}
