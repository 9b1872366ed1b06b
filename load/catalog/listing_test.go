package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
			a.Files[fmt.Sprintf("parquet/%s/%s/a \"<\\%d.parquet", name, 20000+d, d)] = &FileInfo{
				Kind: KindParquet, Table: "spend_daily", Day: 20000 + d, Rows: int64(d), Bytes: 9,
				SHA256: strings.Repeat("a", 64), RunID: "R1"}
		}
		a.Files["raw/x"] = &FileInfo{Kind: KindRaw, Fingerprint: "f"}
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
	if err := os.WriteFile(filepath.Join(dir, ManifestName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenListing(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Manifest.Generation != want.Generation || l.Manifest.RunID != want.RunID || l.Manifest.Views != want.Views ||
		len(l.Manifest.Accounts) != 0 ||
		!slices.Equal(l.Names, want.AccountNames()) {
		t.Errorf("%+v of %q", l.Manifest, l.Names)
	}
	for range 2 { // it may be read again
		var names []string
		for a, err := range l.Accounts() {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, a.Name)
			is := want.Accounts[a.Name]
			if a.Since != is.Since || !slices.Equal(a.DayList(), is.DayList()) ||
				!reflect.DeepEqual(a.Ledger, is.Ledger) ||
				!reflect.DeepEqual(a.LedgerSHA256, is.LedgerSHA256) || len(a.Files) != len(is.Files) {
				t.Errorf("account %s: %d days, %d files", a.Name, len(a.Days), len(a.Files))
			}
			for path, f := range is.Files {
				if a.Files[path] == nil || *a.Files[path] != *f {
					t.Fatalf("account %s: %q is %+v, not %+v", a.Name, path, a.Files[path], *f)
				}
			}
		}
		if !slices.Equal(names, l.Names) {
			t.Errorf("accounts %q of %q", names, l.Names)
		}
	}
	again, err := l.Text()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(again); err != nil || l.whole == nil && !bytes.Equal(b, text) {
		t.Errorf("%d bytes, %v", len(b), err)
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
		if _, err := NewListing(bytes.NewReader(b)); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if _, err := NewListing(bytes.NewReader(sealed[:len(sealed)/2])); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	newer := bytes.Replace(sealed, []byte(fmt.Sprintf(`"schema_version": %d`, schema.Version)),
		[]byte(`"schema_version": 99`), 1)
	newer = bytes.Replace(newer, []byte(m.Checksum), []byte(strings.Repeat("0", 64)), 1)
	durable.Seal(newer)
	if _, err := NewListing(bytes.NewReader(newer)); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := OpenListing(t.TempDir()); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
}

// failing is a text whose second reading fails in the middle.
type failing struct {
	*bytes.Reader
	left int // bytes of the second reading
}

func (f *failing) Seek(offset int64, whence int) (int64, error) {
	f.left = 100_000
	return f.Reader.Seek(offset, whence)
}

func (f *failing) Read(b []byte) (int, error) {
	if f.left < len(b) {
		return 0, &fs.PathError{Op: "read", Path: ManifestName, Err: syscall.EIO}
	}
	n, err := f.Reader.Read(b)
	f.left -= n
	return n, err
}

// TestListing_DiskFails: that the disk can't be read is not damage.
func TestListing_DiskFails(t *testing.T) {
	sealed, err := large().Encode()
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewListing(&failing{bytes.NewReader(sealed), 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range l.Accounts() {
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ErrStorage) || errors.Is(err, ErrDamaged) {
		t.Errorf("accounts: %v", err)
	}
}
