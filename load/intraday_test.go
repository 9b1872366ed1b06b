package load

import (
	"strings"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestIntraday_KeepsEachReadOfAnOpenDay: a read of an open day adds a row for each campaign if the day's rows have
// changed. A read without changes adds no row. A read after the end of the day adds no row either.
func TestIntraday_KeepsEachReadOfAnOpenDay(t *testing.T) {
	dir := quickDir(t)
	open := schema.NewDate(2026, 11, 20)
	at := open.Start().Add(9 * time.Hour)
	for i, step := range []struct {
		spend []schema.Money // of the two campaigns
		after time.Duration
	}{
		{[]schema.Money{5, 0}, 0},
		{[]schema.Money{7, 0}, time.Hour},
		{[]schema.Money{7, 0}, 2 * time.Hour}, // unchanged
		{[]schema.Money{9, 4}, 3 * time.Hour},
		{[]schema.Money{12, 6}, 20 * time.Hour}, // the day is over
	} {
		run := string(rune('A' + i))
		o := sceneOptions(durable.Disk{FS: lazyFiles{}})
		now := at.Add(step.after)
		o.Now = func() time.Time { return now }
		s, err := Open(t.Context(), dir, "acme", o)
		if err != nil {
			t.Fatal(err)
		}
		g, err := stagingOf(s, run)
		if err != nil {
			t.Fatal(err)
		}
		rows := &schema.SpendRows{}
		for c, spend := range step.spend {
			rows.Append(&schema.Spend{
				AccountID: "acme", ReportDate: open, CampaignID: string(rune('x' + c)), SourceID: "S1",
				CampaignName: "n", Spend: spend,
				Clicks: schema.Some(int64(spend)), FirstSeenAt: schema.InstantOf(now), ChangedAt: schema.InstantOf(now),
				RunID: run,
			})
		}
		day, err := history.NewDay(rows)
		if err != nil {
			t.Fatal(err)
		}
		read := DayRead{
			ReadAt: schema.InstantOf(now), ReadOutcome: manifest.ReadOutcome{Control: schema.ControlDiffers,
				ControlTotal: manifest.ControlTotal{Spend: schema.Some(schema.Money(100)),
					Clicks: schema.Some[int64](3)}},
		}
		if err := g.putDay(t.Context(), open, read, day); err != nil {
			t.Fatal(err)
		}
		scene := sceneFirst()
		scene.id, scene.at = run, now
		record := scene.record()
		p := g.publication(now)
		refused := &manifest.Sightings[schema.RefusedRow]{
			Rows: []schema.RefusedRow{{AccountID: "acme", Stream: "spend_report", ReportDate: open, Page: 1,
				RowNumber: int64(i / 2), Reason: "r", Raw: `{}`}},
			Looked: func(*schema.RefusedRow) bool { return true }}
		p.Changes = append(p.Changes, StagedChange{Change: manifest.Change{Refused: refused}})
		if _, _, err := publish(t.Context(), g, p, record); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkStore(t, dir)
	}
	const lines = `SELECT string_agg(concat_ws(' ', date_diff('hour', TIMESTAMPTZ '2026-11-20 15:00:00Z', seen_at),
		campaign_id, spend::DOUBLE * 1e6, clicks, _run_id), ', '
		ORDER BY seen_at, campaign_id) FROM spend_intraday`
	want := "0 x 5.0 5 A, 0 y 0.0 0 A, 1 x 7.0 7 B, 1 y 0.0 0 B, 3 x 9.0 9 D, 3 y 4.0 4 D"
	if got := query(t, dir, lines); got != want {
		t.Errorf("the lines are %s, want %s", got, want)
	}
	if got := query(t, dir, "SELECT control_total_state, control_spend, control_clicks FROM ops.day_coverage WHERE "+
		"report_date = DATE '2026-11-20'"); got != "differs|0.000100|3" {
		t.Errorf("the coverage of the day is %s", got)
	}
	if got := query(t, dir, "SELECT concat_ws(' ', row_number, runs, _run_id, last_seen_at > first_seen_at) FROM "+
		"ops.refused_row"); got != "2 1 E false" {
		t.Errorf("refused rows: %s", got)
	}
	if got := strings.Count(query(t, dir, "SELECT string_agg(path, ' ') FROM ops.file"), "spend_intraday"); got != 1 {
		t.Errorf("%d files of spend_intraday", got)
	}
}
