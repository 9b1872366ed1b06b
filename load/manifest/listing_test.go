package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// large is a manifest of some megabytes, whose accounts differ in size, with texts that JSON
// escapes.
func large() *Manifest {
	m := New()
	m.Generation, m.RunID, m.Views = 7, "R7", "v"
	for i, days := range []int{0, 3000, 1, 5, 4000} {
		name := fmt.Sprintf("account-%d", i)
		a := m.Of(name)
		a.Since = 20000
		for d := range schema.Date(days) {
			a.Days[20000+d] = &Day{RunID: "R1", ContentHash: `"}{`}
			a.Files[PartPath(schema.SpendDaily.Table, name, 20000+d)] = &File{
				Kind: KindParquet, Table: "spend_daily", Day: 20000 + d, Rows: int64(d), Bytes: 9,
				SHA256: strings.Repeat("a", 64), RunID: "R1"}
		}
		a.Files["raw/a \"<\\.parquet"], a.Files[PartPath(schema.CampaignHistory.Table, name, 0)] =
			&File{Kind: KindRaw}, &File{Kind: KindParquet}
		a.Files["raw/x"] = &File{Kind: KindRaw, Fingerprint: "f"}
		a.Ledger["ledger/x"], a.LedgerSHA256["ledger/x"] = 7, "b"
		a.Confirmations["t"] = history.Confirmations{}
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
	for path, b := range e.Parts {
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

// listingOf is the listing of a manifest in a data directory.
func listingOf(t testing.TB, m *Manifest) *Listing {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, &Manifest{Head: m.Head, Parts: map[string]*Part{}, Accounts: m.Accounts})
	l, err := OpenListing(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestListing_IsTheManifest: a listing has the content of the manifest.
func TestListing_IsTheManifest(t *testing.T) {
	empty := New()
	empty.Generation = 1
	for _, m := range []*Manifest{large(), empty} {
		dir := t.TempDir()
		put(t, dir, m)
		want, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		here, err := OpenListing(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		compareListing(t, here, want)
	}
}

func compareListing(t *testing.T, l *Listing, want *Manifest) {
	t.Helper()
	if l.Manifest.Generation != want.Generation || l.Manifest.RunID != want.RunID || l.Manifest.Views != want.Views ||
		len(l.Manifest.Accounts) != 0 ||
		!slices.Equal(l.Names(), want.AccountNames()) {
		t.Errorf("%+v of %q", l.Manifest, l.Names())
	}
	for _, a := range l.Accounts {
		is := want.Accounts[a.Name]
		ledger, hashes, err := a.Ledgers()
		if err != nil || !maps.Equal(ledger, is.Ledger) || !maps.Equal(hashes, is.LedgerSHA256) ||
			a.Part.Days != int64(len(is.Days)) {
			t.Errorf("account %s: %d days, %v", a.Name, a.Part.Days, err)
		}
		for day := range is.Days {
			has, err := a.HasDay(day)
			other, _ := a.HasDay(day + 10_000)
			if !has || other || err != nil {
				t.Fatalf("account %s: day %s, %v", a.Name, day, err)
			}
		}
		files := map[string]*File{}
		groups, err := a.Groups()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			some, err := a.Files(g)
			if err != nil {
				t.Fatal(err)
			}
			for path, f := range some {
				if folder, month := groupOf(path); folder != g.Folder || month != g.Month {
					t.Fatalf("%s is in the group of %s, %d", path, g.Folder, g.Month)
				}
				files[path] = f
			}
		}
		if !maps.EqualFunc(files, is.Files, func(a, b *File) bool { return *a == *b }) {
			t.Errorf("account %s: %d files", a.Name, len(files))
		}
	}
}

// TestListing_HashesWhatAGroupSays: of two generations, the groups that differ are those that were changed, whatever
// stands beside them.
func TestListing_HashesWhatAGroupSays(t *testing.T) {
	hashes := func(m *Manifest) map[string]uint64 {
		l := listingOf(t, m)
		all := map[string]uint64{}
		for _, a := range l.Accounts {
			groups, err := a.Groups()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				key := fmt.Sprintf("%s %s %d", a.Name, g.Folder, g.Month)
				if _, twice := all[key]; twice {
					t.Errorf("%s comes twice", key)
				}
				all[key] = g.Hash
			}
		}
		return all
	}
	m := large()
	before := hashes(m)
	if len(before) < 200 {
		t.Fatalf("%d groups", len(before))
	}
	m.Generation++
	m.Of("account-0").Settled = []string{"another"}
	changed := PartPath(schema.SpendDaily.Table, "account-4", 20100)
	f := *m.Of("account-4").Files[changed]
	f.Rows++
	m.Of("account-4").Files[changed] = &f
	after := hashes(m)
	_, month := groupOf(changed)
	want := []string{fmt.Sprintf("account-4 parquet/spend_daily %d", month)}
	var got []string
	for key, hash := range after {
		if before[key] != hash {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q differ, not %q", got, want)
	}
}

// TestManifest_RefusesAChangedByte: anywhere in the root, in an account file and in a bundle; and a
// newer format, a missing account file, a text that is cut, nothing at all.
func TestManifest_RefusesAChangedByte(t *testing.T) {
	dir := t.TempDir()
	m := large()
	e := put(t, dir, m)
	part := m.Parts["account-1"].Path
	for path, good := range map[string][]byte{FileName: e.Root, part: e.Parts[part]} {
		for at := 0; at < len(good); at += len(good)/20 + 1 {
			b := bytes.Clone(good)
			b[at] ^= 1
			write(t, filepath.Join(dir, path), b)
			var d *durable.Damage
			if _, err := Read(dir); !errors.As(err, &d) || d.Path != path {
				t.Errorf("byte %d of %s: %v", at, path, err)
			}
		}
		write(t, filepath.Join(dir, path), good)
	}
	if err := os.Remove(filepath.Join(dir, part)); err != nil {
		t.Fatal(err)
	}
	_, readErr := Read(dir)
	_, openErr := OpenListing(dir)
	for _, err := range []error{readErr, openErr} {
		if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), part) {
			t.Errorf("without %s: %v", part, err)
		}
	}
	newer := bytes.Replace(e.Root, []byte(fmt.Sprintf(`"schema_version": %d`, schema.Version)),
		[]byte(`"schema_version": 99, "more": 1`), 1)
	copy(durable.FindSeal(newer), durable.Unsealed)
	durable.Seal(newer)
	if _, err := Decode(newer); !errors.Is(err, durable.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := OpenListing(t.TempDir()); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
}

// TestEncode_EqualContentGivesEqualFiles: an account whose content is unchanged keeps its file,
// whether it is loaded or not, and a changed one gets a file of another name beside the old one.
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
	if len(e.Parts) != 1 || e.Parts[next.Parts["account-2"].Path] == nil ||
		next.Parts["account-2"].Path == root.Parts["account-2"].Path {
		t.Errorf("written: %q", slices.Collect(maps.Keys(e.Parts)))
	}
	for _, name := range []string{"account-0", "account-1"} {
		if !reflect.DeepEqual(next.Parts[name], root.Parts[name]) {
			t.Errorf("%s has another file", name)
		}
	}
	old, err := e.Replaced(durable.OS, dir)
	if err != nil || !slices.Equal(old, []string{root.Parts["account-2"].Path}) {
		t.Errorf("replaced: %q, %v", old, err)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Encode(); err != nil || len(b.Parts) != 0 || !bytes.Equal(b.Root, e.Root) {
		t.Errorf("read and written again, %d files differ: %v", len(b.Parts), err)
	}
}

// failing is a text that can't be read any more.
type failing struct {
	*bytes.Reader
	fails bool
}

func (f *failing) ReadAt(b []byte, at int64) (int, error) {
	if f.fails {
		return 0, &fs.PathError{Op: "read", Path: FileName, Err: syscall.EIO}
	}
	return f.Reader.ReadAt(b, at)
}

// TestListing_DiskFails: an error of the disk is not damage.
func TestListing_DiskFails(t *testing.T) {
	l := listingOf(t, large())
	text := &failing{Reader: bytes.NewReader(nil)}
	a := l.Accounts[1]
	content, err := io.ReadAll(io.NewSectionReader(a.text, 0, a.Part.Bytes))
	if err != nil {
		t.Fatal(err)
	}
	text.Reader, a.text = bytes.NewReader(content), text
	groups, err := a.Groups()
	if err != nil {
		t.Fatal(err)
	}
	text.fails = true
	_, err = a.Files(groups[0])
	_, _, ledgers := a.Ledgers()
	for _, err := range []error{err, ledgers} {
		if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
}

// TestListing_Closes what it reads.
func TestListing_Closes(t *testing.T) {
	l := listingOf(t, large())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accounts[0].Groups(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("an account file is open after that: %v", err)
	}
}

// TestListing_InAnyOrder: the days of an account file are found in whatever order they stand.
func TestListing_InAnyOrder(t *testing.T) {
	text := []byte(`{"days": {"2026-03-10": {}, "2026-03-08": {}, "2026-03-09": {}}}`)
	sha := HashLedger(text)
	a := &Listed{Name: "acme", Part: &Part{Path: accountPath("acme", sha), SHA256: sha, Bytes: int64(len(text))},
		text: bytes.NewReader(text)}
	for day := schema.NewDate(2026, 3, 7); day <= schema.NewDate(2026, 3, 11); day++ {
		has, err := a.HasDay(day)
		if want := day > schema.NewDate(2026, 3, 7) && day < schema.NewDate(2026, 3, 11); has != want || err != nil {
			t.Errorf("%s: %t, %v", day, has, err)
		}
	}
	a = &Listed{Name: "acme", Part: a.Part, text: bytes.NewReader(bytes.Replace(text, []byte("10"), []byte("11"), 1))}
	if has, err := a.HasDay(schema.NewDate(2026, 3, 8)); has || !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("of other bytes than the root names: %t, %v", has, err)
	}
}

// TestGroupOf: files of a day belong to its month, in months since January 1970, and files that spendsync did not
// put anywhere to no folder.
func TestGroupOf(t *testing.T) {
	for path, c := range map[string]struct {
		folder string
		month  int
	}{
		"parquet/a/account=x/day=1970-01-31/data.parquet":  {"parquet/a", 0},
		"parquet/a/account=x/day=1970-02-01/data.parquet":  {"parquet/a", 1},
		"parquet/a/account=x/seen=2026-12-31/data.parquet": {"parquet/a", 683},
		"raw/spend_report/account=x/day=2027-01-01/1.zst":  {"raw/spend_report", 684},
		"parquet/a/account=x/data.parquet":                 {"parquet/a", NoMonth},
		"raw/a/account=x/index.jsonl.zst":                  {"raw/a", NoMonth},
		"raw/a/account=x/day=2026-01-01/more/x":            {"raw/a", NoMonth},
		"raw/a/account=x/2026-01-01/x":                     {"raw/a", NoMonth},
		"raw/a/account=x/day=2026-02-30/x":                 {"", NoMonth},
		"raw/a/account=x":                                  {"", NoMonth},
		"raw/x":                                            {"", NoMonth},
	} {
		if folder, month := groupOf(path); folder != c.folder || month != c.month {
			t.Errorf("%s: %q, %d; want %q, %d", path, folder, month, c.folder, c.month)
		}
	}
}
