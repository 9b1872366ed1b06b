package job

import (
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestReplay_ARowWithoutAnOwnerChangesNoDay: a replay refuses a row with spend and without an ID. If that row is
// stored, the replay fails, and the day stays unchanged.
func TestReplay_ARowWithoutAnOwnerChangesNoDay(t *testing.T) {
	const columns = `"date","campaign_id","campaign_name","creative_id","source_id","total_spend","clicks",` +
		`"impressions","conversions"`
	day := schema.DateOf(noon) - 40
	reply := `{"columns":[` + columns + `],"data":[` +
		`{"date":"` + day.String() + `","campaign_id":"C1","campaign_name":"n","creative_id":"C1-001",` +
		`"source_id":"S1","total_spend":2,"clicks":3,"impressions":100,"conversions":0},` +
		`{"date":"` + day.String() + `","campaign_name":"n","creative_id":"","source_id":"S2",` +
		`"total_spend":1334.5,"clicks":3,"impressions":100,"conversions":0}]}`
	row := func(campaign, creative, source string, spend schema.Money) schema.Spend {
		return schematest.SpendRow(day, source, spend, func(r *schema.Spend) {
			r.CampaignID, r.CreativeID, r.CampaignName = campaign, creative, "n"
		})
	}
	w := newQuirkWorld(t)
	w.ran()
	w.rewrite(func(store *load.Store, area *load.Area, part *load.StagedChange) {
		rows := []schema.Spend{row("", "", "S2", 1_334_500_000), row("C1", "C1-001", "S1", 2_000_000)}
		replies := store.Replies(area, day)
		sealed, err := history.NewDay(schematest.Packed(rows))
		if err == nil {
			err = replies.Put(1, []byte(reply), 2)
		}
		if err == nil {
			var staged load.StagedDay
			staged, err = replies.Stage(t.Context(), load.DayRead{ReadAt: schema.InstantOf(noon),
				ReadOutcome: manifest.ReadOutcome{Control: schema.ControlNone}}, sealed)
			*part = staged.StagedChange
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	result, err := w.next().Replay(t.Context(), day, day)
	if err != nil || int(result.Run.ExitCode) != exit.Contract {
		t.Fatalf("%v, %+v", err, result)
	}
	if got := w.ask("SELECT count(*), sum(spend) FROM spend_daily WHERE report_date = '%s'", day); got !=
		"2|1336.500000" {
		t.Errorf("after the replay: %s", got)
	}
}

// rewrite publishes a generation with changed tables.
func (w *world) rewrite(do func(*load.Store, *load.Area, *load.StagedChange)) {
	w.t.Helper()
	j := w.next()
	store, err := load.Open(w.t.Context(), w.job.DataDir, "acme", j.Store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	area, err := store.Begin(j.RunID)
	if err != nil {
		w.t.Fatal(err)
	}
	part := load.NewStagedChange()
	do(store, area, &part)
	_, err = store.Publish(w.t.Context(), load.Publication{Area: area, Changes: []load.StagedChange{part},
		Record: func(is load.Preview) load.RunRecord {
			return load.RunRecord{Run: schema.Run{AccountID: "acme", Command: "sync", Published: true, RunID: j.RunID,
				StartedAt: schema.InstantOf(w.service.Now()), Generation: is.Generation}}
		}})
	if err != nil {
		w.t.Fatal(err)
	}
}
