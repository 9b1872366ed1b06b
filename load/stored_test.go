package load

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestStoredViews_FollowTheWholeDays: whatever becomes of the days, the table of a stored view
// has what its question gives, and verify finds where it has not.
func TestStoredViews_FollowTheWholeDays(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir)
	view := duck.View{Schema: "mart", Name: "whole_sums", Stored: true, SQL: `SELECT s.account_id, s.source_id,
		sum(s.spend) AS spend FROM main.spend_daily AS s JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND
		c.report_date = s.report_date WHERE c.state IN ('complete', 'final') GROUP BY ALL`}
	byDay := duck.View{Schema: "mart", Name: "day_sums", Stored: true, ByDay: true, SQL: `SELECT s.account_id,
		s.report_date, sum(s.spend) AS spend FROM main.spend_daily AS s JOIN ops.day_coverage AS c ON c.account_id =
		s.account_id AND c.report_date = s.report_date WHERE c.state IN ('complete', 'final') GROUP BY ALL`}
	byKey := duck.View{Schema: "mart", Name: "key_sums", Stored: true, Key: []string{"campaign_id", "source_id"},
		SQL: `SELECT s.account_id, s.campaign_id, s.source_id, sum(s.spend) AS spend, count(*) AS days FROM
		main.spend_daily AS s JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date =
		s.report_date WHERE c.state IN ('complete', 'final') GROUP BY ALL`}
	views := append(martViews(), byKey, byDay, view)
	days, last := twoDays(), schema.Date(0)
	days[day-2] = schematest.SpendOfSources(day-2, 40)
	var m *manifest.Manifest
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the first load", func() {}},
		{"nothing new", func() {}},
		{"a whole day restated", func() { days[day-1][0].Spend += 7 }},
		{"a few rows of a whole day are others, gone or new", func() {
			rows := append(days[day-2], schematest.SpendRow(day-2, "S999", 3))
			rows[3].Spend += 7
			days[day-2] = slices.Delete(rows, 5, 6)
		}},
		{"a few rows of one day, and all of another", func() { days[day-2][0].Spend++; days[day-1][0].Spend++ }},
		{"an open day", func() {
			last = schema.DateOf(r.at)
			days[last] = []schema.Spend{schematest.SpendRow(last, "S3", 5)}
		}},
		{"it is over, and has no other rows", func() { r.at = r.at.Add(24 * time.Hour) }},
		{"another question", func() { views[len(views)-1].SQL = strings.Replace(view.SQL, "sum(", "2 * sum(", 1) }},
	} {
		step.do()
		r.at = r.at.Add(time.Minute)
		r.opts.DuckDB.Views = views
		m = r.mustSync(days)
		for _, v := range views[len(views)-3:] {
			for _, q := range []string{"FROM mart.%s EXCEPT ALL (%s)", "(%[2]s) EXCEPT ALL FROM mart.%[1]s"} {
				if got := query(t, dir, fmt.Sprintf(q, v.Name, v.SQL)); got != "" {
					t.Errorf("%s: %s: only on one side:\n%s", step.name, v.Name, got)
				}
			}
		}
	}
	if got := query(t, dir, "SELECT source_id FROM mart.whole_sums WHERE source_id = 'S3'"); got != "S3" {
		t.Errorf("the last day is not whole: %q", got)
	}
	for _, name := range []string{"whole_sums", "day_sums", "key_sums"} {
		path, o := alteredWarehouse(t, dir, "UPDATE mart."+name+" SET spend = spend + 1")
		o.DuckDB.Views = views
		err := (&verifier{dir: dir, opts: o, manifest: m}).content(t.Context(), path)
		if !errors.Is(err, durable.ErrDamaged) ||
			!strings.Contains(err.Error(), name+`" holds other rows than its question`) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
