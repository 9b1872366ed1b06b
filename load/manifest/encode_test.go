package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// large returns a manifest of several megabytes, with accounts of different sizes and texts that JSON escapes.
func large() *Manifest {
	m := New()
	m.Generation, m.RunID, m.Views = 7, "R7", "v"
	for i, days := range []int{0, 3000, 1, 5, 4000} {
		name := fmt.Sprintf("account-%d", i)
		a := m.Of(name)
		a.Since = 20000
		for d := range schema.Date(days) {
			a.Days[20000+d] = &Day{RunID: "R1", ContentHash: `"}{`}
			a.Files[TablePath(schema.SpendDaily.Table, name, 20000+d)] = &File{
				Kind: KindParquet, Table: "spend_daily", Day: 20000 + d, Rows: int64(d), Bytes: 9,
				SHA256: strings.Repeat("a", 64), RunID: "R1"}
		}
		a.Files["raw/a \"<\\.parquet"], a.Files[TablePath(schema.CampaignHistory.Table, name, 0)] =
			&File{Kind: KindRaw}, &File{Kind: KindParquet}
		a.Files["raw/x"] = &File{Kind: KindRaw, Rules: "f"}
		a.Ledger["ledger/x"], a.LedgerSHA256["ledger/x"] = 7, "b"
		a.Memory["t"] = history.Memory{}
		a.Settled = []string{"C1", "\n  }"}
		a.SettledTables = -3
	}
	return m
}

// put writes a manifest into a data directory.
func put(t testing.TB, dir string, m *Manifest) *Encoded {
	t.Helper()
	e, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range e.AccountFiles {
		write(t, filepath.Join(dir, path), b)
	}
	write(t, filepath.Join(dir, FileName), e.Root)
	return e
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestRead_OfOthers: Read returns the right error for a missing account file, a newer format and an empty folder.
// Package load tests damage.
func TestRead_OfOthers(t *testing.T) {
	dir := t.TempDir()
	m := large()
	e := put(t, dir, m)
	part := m.AccountFiles["account-1"].Path
	if err := os.Remove(filepath.Join(dir, part)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), part) {
		t.Errorf("without %s: %v", part, err)
	}
	newer := bytes.Replace(e.Root, []byte(fmt.Sprintf(`"schema_version": %d`, schema.Version)),
		[]byte(`"schema_version": 99, "more": 1`), 1)
	copy(durable.FindSeal(newer), durable.Unsealed)
	durable.Seal(newer)
	if _, err := Decode(newer); !errors.Is(err, durable.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
}

// TestEncode_EqualContentGivesEqualFiles: an unchanged account keeps its file, loaded or not. A changed account gets a
// new file with another name.
func TestEncode_EqualContentGivesEqualFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, large())
	root, err := ReadRoot(durable.OS, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Load(durable.OS, dir, "account-1", "account-2"); err != nil {
		t.Fatal(err)
	}
	next := root.Clone()
	next.Generation++
	next.Accounts["account-2"].Settled = []string{"another"}
	e := put(t, dir, next)
	if len(e.AccountFiles) != 1 || e.AccountFiles[next.AccountFiles["account-2"].Path] == nil ||
		next.AccountFiles["account-2"].Path == root.AccountFiles["account-2"].Path {
		t.Errorf("written: %q", slices.Collect(maps.Keys(e.AccountFiles)))
	}
	for _, name := range []string{"account-0", "account-1"} {
		if !reflect.DeepEqual(next.AccountFiles[name], root.AccountFiles[name]) {
			t.Errorf("%s has another file", name)
		}
	}
	old, err := e.Replaced(durable.OS, dir)
	if err != nil || !slices.Equal(old, []string{root.AccountFiles["account-2"].Path}) {
		t.Errorf("replaced: %q, %v", old, err)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Encode(); err != nil || len(b.AccountFiles) != 0 || !bytes.Equal(b.Root, e.Root) {
		t.Errorf("read and written again, %d files differ: %v", len(b.AccountFiles), err)
	}
}
