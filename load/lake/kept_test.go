package lake

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// puts counts what is put below a folder of what is kept, several at a time.
func (w *world) puts() map[string]int {
	n := map[string]int{}
	var mu sync.Mutex
	w.s3fault = func(r *http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if _, object, ok := strings.Cut(r.URL.Path, "/store/"); ok && r.Method == http.MethodPut {
			n[object[:strings.Index(object, "/")]]++
		}
		return 0
	}
	return n
}

// restored compares the manifest that comes back with the store's.
func (w *world) restored(s *store) {
	w.Helper()
	dir := w.TempDir()
	if _, err := w.open().Restore(w.Context(), dir, "acme"); err != nil {
		w.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	want, wantErr := os.ReadFile(filepath.Join(s.dir, manifest.FileName))
	if err != nil || wantErr != nil || !bytes.Equal(got, want) {
		w.Errorf("the manifest is another: %d bytes of %d, %v, %v", len(got), len(want), err, wantErr)
	}
}

// TestKeepStore_UploadsOnlyMonthsThatDiffer: of a manifest with three months, the one that changed, and of that the
// one reply that is new; what comes back is the same, byte by byte.
func TestKeepStore_UploadsOnlyMonthsThatDiffer(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	s.raw("acme", "one reply")
	s.raw("beta-with-a-name-that-is-forty-long-0001", "of another account")
	s.publish()
	puts := w.puts()
	w.keep(s)
	if puts["months"] != 3 || puts["objects"] != 2 || puts["manifests"] != 1 {
		t.Errorf("first: %v", puts)
	}
	w.restored(s)
	s.raw("acme", "another reply")
	s.spend("acme", "2026-11-01", 2, 8)
	s.publish()
	puts = w.puts()
	w.keep(s)
	if puts["months"] != 1 || puts["objects"] != 1 || puts["manifests"] != 1 {
		t.Errorf("second: %v", puts)
	}
	w.restored(s)
}

// TestKeepStore_GoesOnFromOneText: what a version kept that uploaded the manifest whole is restored, and what it
// has uploaded is not uploaded again.
func TestKeepStore_GoesOnFromOneText(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	s.raw("acme", "one reply")
	s.publish()
	w.keep(s)
	marker, err := w.open().load(t.Context(), markerSpec())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, manifest.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := marker.fs.Remove(marker.tbl.Location() + keptObject(s.m.Generation, s.m.RunID)); err != nil {
		t.Fatal(err)
	}
	object := marker.tbl.Location() + manifestObject(s.m.Generation, s.m.RunID)
	if err := marker.putCompressed(t.Context(), object, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	w.restored(s)
	s.spend("acme", "2026-11-01", 2, 8)
	s.publish()
	puts := w.puts()
	w.keep(s)
	if puts["objects"] != 0 || puts["months"] != 3 {
		t.Errorf("%v", puts)
	}
	w.restored(s)
}

// TestFollow_ReadsOfALongHistoryWhatDiffers: an hour of three accounts with three years of days reads the index of the
// manifest and one month, which a spoiled byte in another month shows; it uploads that month alone. Whoever verifies
// reads all.
func TestFollow_ReadsOfALongHistoryWhatDiffers(t *testing.T) {
	w, s := filled(t, 3, 1095)
	s.spend("account-001", (today - 1).String(), 3, 7)
	s.publish()
	path := filepath.Join(s.dir, manifest.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("spend_daily"))] ^= 1
	s.write(manifest.FileName, text)
	puts := w.puts()
	done, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.dir, KeepStore: true})
	if err != nil || done.Added != 1 || done.Removed != 1 || puts["months"] != 1 || puts["objects"] != 0 {
		t.Errorf("%+v, %v, %v", done, err, puts)
	}
	if _, err := w.open().Verify(t.Context(), s.dir, false); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("verify: %v", err)
	}
}
