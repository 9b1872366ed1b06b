package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// TestPull_ARestoredStoreGoesOnAsOneThatWasNeverLost: after the loss of the volume, 'pull --all' brings a store that
// 'sync' continues, and what it then holds is what the other one does: numbers, restatements, history, replies.
func TestPull_ARestoredStoreGoesOnAsOneThatWasNeverLost(t *testing.T) {
	schematest.Long(t) // package remote compares what comes back
	w := newSyncedWorld(t)
	campaign := w.some("active")
	bid := func(amount string) {
		w.change(adsim.Change{Campaign: campaign, Set: map[string]any{"default_bid": amount}, Force: true})
	}
	w.restate(w.today() - 1)
	bid("0.11")
	w.must("sync")
	bucket := "file://" + filepath.Join(t.TempDir(), "bucket")
	w.must("push", bucket)
	lost := w.copied(t)
	if err := os.RemoveAll(lost.dir); err != nil {
		t.Fatal(err)
	}
	lost.wantEnd(exit.Usage, "which folder? "+bucket, "correct", "pull", "--all", bucket)
	lost.must("pull", "--all", bucket, lost.dir)
	w.restate(w.today() - 1) // the service goes on for both
	bid("0.12")
	for _, store := range []*world{w, lost} {
		store.must("sync")
		store.checkTruth()
		if code, _, last := store.run("verify"); code != exit.OK {
			t.Errorf("verify: exit %d: %s", code, last)
		}
	}
	for _, q := range []string{
		"SELECT * EXCLUDE (_run_id, _first_seen_at, _changed_at) FROM spend_daily ORDER BY ALL",
		"SELECT * EXCLUDE (_run_id, seen_at) FROM spend_change ORDER BY ALL",
		"SELECT campaign_id, version_no, is_current, is_deleted, change_type, changed_columns, default_bid, raw " +
			"FROM campaign_history ORDER BY ALL",
		"SELECT * EXCLUDE (_run_id, valid_from, valid_to, changed_after, last_confirmed_at) FROM creative_history " +
			"ORDER BY ALL",
		"SELECT report_date, state, reads, rows, spend, content_hash FROM ops.day_coverage ORDER BY ALL",
		"SELECT count(*) FROM ops.run",
	} {
		if got, want := lost.lines(q), w.lines(q); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %d lines, want %d:\n%q\n%q", q, len(got), len(want), got, want)
		}
	}
	lost.must("push", bucket)
}
