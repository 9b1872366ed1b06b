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

// TestBucket_InPlaceOfAVolume: with SPENDSYNC_BUCKET, each run starts in an empty folder, and ends like a run on a
// store that is kept on a volume. Commands that read use the bucket if there is no store on this machine.
func TestBucket_InPlaceOfAVolume(t *testing.T) {
	w := makeWorld(t, small)
	w.bucket = remote.Options{Pause: time.Millisecond}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, url := newS3(t)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	pod := w.copied(t).withMarts() // push makes its report page from the marts
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

// TestBucket_ThatVanished: after completed pushes the bucket is empty, like a share that is not mounted. No run begins
// a new bucket. Each run ends with 4 and reports this, until the share is back or a person starts the bucket again.
func TestBucket_ThatVanished(t *testing.T) {
	schematest.Long(t) // TestPush_BeginsNothingWhereAllIsGone tests the refusal
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
	if out := w.must("status"); !strings.Contains(out, "NOT PUSHED  the last push of this store to "+
		w.env["BUCKET"]+" was of generation 1:") {
		t.Errorf("status:\n%s", out)
	}
	w.must("push", "--again")
	if out := w.must("status"); strings.Contains(out, "NOT PUSHED") {
		t.Errorf("status after the push:\n%s", out)
	}
	w.must("verify", "--from", w.env["BUCKET"])
	if err := errors.Join(os.RemoveAll(share), os.Rename(share+".away", share)); err != nil {
		t.Fatal(err)
	}
	w.must("sync") // continues from the generation that is back
	w.must("verify", "--from", w.env["BUCKET"])
}

// TestBucket_VerifiesFilesOfReaders: damage to files below parquet/ in a bucket, which no pull reads, is found, and the
// advised push repairs it.
func TestBucket_VerifiesFilesOfReaders(t *testing.T) {
	w := newWorld(t, small).withMarts()
	share := filepath.Join(t.TempDir(), "share")
	w.env["BUCKET"] = "file://" + share
	w.must("sync")
	files, err := filepath.Glob(filepath.Join(share, "parquet", "spend_daily", "*", "*", "data.parquet"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	stray := filepath.Join(filepath.Dir(files[0]), "stray.parquet")
	if err := errors.Join(os.Truncate(files[0], 0), os.Remove(files[1]), os.WriteFile(stray, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	code, out, last := w.run("verify", "--from", w.env["BUCKET"])
	for _, file := range []string{files[0], files[1], stray} {
		if rel, _ := filepath.Rel(share, file); code != exit.Damaged || !strings.Contains(out, rel) {
			t.Errorf("exit %d, without %s:\n%s\n%s", code, rel, out, last)
		}
	}
	if !strings.Contains(last, "spendsync push --full") {
		t.Errorf("without advice: %s", last)
	}
	w.must("push", "--full")
	w.must("verify", "--from", w.env["BUCKET"])
}
