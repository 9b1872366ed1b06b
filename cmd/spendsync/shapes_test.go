package main

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// TestShapes_TextsNeverStopNumbers: whatever a name holds, its day is proven, stored and
// verified, with the numbers that the service has.
func TestShapes_TextsNeverStopNumbers(t *testing.T) {
	w := newWorld(t).withoutMarts()
	names := []struct{ sent, stored string }{
		{`"Sale \ud83d"`, "Sale \uFFFD"}, {`"\ude00\ud83d"`, "\uFFFD\uFFFD"}, {"\"Spr\xff\xfeing\"", "Spr\uFFFDing"},
		{`"a\u0000b"`, `a\u0000b`},
		{`2024`, "2024"}, {`["x"]`, ""}, {`true`, ""}, {`"` + strings.Repeat("n", 20_000) + `"`,
			strings.Repeat("n", 20_000)},
	}
	for i, name := range names {
		w.service.Fail(adsim.Fault{
			Kind: adsim.WrongType, Row: -1, Column: "campaign_name", Value: name.sent,
			Day: (w.today() - schema.Date(i+1)).String(), Query: "include_creatives=true",
		})
	}
	// Two names of one campaign on one day.
	two := (w.today() - 20).String()
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Row: 1, Column: "campaign_name", Value: `"another name"`,
		Day: two, Query: "include_creatives=true"})
	w.must("sync")
	w.must("verify")
	for i, name := range names {
		day := w.today() - schema.Date(i+1)
		sum, err := w.service.TruthSum(day.String())
		if err != nil {
			t.Fatal(err)
		}
		got := w.ask("SELECT count(*), min(campaign_name) = max(campaign_name), min(campaign_name), sum(spend) FROM " +
			"spend_daily WHERE report_date = '" + day.String() + "'")
		want := fmt.Sprintf("%d|true|%s|%d.%06d", sum.Rows, name.stored, sum.Spend/int64(schema.Dollar),
			sum.Spend%int64(schema.Dollar))
		if got != want {
			t.Errorf("%.40s: %.200s, want %.200s", name.sent, got, want)
		}
	}
	if got := w.ask("SELECT count(*) > 1, count(*) FILTER (campaign_name = 'another name') FROM spend_daily WHERE " +
		"report_date = '" + two + "'"); got != "true|1" {
		t.Errorf("two names on one day: %s", got)
	}
	if got := w.ask("SELECT DISTINCT state FROM ops.day_coverage WHERE report_date < '" + w.today().String() +
		"'"); got != "complete" {
		t.Errorf("coverage %s", got)
	}
}

// TestShapes_TakesWhatAServiceMayWrite: a day with its midnight, a row without a
// campaign, a pagination of null.
func TestShapes_TakesWhatAServiceMayWrite(t *testing.T) {
	w := newWorld(t).withoutMarts()
	fail := func(f adsim.Fault, n schema.Date) string {
		f.Day, f.Query = (w.today() - n).String(), "include_creatives=true"
		w.service.Fail(f)
		return f.Day
	}
	fail(adsim.Fault{Kind: adsim.Top, Column: "pagination", Value: "null"}, 2)
	fail(adsim.Fault{Kind: adsim.WrongType, Row: -1, Column: "date", Value: `"` + (w.today() - 3).String() +
		`T00:00:00Z"`}, 3)
	w.must("sync")
	w.must("verify")
	if got := w.ask("SELECT DISTINCT state, control_total_state FROM ops.day_coverage WHERE report_date < '" +
		w.today().String() + "'"); got != "complete|matched" {
		t.Errorf("coverage %s", got)
	}
}

// TestShapes_ARowWithSpendHasAnOwner: without a campaign the row is kept aside and its day is
// partial. The other rows are stored, and no campaign appears that has no ID.
func TestShapes_ARowWithSpendHasAnOwner(t *testing.T) {
	w := newWorld(t).withoutMarts()
	orphan := (w.today() - 4).String()
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Row: 2, Column: "campaign_id", Value: "null", Day: orphan,
		Query: "include_creatives=true"})
	if code, _, last := w.runLogged("sync"); code != exit.Partial ||
		!strings.Contains(last, "campaign_id null: missing, and the row has spend") {
		t.Errorf("exit %d: %s", code, last)
	}
	w.must("verify")
	if got := w.ask("SELECT state, count(*) FROM ops.day_coverage WHERE report_date = '" + orphan +
		"' GROUP BY 1"); got != "partial|1" {
		t.Errorf("coverage %s", got)
	}
	if got := w.ask("SELECT field, report_date, count(*) FROM ops.refused_row GROUP BY ALL"); got !=
		"campaign_id|"+orphan+"|1" {
		t.Errorf("kept aside: %s", got)
	}
	if got := w.ask("SELECT count(*) FROM spend_daily WHERE campaign_id = ''"); got != "0" {
		t.Errorf("%s rows without a campaign", got)
	}
}
