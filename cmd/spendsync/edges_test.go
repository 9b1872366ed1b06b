package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/spendsync/dictionary"
	"spendsync/cmd/spendsync/pagedata"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/queries"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// edges returns the folder of a published warehouse that has the accounts of testdata/edges.sql and all models.
func edges(t *testing.T) (dir string, o duck.Options) {
	t.Helper()
	views := queries.Views(nil)
	dir = t.TempDir()
	o = duck.Options{Threads: 1, Dir: dir, Disk: durable.OS, Views: dictionary.ViewsOf(views)}
	w, err := duck.Build(t.Context(), filepath.Join(dir, duck.FileName), true, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("../../testdata/edges.sql")
	if err != nil {
		t.Fatal(err)
	}
	var days []string
	for _, d := range schema.CalendarDays("calendar", "r1", 2025, 2027) {
		days = append(days, fmt.Sprintf("('calendar', '%s', '%s', '%s', %d, %t, make_timestamptz(%d), "+
			"make_timestamptz(%d), %d, 'r1')", d.ReportDate, d.Month, d.ISOWeek, d.DayOfWeek, d.IsWeekend, d.StartsAt,
			d.EndsAt, d.Hours))
	}
	err = w.Exec(t.Context(), append([]string{"INSERT INTO main.calendar VALUES " + strings.Join(days, ", ")},
		append(strings.Split(strings.TrimSuffix(string(rows), ";\n"), ";\n"), "INSERT INTO int.campaign_spend "+
			schema.CampaignSpendSQL("true"))...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range o.Views {
		err := w.Models().Make(t.Context(), v)
		if err == nil && v.ByMonth {
			err = w.Models().MakeRows(t.Context(), v, "")
		}
		if err != nil {
			t.Fatalf("%s: %v", v.Full(), err)
		}
	}
	if err := w.Stop(w.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	return dir, o
}

// TestEdges_AnswerEverything asks every model, every ready question and the page on the edge cases of
// testdata/edges.sql: credits, weeks with zero or negative spend, more clicks than impressions, one row, no row, no
// settings, no conversions, unknown counts, the days of both clock changes, and an account that has no money. No query
// fails, and no value is infinite or NaN.
func TestEdges_AnswerEverything(t *testing.T) {
	t.Parallel()
	dir, o := edges(t)
	s, err := duck.OpenSession(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	accounts, err := s.Accounts(t.Context(), "")
	if err != nil || len(accounts) < 12 {
		t.Fatal(accounts, err)
	}
	want := func(name, sql string) {
		t.Helper()
		a, err := s.Query(t.Context(), sql)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		for _, r := range a.Rows {
			for i, v := range r {
				if v.V == "inf" || v.V == "-inf" || v.V == "nan" || v.V == "-nan" {
					t.Errorf("%s: %s is %s, beside %v", name, a.Columns[i], v.V, r[0].V)
				}
			}
		}
	}
	for _, v := range o.Views {
		if v.Parameters == "" {
			want(v.Name, "FROM "+v.Schema+"."+v.Name)
		}
	}
	for _, q := range queries.Asks() {
		want(q.Name, q.With(nil))
		if q.Name == "tracker" {
			want("tracker by day", q.With(map[string]string{"by": "day"}))
		}
	}
	for _, sql := range []string{"main.source_performance('2026-10-01', '2026-11-19')",
		"main.creative_performance('2026-10-01', '2026-11-19')", "main.spend_on_stopped('2026-10-01', '2026-11-19')",
		"main.spend_known_at('2026-11-15 00:00:00+00'::TIMESTAMPTZ)",
		"main.campaign_at('2026-11-15')", "main.campaigns_asof('2026-11-15 00:00:00+00'::TIMESTAMPTZ)",
		"main.source_rules_asof('2026-11-15 00:00:00+00'::TIMESTAMPTZ)"} {
		want(sql, "FROM "+sql)
	}
	for i, account := range accounts {
		if i%6 != 0 && !schematest.All() {
			continue // every model was already tested for all accounts
		}
		if _, err := pagedata.ReadAccount(t.Context(), s, account); err != nil {
			t.Errorf("the page of %s: %v", account, err)
		}
	}
}
