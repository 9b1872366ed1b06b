package queries_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/queries"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// eachCase fills the warehouse with each case of the views that a condition selects.
func (w *warehouse) eachCase(t *testing.T, selected func(queries.Query) bool, do func(*testing.T, queries.Query)) {
	views, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if !selected(v) {
			continue
		}
		cases, err := filepath.Glob(filepath.Join("..", "testdata", "queries", v.Name, "*", "case.txt"))
		if err != nil || len(cases) == 0 {
			t.Fatalf("%s has no cases: %v", v.Name, err)
		}
		for _, file := range cases {
			dir := filepath.Dir(file)
			t.Run(v.Name+"/"+filepath.Base(dir), func(t *testing.T) {
				defer w.exec(t, "ROLLBACK")
				w.fill(t, readCase(t, dir), v.Schema+"."+v.Name)
				do(t, v)
			})
		}
	}
}

// answer is all that a question gives, sorted.
func (w *warehouse) answer(t *testing.T, question string) []string {
	got := w.ask(t, question, nil, cells(w.columnsOf(t, "("+question+")")...))
	slices.Sort(got)
	return got
}

// TestViews_OfWholeDaysFollowFromThemAlone adds an open day and one that was last read
// before it was over, with a campaign and a source of their own.
func TestViews_OfWholeDaysFollowFromThemAlone(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	answered := map[string]bool{}
	w.eachCase(t, func(q queries.Query) bool { return q.WholeDays }, func(t *testing.T, v queries.Query) {
		question := "FROM " + v.Schema + "." + v.Name
		want := w.answer(t, question)
		answered[v.Name] = answered[v.Name] || len(want) > 0
		for _, state := range []string{schema.StatePartial, schema.StateOpen} {
			day := "(SELECT max(report_date) + 1 FROM ops.day_coverage)"
			last := "FROM main.spend_daily WHERE report_date = (SELECT max(report_date) FROM main.spend_daily)"
			for _, other := range []string{"spend * 3 AS spend", "'new' AS source_id", "'new' AS campaign_id"} {
				w.exec(t, fmt.Sprintf("INSERT INTO main.spend_daily SELECT * REPLACE (%s AS report_date, %s, 'new' AS "+
					"campaign_name) %s", day, other, last))
			}
			w.exec(t, fmt.Sprintf("INSERT INTO ops.day_coverage SELECT DISTINCT ON (account_id) * REPLACE (%s AS "+
				"report_date, '%s' AS state) FROM ops.day_coverage", day, state))
		}
		w.exec(t, "DELETE FROM mart.campaign_spend; INSERT INTO mart.campaign_spend "+schema.CampaignSpendSQL("true"))
		if got := w.answer(t, question); !slices.Equal(got, want) {
			t.Errorf("with two days that are not whole:\n%s\nwant\n%s", strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	})
	for _, name := range []string{"source_performance", "source_window", "source_evidence", "creative_spend",
		"performance_window"} {
		if !answered[name] {
			t.Errorf("no case of %s has an answer, or it is not of whole days", name)
		}
	}
}

// TestViews_StoredByKeyFollowFromItsRowsAlone answers stored views for each day or key by itself.
func TestViews_StoredByKeyFollowFromItsRowsAlone(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	asked := map[string]bool{}
	parted := func(q queries.Query) bool { return q.ByDay || q.Key != nil }
	w.eachCase(t, parted, func(t *testing.T, v queries.Query) {
		key := v.Key
		if v.ByDay {
			key = []string{"report_date"}
		}
		keys := "SELECT DISTINCT " + strings.Join(key, ", ") + " FROM main.spend_daily"
		for _, values := range w.ask(t, keys, nil, cells(key...)) {
			var is []string
			for i, value := range strings.Split(values, " | ") {
				is = append(is, key[i]+" = "+schema.QuoteText(value))
			}
			its := strings.Join(is, " AND ")
			want := w.answer(t, "FROM "+v.Schema+"."+v.Name+" WHERE "+its)
			got := w.answer(t, strings.ReplaceAll(v.SQL, "main.spend_daily", "(FROM main.spend_daily WHERE "+its+")"))
			if !slices.Equal(got, want) {
				t.Errorf("from the rows with %s alone:\n%s\nwant\n%s", its, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
			asked[v.Name] = asked[v.Name] || len(want) > 0
		}
	})
	if !asked["source_evidence"] || !asked["creative_spend"] {
		t.Errorf("asked: %v", asked)
	}
}
