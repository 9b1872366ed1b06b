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
		a.Memory["t"] = history.Memory{}
		a.Settled = []string{"C1", "\n  }"}
		a.MartsFrom, a.SettledTables = 20001, -3
	}
	return m
}

// TestListing_IsTheManifest: what a listing says is what the manifest says, in either format.
func TestListing_IsTheManifest(t *testing.T) {
	empty := New()
	empty.Generation = 1
	for name, m := range map[string]*Manifest{"large": large(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			sealed, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			old := bytes.Replace(sealed, []byte(`"format": 2`), []byte(`"format": 1`), 1)
			old = bytes.Replace(old, []byte(fmt.Sprintf(" \"checksum\": %q,\n", m.Checksum)), nil, 1)
			for _, text := range [][]byte{sealed, old} {
				want, err := Decode(text)
				if err != nil {
					t.Fatal(err)
				}
				compareListing(t, text, want)
			}
		})
	}
}

func compareListing(t *testing.T, text []byte, want *Manifest) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenListing(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Manifest.Generation != want.Generation || l.Manifest.RunID != want.RunID || l.Manifest.Views != want.Views ||
		len(l.Manifest.Accounts) != 0 ||
		!slices.Equal(l.Names(), want.AccountNames()) {
		t.Errorf("%+v of %q", l.Manifest, l.Names())
	}
	for _, a := range l.Accounts {
		is := want.Accounts[a.Name]
		ledger, hashes, err := l.Ledgers(a)
		if err != nil || !maps.Equal(ledger, is.Ledger) || !maps.Equal(hashes, is.LedgerSHA256) ||
			a.DayCount() != int64(len(is.Days)) {
			t.Errorf("account %s: %d days, %v", a.Name, a.DayCount(), err)
		}
		for day := range is.Days {
			if !a.HasDay(day) || a.HasDay(day+10_000) {
				t.Fatalf("account %s: day %s", a.Name, day)
			}
		}
		files := map[string]*File{}
		for _, g := range a.Groups {
			if g.Folder == DaysFolder {
				continue
			}
			some, err := l.Files(a.Name, g)
			if err != nil {
				t.Fatal(err)
			}
			for path, f := range some {
				if folder, month := groupOf([]byte(path)); folder != g.Folder || month != g.Month {
					t.Fatalf("%s is in the group of %s, %d", path, g.Folder, g.Month)
				}
				files[path] = f
			}
		}
		if !maps.EqualFunc(files, is.Files, func(a, b *File) bool { return *a == *b }) {
			t.Errorf("account %s: %d files", a.Name, len(files))
		}
	}
	if b, err := io.ReadAll(l.Text()); err != nil || want.Format == 2 && !bytes.Equal(b, text) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// TestListing_HashesWhatAGroupSays: of two generations, the groups that differ are those that were changed, whatever
// stands beside them.
func TestListing_HashesWhatAGroupSays(t *testing.T) {
	hashes := func(m *Manifest) map[string]uint64 {
		l, err := ListingOf(m)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]uint64{}
		for _, a := range l.Accounts {
			for _, g := range a.Groups {
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
	if len(before) < 400 {
		t.Fatalf("%d groups", len(before))
	}
	m.Generation++
	m.Of("account-0").Settled = []string{"another"}
	changed := PartPath(schema.SpendDaily.Table, "account-4", 20100)
	f := *m.Of("account-4").Files[changed]
	f.Rows++
	m.Of("account-4").Files[changed] = &f
	m.Of("account-4").Days[24000] = &Day{} // a month more: what was the last is followed by a comma now
	after := hashes(m)
	_, month := groupOf([]byte(changed))
	want := []string{"account-4 days 788", fmt.Sprintf("account-4 parquet/spend_daily %d", month)}
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

// TestListing_RefusesWhatDecodeRefuses: a changed byte anywhere, a newer format, nothing at all.
func TestListing_RefusesWhatDecodeRefuses(t *testing.T) {
	m := large()
	sealed, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(sealed); at += len(sealed)/20 + 1 {
		b := bytes.Clone(sealed)
		b[at] ^= 1
		if _, err := NewListing(bytes.NewReader(b), int64(len(b))); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if _, err := NewListing(bytes.NewReader(sealed), int64(len(sealed)/2)); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	newer := bytes.Replace(sealed, []byte(fmt.Sprintf(`"schema_version": %d`, schema.Version)),
		[]byte(`"schema_version": 99`), 1)
	newer = bytes.Replace(newer, []byte(m.Checksum), []byte(strings.Repeat("0", 64)), 1)
	durable.Seal(newer)
	if _, err := NewListing(bytes.NewReader(newer), int64(len(newer))); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := OpenListing(t.TempDir()); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("nothing: %v", err)
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

// TestListing_DiskFails: that the disk can't be read is not damage.
func TestListing_DiskFails(t *testing.T) {
	sealed, err := large().Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := &failing{Reader: bytes.NewReader(sealed)}
	l, err := NewListing(text, int64(len(sealed)))
	if err != nil {
		t.Fatal(err)
	}
	text.fails = true
	_, err = l.Files("account-1", l.Accounts[1].Groups[0])
	_, _, ledgers := l.Ledgers(l.Accounts[1])
	_, again := NewListing(text, int64(len(sealed)))
	for _, err := range []error{err, ledgers, again} {
		if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
}

// TestListing_IsPutTogetherAgain: the months and the rest make the same text, byte by byte.
func TestListing_IsPutTogetherAgain(t *testing.T) {
	l, err := ListingOf(large())
	if err != nil {
		t.Fatal(err)
	}
	rest, err := l.Rest()
	if err != nil || int64(len(rest)) > l.size/20 {
		t.Fatalf("%d bytes of %d, %v", len(rest), l.size, err)
	}
	var got bytes.Buffer
	err = Join(&got, rest, func(month int) (io.Reader, error) {
		text, err := l.Month(month)
		return bytes.NewReader(text), err
	})
	want, _ := io.ReadAll(l.Text())
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, not %d: %v", got.Len(), len(want), err)
	}
	kept, err := NewRest(rest)
	if err != nil || !slices.Equal(kept.Names(), l.Names()) {
		t.Fatal(err)
	}
	for _, a := range kept.Accounts {
		for _, g := range a.Groups {
			if g.Month != NoMonth {
				t.Errorf("%s has files of a month: %+v", a.Name, g)
			}
		}
	}
}
