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

// TestModels_FollowTheirInputs: after any change of the days, the table of a model has the rows that its query returns;
// only models whose inputs have changed are made again; and verify detects a table with other rows.
func TestModels_FollowTheirInputs(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir)
	days := duck.View{Schema: "int", Name: "whole_day", IsTable: true, Reads: []string{"ops.day_coverage"},
		SQL: "SELECT c.account_id, c.report_date FROM ops.day_coverage AS c WHERE c.state IN ('complete', 'final')"}
	sums := duck.View{Schema: "mart", Name: "whole_sums", IsTable: true, Reads: []string{"main.spend_daily",
		"int.whole_day"}, SQL: `SELECT s.account_id, s.source_id, sum(s.spend) AS spend FROM main.spend_daily AS s
		JOIN int.whole_day AS c USING (account_id, report_date) GROUP BY ALL`}
	months := duck.View{Schema: "mart", Name: "month_sums", IsTable: true, ByMonth: true,
		Reads: []string{"main.spend_daily"}, SQL: `SELECT s.account_id, s.report_date, sum(s.spend) AS spend
		FROM main.spend_daily AS s GROUP BY ALL`}
	top := duck.View{Schema: "mart", Name: "top", IsTable: true, Reads: []string{"int.whole_day"},
		SQL: "SELECT d.account_id, max(d.report_date) AS last FROM int.whole_day AS d GROUP BY ALL"}
	views := append(martViews(), days, sums, months, top)
	report, last := twoDays(), schema.Date(0)
	report[day-2] = schematest.SpendOfSources(day-2, 40)
	report[day-25] = schematest.SpendOfSources(day-25, 3)
	made := func() string {
		return query(t, dir, "SELECT model, month, inputs FROM int.made WHERE (model = 'mart.top' AND "+
			"month <> 'created') OR (model = 'mart.month_sums' AND month LIKE '2026-10-%') ORDER BY ALL")
	}
	var m *manifest.Manifest
	was := ""
	for _, step := range []struct {
		name    string
		do      func()
		isOther bool // other days are complete, or October has other rows
	}{
		{"the first load", func() {}, true},
		{"nothing new", func() {}, false},
		{"a whole day restated", func() { report[day-1][0].Spend += 7 }, false},
		{"a few rows of a whole day are others, gone or new", func() {
			rows := append(report[day-2], schematest.SpendRow(day-2, "S999", 3))
			rows[3].Spend += 7
			report[day-2] = slices.Delete(rows, 5, 6)
		}, false},
		{"an open day", func() {
			last = schema.DateOf(r.at)
			report[last] = []schema.Spend{schematest.SpendRow(last, "S3", 5)}
		}, false},
		{"it is over, and has no other rows", func() { r.at = r.at.Add(24 * time.Hour) }, true},
		{"October is restated", func() { report[day-25][0].Spend += 7 }, true},
		{"another question", func() {
			views[len(views)-3].SQL = strings.Replace(sums.SQL, "sum(", "2 * sum(", 1)
		}, false},
	} {
		step.do()
		r.at = r.at.Add(time.Minute)
		r.opts.DuckDB.Views = views
		m = r.mustSync(report)
		for _, v := range views[len(views)-4:] {
			for _, q := range []string{"FROM %s EXCEPT ALL (%s)", "(%[2]s) EXCEPT ALL FROM %[1]s"} {
				if got := query(t, dir, fmt.Sprintf(q, v.Full(), v.SQL)); got != "" {
					t.Errorf("%s: %s: only on one side:\n%s", step.name, v.Name, got)
				}
			}
		}
		is := made()
		if (is != was) != step.isOther {
			t.Errorf("%s: made again %t, want %t:\n%s\n%s", step.name, is != was, step.isOther, was, is)
		}
		was = is
	}
	for _, name := range []string{"mart.whole_sums", "mart.month_sums"} {
		path, o := alteredWarehouse(t, dir, "UPDATE "+name+" SET spend = spend + 1")
		o.DuckDB.Views = views
		err := (&verifier{dir: dir, opts: o, manifest: m}).content(t.Context(), path)
		if !errors.Is(err, durable.ErrDamaged) ||
			!strings.Contains(err.Error(), name+" holds other rows than were made") {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
