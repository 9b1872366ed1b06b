package queries_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestVerdicts_OfOneLife follows three campaigns with a target CPA of 20 dollars for fifty days. The campaign with a
// CPA of 10 never gets the verdict "loses". The campaign with a CPA of 50 never gets "pays", and gets "loses" once it
// has spent enough. The tracking of the third campaign breaks on day 36: before, its verdict is "pays", and as soon as
// too few conversions arrive it has no verdict.
func TestVerdicts_OfOneLife(t *testing.T) {
	w := newWarehouse(t)
	first := schema.NewDate(2026, 9, 21)
	const broken = 35
	coverage := [][]cell{cells("report_date", "state", "first_read_at", "last_read_at")}
	spend := [][]cell{cells("report_date", "campaign_id", "creative_id", "source_id", "spend", "clicks", "impressions",
		"conversions")}
	got := map[string][]string{}
	for n := range 50 {
		day := first + schema.Date(n)
		read := day.End().Add(30 * time.Hour).UTC().Format(time.RFC3339)
		coverage = append(coverage, cells(day.String(), "complete", read, read))
		of := map[string]int{"pays": 10, "loses": 2, "breaks": 10}
		if n >= broken {
			of["breaks"] = 0
		}
		for id, conversions := range of {
			spend = append(spend, cells(day.String(), id, "k", "s", "100", "200", "20000", fmt.Sprint(conversions)))
		}
		if n%10 != 9 && !schematest.All() {
			continue
		}
		c := &testCase{now: day.End().Add(36 * time.Hour).UTC().Format(time.RFC3339),
			thresholds: map[string]string{"curve_needed": "0"}, tables: []*fixture{
				{"campaign_history", [][]cell{cells("campaign_id", "name", "status", "target_cpa", "valid_from"),
					cells("pays", "P", "active", "20", "2026-09-01T00:00:00Z"),
					cells("loses", "L", "active", "20", "2026-09-01T00:00:00Z"),
					cells("breaks", "B", "active", "20", "2026-09-01T00:00:00Z")}},
				{"ops.day_coverage", coverage}, {"spend_daily", spend}}}
		w.fill(t, c, "mart.campaign_performance")
		for _, r := range w.rows(t, "SELECT campaign_id, verdict FROM mart.campaign_performance") {
			got[r[0]] = append(got[r[0]], r[1])
		}
		w.exec(t, "ROLLBACK")
	}
	t.Logf("%q", got)
	last := func(id string) string { return got[id][len(got[id])-1] }
	if slices.Contains(got["pays"], "loses") || last("pays") != "pays" ||
		slices.Contains(got["loses"], "pays") || last("loses") != "loses" ||
		slices.Contains(got["breaks"], "loses") || last("breaks") != "broken_tracking" ||
		!slices.Contains(got["breaks"], "pays") {
		t.Errorf("the verdicts were %q", got)
	}
}
