package lake

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

// verify verifies the lake. It checks that each of the words occurs in a finding; without words, it checks that there
// is no finding.
func (w *world) verify(s *store, deep bool, words ...string) {
	w.Helper()
	v, err := w.open().Verify(w.Context(), s.Dir, deep)
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
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	w.follow(s)
	w.verify(s, false)
	w.verify(s, true)
	path := w.Live()[0].FilePath()
	b := w.Read(path)
	b[len(b)/2] ^= 1
	w.Write(path, b)
	w.verify(s, false) // the metadata is unchanged
	w.verify(s, true, path)
	w.Remove(path)
	w.verify(s, true, path, "not there")
	w.compact("acme", "2026-11-01", "2026-11-02")
	w.verify(s, false, "of-another.parquet", "day=2026-11-01/data.parquet is in the store and not in the lake")
	s.Publish()
	w.verify(s, false, "the lake has generation 1, the store 2")
}

// TestMaintain_ExpiresUnderAPinnedReader: if the snapshot of an older generation is kept, a reader of that generation
// still finds the files. Files to which only expired snapshots refer are deleted, and so are orphans (objects to which
// no table refers).
func TestMaintain_ExpiresUnderAPinnedReader(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t)
	s := sample(t)
	for n := range 3 {
		s.Spend("acme", "2026-11-02", 4, int64(n))
		s.Publish()
		w.follow(s)
	}
	meta := w.Rest.Metadata("spendsync", "spend_daily")
	pinned, old := meta.Snapshots()[1], meta.Snapshots()[0]
	l := w.open()
	daily, err := l.load(l.storage(t.Context()), specOf(schema.SpendDaily.Table))
	if err != nil {
		t.Fatal(err)
	}
	orphan := daily.tbl.Location() + "/data/account=acme/2026-11-02-R-0123456789ab-00000000.parquet"
	w.Write(orphan, []byte("nobody's"))
	if done, err := l.Maintain(t.Context(), MaintainOptions{}); err != nil || done.Expired+done.Orphans != 0 {
		t.Fatalf("young files: %+v, %v", done, err)
	}
	// The first generation becomes eight days old.
	if err := w.Rest.Edit("spendsync", "spend_daily", func(b []byte) []byte {
		at := strconv.FormatInt(old.TimestampMs, 10)
		earlier := strconv.FormatInt(old.TimestampMs-(8*24*time.Hour).Milliseconds(), 10)
		_, log, _ := bytes.Cut(b, []byte(`"metadata-log"`)) // must stay unchanged
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
	if slices.Contains(w.Keys(), strings.TrimPrefix(orphan, "s3://lake/")) {
		t.Error("the orphan stays")
	}
	files, err := pinned.Manifests(daily.fs)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range files {
		for e, err := range m.Entries(daily.fs, true) {
			if err != nil {
				t.Fatal(err)
			}
			w.Read(e.DataFile().FilePath())
		}
	}
	if _, err := old.Manifests(daily.fs); err == nil {
		t.Error("the expired snapshot can be read")
	}
	w.check(w.open(), s)
	// The day has its earlier content again, and still gets a new object.
	s.Spend("acme", "2026-11-02", 4, 0)
	s.Publish()
	w.follow(s)
}

// TestMaintain_WithoutTheRightToDelete: without permission to delete, maintenance fails and leaves the lake unchanged.
// The next run with permission deletes everything.
func TestMaintain_WithoutTheRightToDelete(t *testing.T) {
	schematest.Long(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	w, s := newWorld(t), sample(t)
	w.follow(s)
	s.Spend("acme", "2026-11-02", 4, 8)
	s.Publish()
	w.follow(s)
	orphan := "s3://lake/wh/spendsync/spend_daily/data/account=acme/2026-11-02-R-0123456789ab-00000000.parquet"
	w.Write(orphan, []byte("nobody's"))
	w.S3Fault = func(r *http.Request) int {
		if r.Method == http.MethodDelete || r.Method == http.MethodPost && r.URL.Query().Has("delete") {
			return http.StatusForbidden
		}
		return 0
	}
	o := MaintainOptions{SnapshotAge: time.Nanosecond, OrphanAge: time.Nanosecond}
	done, err := w.open().Maintain(t.Context(), o)
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "spend_daily") {
		t.Errorf("%+v, %v", done, err)
	}
	w.check(w.open(), s)
	w.S3Fault = nil
	before := len(w.Keys())
	if done, err := w.open().Maintain(t.Context(), o); err != nil || done.Orphans == 0 || len(w.Keys()) >= before {
		t.Errorf("%+v, %v; %d objects, then %d", done, err, before, len(w.Keys()))
	}
	w.check(w.open(), s)
}
