package job_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/settingslog"
	"spendsync/schema"
)

// replies are the kept replies of the settings, by the files they lie in, oldest first.
func (w *quirkWorld) replies() (packs [][]settingslog.Reply) {
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
		var pack []settingslog.Reply
		for line := range bytes.Lines(lines) {
			var r settingslog.Reply
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
		if r.Kind != "limits" && r.Kind != "balance" && (r.ID != id || !strings.Contains(r.Reply, "Another name")) {
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

// forget puts back a table's history as it was, as a version of this program leaves it that
// did not understand what has come since.
func forget[R any, P history.Versioned[R]](
	w *quirkWorld, s *load.Store, g *load.Staged, table schema.TableOf[R], was history.Versions[R],
) {
	w.t.Helper()
	now, err := load.StoredHistory[R, P](s, table)
	was.Confirmations.ObservedAt = now.Confirmations.ObservedAt
	if err == nil {
		err = load.PutHistory[R, P](g, table, was)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// rewrite publishes tables otherwise.
func (w *quirkWorld) rewrite(do func(*load.Store, *load.Staged)) {
	w.t.Helper()
	j := w.job()
	store, err := load.Open(w.t.Context(), w.dir, "acme", j.Store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	staged, err := store.Begin(j.RunID)
	if err != nil {
		w.t.Fatal(err)
	}
	do(store, staged)
	prepared, err := staged.Prepare(w.t.Context(), load.Contents{})
	if err != nil {
		w.t.Fatal(err)
	}
	run := schema.Run{AccountID: "acme", Command: "sync", Published: true, RunID: j.RunID,
		StartedAt: schema.InstantOf(w.service.Now()), Generation: prepared.Preview().Generation}
	if _, err := prepared.Commit(w.t.Context(), load.RunRecord{Run: run}); err != nil {
		w.t.Fatal(err)
	}
}

// replaySays replays everything, and wants a text in its sentence; empty: nothing of settings.
func (w *quirkWorld) replaySays(text string) {
	w.t.Helper()
	result, err := w.job().Replay(w.t.Context(), 0, schema.DateOf(w.service.Now()))
	if err != nil {
		w.t.Fatal(err)
	}
	if said := result.Run.Message.V; !strings.Contains(said, text) || text == "" && strings.Contains(said, "settings") {
		w.t.Errorf("the replay says %s, want %q in it", said, text)
	}
}

// contentOf are the rows of a table without which run wrote them and how often they
// were confirmed.
func contentOf[R any](w *quirkWorld, table schema.TableOf[R]) (lines []string) {
	w.t.Helper()
	aside := table.ColumnsNamed("_run_id", "last_confirmed_at", "changed_after", "bids_last_read_at", "raw")
	for _, row := range rowsOf(w, table, "account=acme") {
		for _, c := range aside {
			table.CopyColumn(&row, new(R), c)
		}
		lines = append(lines, fmt.Sprintf("%+v", row))
	}
	return lines
}

// TestReplay_ReadsKeptReplies: a version that understood neither a bid nor the balance keeps
// them as they were; replay makes of the replies the versions, rules and balances that the
// service had, at the instants at which it was asked.
func TestReplay_ReadsKeptReplies(t *testing.T) {
	w := newQuirkWorld(t)
	w.sync()
	j := w.job()
	store, err := load.Open(t.Context(), w.dir, "acme", j.Store)
	if err != nil {
		t.Fatal(err)
	}
	campaigns, err := load.StoredHistory(store, schema.CampaignHistory)
	rules, rulesErr := load.StoredHistory(store, schema.SourceRuleHistory)
	money, moneyErr := load.StoredTable(store, schema.AccountSnapshots)
	if err := errors.Join(err, rulesErr, moneyErr, store.Close()); err != nil {
		t.Fatal(err)
	}
	rules.Rows = slices.DeleteFunc(rules.Rows, func(r schema.SourceRule) bool { return r.Rule == schema.RuleBid })
	id := w.service.CampaignIDs()[0]
	sources := w.service.GoodSources()
	bids := func(first, second any) *adsim.SourceChange {
		return &adsim.SourceChange{Bids: map[string]any{sources[0]: first, sources[1]: second}}
	}
	for day, change := range []adsim.Change{
		{Set: map[string]any{"default_bid": "0.31"}, Sources: bids("0.2", "0.3")},
		{Set: map[string]any{"default_bid": "0.32", "name": "Another name"}},
		{Sources: bids("0.25", nil)},
	} {
		change.Campaign, change.Force = id, true
		if err := w.service.Change(change); err != nil {
			t.Fatal(err)
		}
		w.service.SetNow(noon.AddDate(0, 0, day+1))
		w.sync()
	}
	wantCampaigns, wantRules := contentOf(w, schema.CampaignHistory), contentOf(w, schema.SourceRuleHistory)
	wantMoney := contentOf(w, schema.AccountSnapshots)
	w.replaySays("") // all has been understood
	w.rewrite(func(s *load.Store, g *load.Staged) {
		forget(w, s, g, schema.CampaignHistory, campaigns)
		forget(w, s, g, schema.SourceRuleHistory, rules)
		if err := load.PutTable(g, schema.AccountSnapshots, money); err != nil {
			t.Fatal(err)
		}
	})
	if slices.Equal(contentOf(w, schema.CampaignHistory), wantCampaigns) {
		t.Fatal("nothing was forgotten")
	}
	w.replaySays("of settings filled in")
	for name, pair := range map[string][2][]string{
		"campaigns": {contentOf(w, schema.CampaignHistory), wantCampaigns},
		"rules":     {contentOf(w, schema.SourceRuleHistory), wantRules},
		"balances":  {contentOf(w, schema.AccountSnapshots), wantMoney},
	} {
		if d := cmp.Diff(pair[1], pair[0]); d != "" {
			t.Errorf("%s after replay (-as read +replayed):\n%s", name, d)
		}
	}
	report, err := load.Verify(t.Context(), w.dir, w.job().Store, nil)
	if err != nil || len(report.Damages) > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	w.replaySays("")
	if r := w.sync(); r.Run.ExitCode != 0 || !slices.Equal(contentOf(w, schema.CampaignHistory), wantCampaigns) {
		t.Errorf("the sync after it: %+v", r.Run)
	}
}

// TestReplay_FillsSettings forgets a column of the settings, as an older version that could
// not read it would never have had it, and holds another value than the reply: replay reads
// both in the JSON, makes no version, and moves no instant.
func TestReplay_FillsSettings(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("replies=%t", kept), func(t *testing.T) {
			w := newQuirkWorld(t)
			w.sync()
			want := rowsOf(w, schema.CampaignHistory, "account=acme")
			w.service.SetNow(noon.Add(time.Hour))
			other := "As it was known"
			w.rewrite(func(s *load.Store, g *load.Staged) {
				h, err := load.StoredHistory(s, schema.CampaignHistory)
				if err != nil {
					t.Fatal(err)
				}
				h.Rows[0].DefaultBid, h.Rows[0].ReadState = schema.Null[schema.Money]{}, schema.ReadPartial
				h.Rows[1].Name = schema.Some(other)
				h.Confirmations.Never = map[string][]string{h.Rows[0].CampaignID: {"default_bid"}}
				forget(w, s, g, schema.CampaignHistory, h)
			})
			filled := "2 versions of settings"
			if !kept { // the JSON of a version says nothing of what could be read since
				want[1].Name, filled = schema.Some(other), "1 version of settings"
				if err := os.RemoveAll(filepath.Join(w.dir, "raw/settings")); err != nil {
					t.Fatal(err)
				}
			}
			w.replaySays(filled)
			got := rowsOf(w, schema.CampaignHistory, "account=acme")
			if len(got) != len(want) {
				t.Fatalf("%d versions, want %d", len(got), len(want))
			}
			for i := range got {
				got[i].RunID, got[i].ChangeType = want[i].RunID, want[i].ChangeType
				if got[i] != want[i] {
					t.Errorf("campaign %d is %+v, want %+v", i, got[i], want[i])
				}
			}
			w.replaySays("")
		})
	}
}
