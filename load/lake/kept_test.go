package lake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
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
	got, err := manifest.Read(dir)
	want, wantErr := manifest.Read(s.dir)
	if err != nil || wantErr != nil || !reflect.DeepEqual(got.Accounts, want.Accounts) ||
		got.Generation != want.Generation || got.RunID != want.RunID || got.PublishedAt != want.PublishedAt {
		w.Errorf("the manifest is another: %+v, not %+v, %v, %v", got, want, err, wantErr)
	}
}

// TestKeepStore_UploadsOnlyNewParts: of two generations, a reply that both have is uploaded once; both
// manifests come back.
func TestKeepStore_UploadsOnlyNewParts(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	s.raw("acme", "one reply")
	s.raw("beta-with-a-name-that-is-forty-long-0001", "of another account")
	s.publish()
	puts := w.puts()
	w.keep(s)
	if puts["objects"] != 2 || puts["manifests"] != 1 {
		t.Errorf("first: %v", puts)
	}
	w.restored(s)
	s.raw("acme", "another reply")
	s.spend("acme", "2026-11-01", 2, 8)
	s.publish()
	puts = w.puts()
	w.keep(s)
	if puts["objects"] != 1 || puts["manifests"] != 1 {
		t.Errorf("second: %v", puts)
	}
	w.restored(s)
}

// TestRestore_ReadsWhatOlderVersionsKept: a manifest as one text, and one that is cut by months.
func TestRestore_ReadsWhatOlderVersionsKept(t *testing.T) {
	w := newWorld(t)
	s := sample(t)
	s.raw("acme", "one reply")
	s.publish()
	w.keep(s)
	marker, err := w.open().load(t.Context(), markerSpec())
	if err != nil {
		t.Fatal(err)
	}
	at := marker.tbl.Location()
	if err := marker.fs.Remove(at + keptObject(s.m.Generation, s.m.RunID)); err != nil {
		t.Fatal(err)
	}
	whole, rest, months := olderTexts(t, s.m)
	put := func(object string, text []byte) {
		if err := marker.putCompressed(t.Context(), at+object, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	put(oldObject(s.m.Generation, s.m.RunID), whole)
	w.restored(s)
	if err := marker.fs.Remove(at + oldObject(s.m.Generation, s.m.RunID)); err != nil {
		t.Fatal(err)
	}
	put(cutObject(s.m.Generation, s.m.RunID), rest)
	for sha, text := range months {
		put("/store/months/"+sha+".json.zst", text)
	}
	w.restored(s)
}

// olderTexts writes a manifest as the second format did: as one text, and as a version cut it that took
// the files of each month out of it.
func olderTexts(t *testing.T, m *manifest.Manifest) (whole, rest []byte, months map[string][]byte) {
	t.Helper()
	text := func(v any, indent string) string {
		b, err := json.MarshalIndent(v, indent, " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	head := m.Head
	head.Format, head.Checksum = 2, durable.Unsealed
	all := strings.TrimSuffix(text(head, ""), "\n}") + ",\n \"accounts\": " + text(m.Accounts, " ") + "\n}"
	whole = []byte(all)
	durable.Seal(whole)
	entry := regexp.MustCompile(`(?m)^    "parquet/spend_daily/account=[^"]*": \{\n(     .*\n)*    \}`)
	objects, lines := map[string]string{}, map[string]map[string]string{}
	cut := entry.ReplaceAllStringFunc(string(whole), func(e string) string {
		day, _, _ := strings.Cut(e[strings.Index(e, "/day=")+len("/day="):], "/")
		d, err := schema.ParseDate(day)
		if err != nil {
			t.Fatal(err)
		}
		month := strconv.Itoa(monthOf(d))
		sep := ",\n"
		if objects[month] == "" {
			sep = "{\n"
		}
		objects[month] += sep + e
		return fmt.Sprintf("    \"#%s\": %d", month, len(e))
	})
	months = map[string][]byte{}
	for month, object := range objects {
		b := []byte(object + "\n}\n")
		sha := manifest.HashLedger(b)
		months[sha], lines[month] = b, map[string]string{"SHA256": sha}
	}
	named, err := json.Marshal(map[string]any{"Months": lines})
	if err != nil {
		t.Fatal(err)
	}
	return whole, append(append(named, '\n'), cut...), months
}

// TestFollow_ReadsTheAccountsThatChanged: an hour in which one of three accounts has a new day reads the
// file of that account alone, which a spoiled byte in another file shows. Verify reads all.
func TestFollow_ReadsTheAccountsThatChanged(t *testing.T) {
	w, s := filled(t, 3, 1095)
	if _, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.dir, KeepStore: false}); err != nil {
		t.Fatal(err)
	}
	s.spend("account-001", (today - 1).String(), 3, 7)
	s.publish()
	part := s.m.Parts["account-002"].Path
	text, err := os.ReadFile(filepath.Join(s.dir, part))
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("spend_daily"))] ^= 1
	s.write(part, text)
	done, err := w.open().Follow(t.Context(), FollowOptions{Dir: s.dir})
	if err != nil || done.Added != 1 || done.Removed != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := w.open().Verify(t.Context(), s.dir, false); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("verify: %v", err)
	}
}
