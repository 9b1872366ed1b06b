package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

// forget puts back a table's history as it was, as a version of this program leaves it that
// did not understand what has come since.
func forget[R any, P history.Versioned[R]](
	w *quirkWorld, s *load.Store, a *load.Area, to *load.Part, table schema.TableOf[R], was history.Versions[R],
) {
	w.t.Helper()
	now, err := load.StoredHistory[R, P](s, table)
	was.Confirmations.ObservedAt = now.Confirmations.ObservedAt
	if err == nil {
		err = load.PutHistory[R, P](s, a, to, table, was)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// rewrite publishes tables otherwise.
func (w *quirkWorld) rewrite(do func(*load.Store, *load.Area, *load.Part)) {
	w.t.Helper()
	j := w.job()
	store, err := load.Open(w.t.Context(), w.dir, "acme", j.Store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	area, err := store.Begin(j.RunID)
	if err != nil {
		w.t.Fatal(err)
	}
	part := load.NewPart()
	do(store, area, &part)
	_, err = store.Publish(w.t.Context(), load.Publication{Area: area, Parts: []load.Part{part},
		Record: func(is load.Preview) load.RunRecord {
			return load.RunRecord{Run: schema.Run{AccountID: "acme", Command: "sync", Published: true, RunID: j.RunID,
				StartedAt: schema.InstantOf(w.service.Now()), Generation: is.Generation}}
		}})
	if err != nil {
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

// TestReplay_FillsSettings forgets a column of the settings, as an older version that could not read it would never
// have had it, and holds another value than the reply: replay reads the first in the JSON of the version, leaves the
// other, makes no version, and moves no instant.
func TestReplay_FillsSettings(t *testing.T) {
	w := newQuirkWorld(t)
	w.sync()
	want := rowsOf(w, schema.CampaignHistory, "account=acme")
	w.service.SetNow(noon.Add(time.Hour))
	w.rewrite(func(s *load.Store, a *load.Area, part *load.Part) {
		h, err := load.StoredHistory(s, schema.CampaignHistory)
		if err != nil {
			t.Fatal(err)
		}
		h.Rows[0].DefaultBid, h.Rows[0].ReadState = schema.Null[schema.Money]{}, schema.ReadPartial
		h.Rows[1].Name = schema.Some("As it was known")
		h.Confirmations.Never = map[string][]string{h.Rows[0].CampaignID: {"default_bid"}}
		forget(w, s, a, part, schema.CampaignHistory, h)
	})
	want[1].Name = schema.Some("As it was known")
	w.replaySays("1 version of settings")
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
	if _, err := os.Stat(filepath.Join(w.dir, "raw/settings")); err == nil {
		t.Error("replies of the settings are kept")
	}
}
