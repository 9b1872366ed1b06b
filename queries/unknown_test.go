package queries_test

import (
	"regexp"
	"strings"
	"testing"

	"spendsync/queries"
)

// measured matches the names of counts and of their ratios.
var measured = regexp.MustCompile(`^(clicks|impressions|conversions|cpc|ctr|cvr|cpm|cpa)` +
	`(_before|_after|_adjusted|_change|_worst_case|_best_case)?$`)

// TestViews_NeverMakeASmallerNumberOfAnUnknownOne sets the counts of a few rows to NULL. Every number of every view
// must then be unchanged or NULL: a sum without the unknown parts would be taken for the total.
func TestViews_NeverMakeASmallerNumberOfAnUnknownOne(t *testing.T) {
	w := newWarehouse(t)
	m := &market{seed: 1, campaigns: 2, creatives: 2, sources: 3, days: 36, impressions: 900, ctr: 0.02, cvr: 0.1,
		cpc: 0.2}
	defer w.exec(t, "ROLLBACK")
	w.simulate(t, m, "")
	before := w.measures(t)
	for _, column := range []string{"clicks", "impressions", "conversions"} {
		w.exec(t, "UPDATE main.spend_daily SET "+column+" = NULL WHERE campaign_id = 'c01' AND source_id = 's001' "+
			"AND report_date IN (DATE '2026-11-05', DATE '2026-11-18')")
	}
	w.make(t, followed, "")
	unknown := 0
	for cell, is := range w.measures(t) {
		switch was, known := before[cell]; {
		case is == "NULL" && was != "NULL":
			unknown++
		case known && is != was:
			t.Errorf("%s was %s and is %s, though a part of it is not known", cell, was, is)
		}
	}
	if unknown == 0 {
		t.Error("nothing became unknown")
	}
}

// measures returns the counts and ratios of all views, by view, row and column.
func (w *warehouse) measures(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	views := queries.Views(nil)
	for _, v := range views {
		if v.Parameters != "" || v.Schema != "mart" {
			continue
		}
		var keys, list []string
		for _, c := range w.columnsOf(t, "mart."+v.Name) {
			switch c {
			case "account_id", "report_date", "date_day", "campaign_id", "creative_id", "ad_id", "source_id",
				"url_path", "base_url", "version_no":
				keys = append(keys, c)
			default:
				if measured.MatchString(c) {
					list = append(list, c)
				}
			}
		}
		if len(list) == 0 {
			continue
		}
		for _, r := range w.rows(t, "SELECT concat_ws(' ', "+strings.Join(keys, ", ")+"), "+strings.Join(list, ", ")+
			" FROM mart."+v.Name) {
			for i, c := range list {
				all[v.Name+" of "+r[0]+": "+c] = r[i+1]
			}
		}
	}
	return all
}
