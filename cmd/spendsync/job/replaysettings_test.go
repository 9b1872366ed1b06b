package job_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/replies"
	"spendsync/schema"
)

// replies are the kept replies of the settings, by the files they lie in, oldest first.
func (w *quirkWorld) replies() (packs [][]replies.Reply) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.dir, "raw/settings/account=acme/seen=*/replies.jsonl.zst"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range paths {
		lines, err := plainFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		var pack []replies.Reply
		for line := range bytes.Lines(lines) {
			var r replies.Reply
			if err := json.Unmarshal(line, &r); err != nil || !json.Valid([]byte(r.Reply)) || r.At == 0 {
				w.t.Fatalf("%s: %v in %s", path, err, line)
			}
			pack = append(pack, r)
		}
		packs = append(packs, pack)
	}
	return packs
}

// TestReplies_AreKeptWhereTheyDiffer: a reading that says the same keeps nothing, a changed
// campaign and a creative keep theirs, and after 40 days the first pack is gone, though what
// it held has been kept again.
func TestReplies_AreKeptWhereTheyDiffer(t *testing.T) {
	w := newQuirkWorld(t)
	w.sync()
	first := w.replies()
	kinds := map[string]int{}
	for _, r := range first[0] {
		kinds[r.Kind]++
	}
	if len(first) != 1 || kinds["campaign in the listing"] != 7 || kinds["creative"] < 15 ||
		kinds["source settings"] != 7 || kinds["me"] != 1 || kinds["limits"] != 1 {
		t.Errorf("the first run keeps %v", kinds)
	}
	w.sync()
	if again := w.replies(); len(again) != 1 || len(again[0]) != len(first[0]) {
		t.Errorf("the same replies are kept twice: %d, were %d", len(again[0]), len(first[0]))
	}
	id := w.service.CampaignIDs()[0]
	if err := w.service.Change(adsim.Change{Campaign: id, Set: map[string]any{"name": "Another name"}}); err != nil {
		t.Fatal(err)
	}
	w.service.SetNow(noon.AddDate(0, 0, 1))
	w.sync()
	packs := w.replies()
	if len(packs) != 2 {
		t.Fatalf("%d packs", len(packs))
	}
	for _, r := range packs[1] {
		if r.Kind != "limits" && (r.ID != id || !strings.Contains(r.Reply, "Another name")) {
			t.Errorf("kept without need: %+v", r)
		}
	}
	w.service.SetNow(noon.AddDate(0, 0, 42))
	w.sync()
	clear(kinds)
	packs = w.replies()
	for _, r := range packs[0] {
		kinds[r.Kind]++
	}
	if len(packs) != 1 || kinds["campaign in the listing"] < 7 || kinds["creative"] == 0 {
		t.Errorf("after 42 days there are %d packs, and the first has %v", len(packs), kinds)
	}
	report, err := load.Verify(t.Context(), w.dir, w.job().Store, nil)
	if err != nil || len(report.Damages) > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	index := filepath.Join(w.dir, "raw/settings/account=acme/index.jsonl.zst")
	if err := os.WriteFile(index, []byte("no index"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err = load.Verify(t.Context(), w.dir, w.job().Store, nil); err != nil || len(report.Damages) != 1 {
		t.Errorf("verify of a damaged index: %+v, %v", report, err)
	}
	if r := w.sync(); r.Run.ExitCode != 0 {
		t.Errorf("with a damaged index: %+v", r.Run)
	}
	if report, err = load.Verify(t.Context(), w.dir, w.job().Store, nil); err != nil || len(report.Damages) != 0 {
		t.Errorf("verify after it: %+v, %v", report, err)
	}
}

// TestReplay_FillsSettings forgets a column of the settings, as an older version that could
// not read it would never have had it: replay reads it in the JSON, makes no version, and
// moves no instant. Another value than the known one is no business of a replay.
func TestReplay_FillsSettings(t *testing.T) {
	w := newQuirkWorld(t)
	w.sync()
	want := rowsOf(w, schema.CampaignHistory, "account=acme")
	w.service.SetNow(noon.Add(time.Hour))
	j := w.job()
	store, err := load.Open(t.Context(), w.dir, "acme", j.Store)
	if err != nil {
		t.Fatal(err)
	}
	h, err := load.StoredHistory(store, schema.CampaignHistory)
	if err != nil {
		t.Fatal(err)
	}
	forgotten, other := &h.Rows[0], &h.Rows[1]
	forgotten.DefaultBid, forgotten.ReadState = schema.Null[schema.Money]{}, schema.ReadPartial
	other.Name = schema.Some("As it was known")
	h.Memory.Never = map[string][]string{forgotten.CampaignID: {"default_bid"}}
	staged, err := store.Begin(j.RunID)
	if err == nil {
		err = load.PutHistory(staged, schema.CampaignHistory, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := staged.Prepare(t.Context(), load.Contents{})
	if err != nil {
		t.Fatal(err)
	}
	run := schema.Run{AccountID: "acme", Command: "sync", Published: true, RunID: j.RunID,
		StartedAt: schema.InstantOf(w.service.Now()), Generation: prepared.Preview().Generation}
	if _, err := prepared.Commit(t.Context(), load.RunRecord{Run: run}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := w.job().Replay(t.Context(), 0, schema.DateOf(noon))
	if err != nil || result.Run.ExitCode != 0 || !strings.Contains(fmt.Sprint(result.Run), "1 version of settings") {
		t.Fatalf("replay: %+v, %v", result, err)
	}
	got := rowsOf(w, schema.CampaignHistory, "account=acme")
	want[1].Name = other.Name
	if len(got) != len(want) {
		t.Fatalf("%d versions, want %d", len(got), len(want))
	}
	for i := range got {
		got[i].RunID, got[i].ChangeType = want[i].RunID, want[i].ChangeType
		if got[i] != want[i] {
			t.Errorf("campaign %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if result, err = w.job().Replay(t.Context(), 0, schema.DateOf(noon)); err != nil ||
		strings.Contains(fmt.Sprint(result.Run), "settings") {
		t.Errorf("replay again: %+v, %v", result, err)
	}
}
