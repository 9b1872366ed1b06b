package queries_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"spendsync/queries"
)

// verdictColumns are the columns with advice, and the values that they may have if too little is known for advice.
var verdictColumns = map[string]struct {
	column string
	quiet  []string
}{
	"campaign_performance": {"verdict", []string{"no_target", "unclear", "unknown", "NULL"}},
	"bid_vs_cpc":           {"verdict", []string{"too_little_data", "unknown", "keep", "service_bids"}},
	"creative_fatigue":     {"verdict", []string{"too_little_data", "steady"}},
	"change_impact":        {"verdict", []string{"unknown", "unclear"}},
	"daily_pacing": {"pacing_state", []string{"too_early", "unknown", "no_limit", "under", "on_pace",
		"stopped"}},
	"source_block_candidates": {"verdict", nil},
	"source_judgement":        {"verdict", []string{"earns", "unclear", "unknown"}}, // no advice yet
	"source_scale_candidates": {"verdict", nil},
	"breaks":                  {"kind", nil},
}

// TestViews_SayNothingOfLittle runs every view and question on accounts with hardly any data. No query may fail, return
// an infinity or NaN, or give advice. Planning the queries takes most of the time, so one store contains an account for
// each such case.
func TestViews_SayNothingOfLittle(t *testing.T) {
	w := newWarehouse(t)
	w.simulate(t, &market{}, "")
	defer w.exec(t, "ROLLBACK")
	t.Run("an empty store", w.sayNothing)
}

// TestThresholds_WorkAtTheirBounds makes every view with the smallest and with the largest value of each threshold. No
// view may fail, or contain an infinity or NaN.
func TestThresholds_WorkAtTheirBounds(t *testing.T) {
	w := newWarehouse(t)
	for name, bound := range map[string]func(queries.Threshold) string{
		"low":  func(t queries.Threshold) string { return t.Low },
		"high": func(t queries.Threshold) string { return t.High },
	} {
		t.Run(name, func(t *testing.T) {
			at := &testCase{now: noon, thresholds: maps.Clone(followed.thresholds)}
			for _, of := range queries.Thresholds() {
				at.thresholds[of.Name] = bound(of)
			}
			w.exec(t, "BEGIN")
			defer w.exec(t, "ROLLBACK")
			restless(3).write(t, w)
			w.make(t, at, "")
			for _, v := range queries.Views(nil) {
				if v.Parameters == "" {
					w.wantNumbers(t, v.Name, "SELECT * FROM "+v.Schema+"."+v.Name)
				}
			}
		})
	}
}

// sayNothing runs every view and every ready question, and checks that no answer has advice.
func (w *warehouse) sayNothing(t *testing.T) {
	t.Helper()
	views := queries.Views(nil)
	noon := &testCase{now: noon}
	answers := map[string]map[string][]string{} // of the views, by view and column
	for _, v := range views {
		if v.Parameters == "" {
			answers[v.Name] = w.wantNumbers(t, v.Schema+"."+v.Name, "SELECT * FROM "+v.Schema+"."+v.Name)
		}
	}
	for _, a := range queries.Asks() {
		sql := noon.at(a.WithConditions(nil))
		for _, p := range a.Params {
			sql = strings.ReplaceAll(sql, "$"+p.Name+"::", "'"+p.Default+"'::")
		}
		w.wantNumbers(t, a.Name, sql)
	}
	for view, v := range verdictColumns {
		said, is := answers[view][v.column]
		if !is {
			t.Errorf("mart.%s has no column %s", view, v.column)
		}
		for _, s := range said {
			if !slices.Contains(v.quiet, s) {
				t.Errorf("mart.%s says %s", view, s)
			}
		}
	}
}

// wantNumbers fails if an answer contains an infinity or NaN, and returns its texts and NULLs by column.
func (w *warehouse) wantNumbers(t *testing.T, name, question string) map[string][]string {
	t.Helper()
	rows, err := w.Query(question)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	texts := map[string][]string{}
	for i := range values {
		into[i], texts[columns[i]] = &values[i], nil
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			switch v := v.(type) {
			case float64:
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s: %s is %v", name, columns[i], v)
				}
			case string:
				texts[columns[i]] = append(texts[columns[i]], v)
			case nil:
				texts[columns[i]] = append(texts[columns[i]], "NULL")
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return texts
}
