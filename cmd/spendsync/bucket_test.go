package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
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
	pod := w.copied(t).withMarts() // the page of a push is made of them
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

// TestBucket_ThatVanished: where pushes have ended and nothing is left, as on a share that is not mounted, nothing is
// begun: each run ends in 4 and says so, until the share is back or a person begins it anew.
func TestBucket_ThatVanished(t *testing.T) {
	schematest.Long(t) // TestPush_BeginsNothingWhereAllIsGone has the refusal
	w := makeWorld(t, small).withMarts()
	share := filepath.Join(t.TempDir(), "share")
	w.env["BUCKET"] = "file://" + share + "/store"
	w.must("sync")
	if err := os.Rename(share, share+".away"); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"sync", "push"} {
		w.wantEnd(exit.Partial, "what was pushed there is gone", "mount the share", command)
	}
	if _, err := os.Stat(share); err == nil {
		t.Error("the bare folder was written to")
	}
	w.must("push", "--again")
	w.must("verify", "--from", w.env["BUCKET"])
	if err := errors.Join(os.RemoveAll(share), os.Rename(share+".away", share)); err != nil {
		t.Fatal(err)
	}
	w.must("sync") // goes on from what came back
	w.must("verify", "--from", w.env["BUCKET"])
}
