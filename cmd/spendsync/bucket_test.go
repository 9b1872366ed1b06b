package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/load/manifest"
	"spendsync/load/remote"
	"spendsync/schema/schematest"
)

// TestBucket_InPlaceOfAVolume: with SPENDSYNC_BUCKET runs that each begin in an empty folder end as those of a store
// that stayed. What reads finds the bucket where there is no store.
func TestBucket_InPlaceOfAVolume(t *testing.T) {
	w := makeWorld(t, small)
	w.bucket = remote.Options{Pause: time.Millisecond}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, url := newS3(t)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	pod := w.copied(t)
	for range 2 {
		w.restate(w.today() - 1)
		w.must("sync")
		pod.dir = filepath.Join(t.TempDir(), "data")
		pod.env["DATA_DIR"], pod.env["BUCKET"] = pod.dir, url
		pod.must("sync")
	}
	for _, q := range []string{
		"SELECT * EXCLUDE (_run_id, _first_seen_at, _changed_at) FROM spend_daily ORDER BY ALL",
		"SELECT * EXCLUDE (_run_id, seen_at) FROM spend_change ORDER BY ALL",
		"SELECT report_date, state, reads, rows, spend, content_hash FROM ops.day_coverage ORDER BY ALL",
		"SELECT count(*) FROM ops.run",
	} {
		if got, want := pod.lines(q), w.lines(q); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %d lines, want %d", q, len(got), len(want))
		}
	}
	reader := pod.copied(t)
	if err := os.RemoveAll(reader.dir); err != nil {
		t.Fatal(err)
	}
	if got := reader.must("query", "--format", "csv", "-c", "SELECT count(*) FROM ops.run WHERE published"); !strings.
		Contains(got, "2") {
		t.Errorf("the bucket has %s", got)
	}
	reader.must("verify")
}

// TestBucket_ThatFails: a push that fails after a publication is exit 4, with the generation published, and a bucket
// that cannot be read lets an empty volume begin nothing.
func TestBucket_ThatFails(t *testing.T) {
	schematest.Long(t) // package remote lets each request fail
	w := makeWorld(t, small)
	w.bucket = remote.Options{Pause: time.Millisecond}
	s, url := newS3(t)
	w.env["BUCKET"] = url
	s.answer("", 403, "AccessDenied")
	w.wantEnd(exit.Auth, "refuses access to current.json", "check the credentials", "sync")
	if _, err := manifest.Read(w.dir); err == nil {
		t.Error("a new store was begun beside the bucket's")
	}
	s.answer("PUT", 403, "AccessDenied")
	code, _, last := w.run("sync")
	m, err := manifest.Read(w.dir)
	if code != exit.Partial || err != nil || m.Generation != 1 || !strings.Contains(last, "refuses access") {
		t.Errorf("exit %d, %v: %s", code, err, last)
	}
	s.replies.Store(nil)
	w.must("sync")
	w.must("verify", "--from", url)
	w.wantEnd(exit.Usage, "it is s3://BUCKET/PREFIX", "correct", "push", "ftp://x/y")
	w.env["BUCKET"] = "nothing"
	w.wantEnd(exit.Usage, "it is s3://BUCKET/PREFIX", "correct", "sync")
}
