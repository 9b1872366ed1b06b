package lake

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"spendsync/load/manifest"
)

// verify wants a finding that holds each of some words; none: it wants none.
func (w *world) verify(s *store, deep bool, words ...string) {
	w.Helper()
	v, err := w.open().Verify(w.Context(), s.dir, deep)
	if len(words) == 0 {
		if err != nil || v.Files != 12 || v.Rows != 34 || (v.Bytes > 0) != deep {
			w.Errorf("%+v, %v", v, err)
		}
		return
	}
	if !errors.Is(err, ErrDiffers) {
		w.Fatalf("got %v", err)
	}
	for _, word := range words {
		if !strings.Contains(strings.Join(v.Findings, "\n"), word) {
			w.Errorf("no %q in %q", word, v.Findings)
		}
	}
}

func TestVerify_FindsWhatDiffers(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	w.follow(s)
	w.verify(s, false)
	w.verify(s, true)
	victim := w.live(w.open())[0]
	path := victim.entry.DataFile().FilePath()
	b, err := readObject(victim.t, path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := victim.t.fs.WriteFile(path, b); err != nil {
		t.Fatal(err)
	}
	w.verify(s, false) // the metadata is as it was
	w.verify(s, true, path)
	if err := victim.t.fs.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.verify(s, true, path, "not there")
	w.compact("acme", "2026-11-01", "2026-11-02")
	w.verify(s, false, "of-another.parquet", "day=2026-11-01/data.parquet is in the store and not in the lake")
	s.publish()
	w.verify(s, false, "the lake has generation 1, the store 2")
}

// TestMaintain_ExpiresUnderAPinnedReader: a reader of a kept generation finds its files; those
// that only expired snapshots name are gone, and so is what nothing names.
func TestMaintain_ExpiresUnderAPinnedReader(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	for n := range 3 {
		s.spend("acme", "2026-11-02", 4, int64(n))
		s.publish()
		w.follow(s)
	}
	meta := w.rest.Metadata("spendsync", "spend_daily")
	pinned, old := meta.Snapshots()[1], meta.Snapshots()[0]
	l := w.open()
	tables, err := l.tables(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	daily := tables["spend_daily"]
	orphan := daily.tbl.Location() + "/data/account=acme/2026-11-02-R-0123456789ab-00000000.parquet"
	if err := daily.fs.WriteFile(orphan, []byte("nobody's")); err != nil {
		t.Fatal(err)
	}
	if done, err := l.Maintain(t.Context(), MaintainOptions{}); err != nil || done.Expired+done.Orphans != 0 {
		t.Fatalf("young files: %+v, %v", done, err)
	}
	// The first generation becomes eight days old.
	if err := w.rest.Edit("spendsync", "spend_daily", func(b []byte) []byte {
		at := strconv.FormatInt(old.TimestampMs, 10)
		earlier := strconv.FormatInt(old.TimestampMs-(8*24*time.Hour).Milliseconds(), 10)
		_, log, _ := bytes.Cut(b, []byte(`"metadata-log"`)) // which stays as it is
		log = bytes.Clone(log[:bytes.IndexByte(log, ']')])
		b = bytes.ReplaceAll(b, []byte(at), []byte(earlier))
		return bytes.Replace(b, bytes.ReplaceAll(log, []byte(at), []byte(earlier)), log, 1)
	}); err != nil {
		t.Fatal(err)
	}
	done, err := l.Maintain(t.Context(), MaintainOptions{OrphanAge: time.Nanosecond})
	if err != nil || done.Expired == 0 || done.Orphans == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := readObject(daily, orphan); !isNotThere(err) {
		t.Errorf("the orphan: %v", err)
	}
	files, err := pinned.Manifests(daily.fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range files {
		entries, err := entriesOf(m, daily.fs)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, err := readObject(daily, e.DataFile().FilePath()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := old.Manifests(daily.fs); err == nil {
		t.Error("the expired snapshot can be read")
	}
	w.check(w.open(), s)
	// A day that was there before and comes back gets an object of its own.
	s.spend("acme", "2026-11-02", 4, 0)
	s.publish()
	w.follow(s)
}

func TestMaintain_GroupsScatteredManifests(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	for n := range 12 {
		s.spend("acme", fmt.Sprintf("2026-11-%02d", 3+n), 1, 1)
	}
	s.publish()
	manifestTarget = 1
	defer func() { manifestTarget = 1000 }()
	w.follow(s)
	manifestTarget = 1000
	l := w.open()
	if got := w.manifests(l); got != 22 {
		t.Fatalf("%d manifests", got)
	}
	if done, err := l.Maintain(t.Context(), MaintainOptions{}); err != nil || done.Regroups != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := w.manifests(l); got != 1 {
		t.Errorf("%d manifests after", got)
	}
	w.check(l, s)
	s.spend("acme", "2026-11-03", 2, 2)
	s.publish()
	if done := w.follow(s); done.Added != 1 || done.Removed != 1 {
		t.Errorf("%+v", done)
	}
}

// manifests is how many manifests spend_daily has.
func (w *world) manifests(l *Lake) int {
	w.Helper()
	tables, err := l.tables(w.Context(), false)
	if err != nil {
		w.Fatal(err)
	}
	daily := tables["spend_daily"]
	all, err := daily.tbl.CurrentSnapshot().Manifests(daily.fs)
	if err != nil {
		w.Fatal(err)
	}
	return len(all)
}

// TestRestore_MakesTheStoreAgain: every file comes back byte by byte, also those of no table; and
// what is damaged or interrupted is no store.
func TestRestore_MakesTheStoreAgain(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	s.raw("acme", "one reply")
	s.ledgers()
	s.publish()
	follow := func() {
		t.Helper()
		if _, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.dir, KeepStore: true}); err != nil {
			t.Fatal(err)
		}
	}
	follow()
	s.raw("acme", "another reply")
	s.ledgers()
	s.publish()
	follow()
	dir := t.TempDir()
	done, err := w.open().Restore(t.Context(), dir, "")
	if err != nil || done.Generation != 3 || done.Files != 12+1+2 {
		t.Fatalf("%+v, %v", done, err)
	}
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range m.Accounts {
		for path := range a.Files {
			got, err := os.ReadFile(filepath.Join(dir, path))
			want, wantErr := os.ReadFile(filepath.Join(s.dir, path))
			if err != nil || wantErr != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v, %v", path, err, wantErr)
			}
		}
		for path, n := range a.Ledger {
			if b, err := os.ReadFile(filepath.Join(dir, path)); err != nil || manifest.CheckLedger(path, b, n,
				a.LedgerSHA256[path]) != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	w.check(w.open(), &store{t: t, dir: dir, m: m})
	if _, err := w.open().Restore(t.Context(), dir, ""); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("over a store: %v", err)
	}
	victim := w.live(w.open())[3]
	if err := victim.t.fs.WriteFile(victim.entry.DataFile().FilePath(), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if _, err := w.open().Restore(t.Context(), broken, "acme"); !errors.Is(err, ErrDiffers) {
		t.Errorf("a damaged object: %v", err)
	}
	if _, err := manifest.Read(broken); err == nil {
		t.Error("what was restored in part is a store")
	}
}

// raw stores a reply, which is in no table.
func (s *store) raw(account, text string) {
	path := manifest.RawPath(account, day("2026-11-02"), 1)
	s.write(path, []byte(text))
	s.m.Accounts[account].Files[path] = &manifest.File{Kind: manifest.KindRaw, Day: day("2026-11-02"),
		Bytes: int64(len(text)), SHA256: manifest.HashLedger([]byte(text)), RunID: s.run()}
}

// ledgers publishes what the ledgers hold now.
func (s *store) ledgers() {
	for account, a := range s.m.Accounts {
		path := manifest.LedgerPath(account, s.now)
		b, err := os.ReadFile(filepath.Join(s.dir, path))
		if err != nil {
			s.t.Fatal(err)
		}
		a.Ledger[path], a.LedgerSHA256[path] = int64(len(b)), manifest.HashLedger(b)
	}
}

// TestMaintain_LeavesOfKeptStoresWhatIsNamed: a reply that no generation names any more is gone once
// it is old; what another store names stays, and all of it while one manifest is missing.
func TestMaintain_LeavesOfKeptStoresWhatIsNamed(t *testing.T) {
	w := newWorld(t)
	s, other := sample(t), newStore(t, "gamma")
	other.spend("gamma", "2026-11-01", 1, 1)
	other.raw("gamma", "of the other store")
	other.publish()
	follow := func(s *store, keep bool) {
		t.Helper()
		s.publish()
		if _, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.dir, KeepStore: keep}); err != nil {
			t.Fatal(err)
		}
	}
	s.raw("acme", "one reply")
	follow(s, true)
	s.raw("acme", "another reply")
	follow(s, true)
	kept := func() map[string]int {
		t.Helper()
		marker, err := w.open().load(t.Context(), markerSpec())
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		err = marker.fs.(iceio.ListableIO).WalkDir(marker.tbl.Location()+"/store", func(object string, d fs.DirEntry,
			err error) error {
			if err == nil && !d.IsDir() {
				_, kind, _ := strings.Cut(object, "/store/")
				n[kind[:strings.Index(kind, "/")]]++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	maintain := func(age time.Duration, replies, manifests int) {
		t.Helper()
		if _, err := w.open().Maintain(t.Context(), MaintainOptions{OrphanAge: age}); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"objects": replies, "manifests": manifests}
		if got := kept(); !maps.Equal(got, want) {
			t.Errorf("kept are %v, want %v", got, want)
		}
	}
	maintain(0, 2, 2)               // two replies, two manifests: all young
	maintain(time.Nanosecond, 1, 1) // the newest of each
	follow(other, false)
	s.raw("acme", "a third reply")
	follow(s, true)
	maintain(time.Nanosecond, 2, 2) // the other store's manifest is not there
	follow(other, true)
	maintain(time.Nanosecond, 2, 2) // a reply and a manifest of each store
	restorable(w, s, other)
	s.raw("acme", "a fourth reply")
	s.publish()
	w.describe(s, "")
	maintain(time.Nanosecond, 3, 3) // what is described will be committed
	w.fold(nil)
	restorable(w, s, other)
}

// restorable wants the newest generation of stores back.
func restorable(w *world, stores ...*store) {
	w.Helper()
	t := w.TB
	for _, s := range stores {
		account, dir := s.m.AccountNames()[0], t.TempDir()
		if _, err := w.open().Restore(w.Context(), dir, account); err != nil {
			t.Errorf("%s: %v", account, err)
		}
		m, err := manifest.Read(dir)
		if err != nil || m.RunID != s.m.RunID {
			t.Errorf("%s: %v", account, err)
		}
	}
}
