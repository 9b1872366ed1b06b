package queries_test

import (
	"slices"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

// TestReports_UnionWithThoseOfDbtAdReporting unions every report with an empty table that has the columns of
// dbt_ad_reporting's model of the same name, in the same order.
func TestReports_UnionWithThoseOfDbtAdReporting(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	defer w.exec(t, "ROLLBACK")
	m := &market{seed: 1, campaigns: 2, creatives: 2, sources: 3, days: 3, impressions: 900, ctr: 0.02, cvr: 0.1,
		cpc: 0.2}
	w.simulate(t, m, "")
	const first, measures = "source_relation date_day platform account_id account_name ", "clicks impressions spend " +
		"conversions conversions_value"
	want := w.rows(t, "SELECT sum(clicks), sum(impressions), sum(spend), sum(conversions) FROM main.spend_daily")
	for view, between := range map[string]string{
		"account_report":  "",
		"campaign_report": "campaign_id campaign_name ",
		"ad_group_report": "campaign_id campaign_name ad_group_id ad_group_name ",
		"ad_report":       "campaign_id campaign_name ad_group_id ad_group_name ad_id ad_name ",
		"url_report": "campaign_id campaign_name ad_group_id ad_group_name base_url url_host url_path " +
			"utm_source utm_medium utm_campaign utm_content utm_term ",
	} {
		columns := strings.Fields(first + between + measures)
		sql := "(" + (&testCase{now: noon}).question(t, view) + ")"
		if got := w.columnsOf(t, sql); !slices.Equal(got, columns) {
			t.Errorf("%s has the columns %v, the package's model %v", view, got, columns)
			continue
		}
		other := strings.Repeat("NULL, ", len(columns)-1) + "NULL"
		union := "SELECT * FROM " + sql + " UNION ALL SELECT * FROM (VALUES (" + other + ")) AS v(" +
			strings.Join(columns, ", ") + ")"
		got := w.rows(t, "SELECT sum(clicks), sum(impressions), sum(spend), sum(conversions) FROM ("+union+")")
		if strings.Join(got[0], " ") != strings.Join(want[0], " ") {
			t.Errorf("%s adds up to %v, the table to %v", view, got, want)
		}
	}
}
