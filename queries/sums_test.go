package queries_test

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/queries"
)

// TestWhichCampaignsPay_AddsUp adds a campaign whose credits exceed its spend, and a campaign without spend whose
// conversions are unknown. For any number of shown campaigns, the first row must be the sum of the other rows, and of
// the rows of spend_daily.
func TestWhichCampaignsPay_AddsUp(t *testing.T) {
	w := newWarehouse(t)
	q, err := queries.Find("which_campaigns_pay")
	if err != nil {
		t.Fatal(err)
	}
	w.simulate(t, restless(3), q.SQL)
	defer w.exec(t, "ROLLBACK")
	w.exec(t, "UPDATE main.spend_daily SET spend = -0.25 * spend WHERE campaign_id = 'c02'")
	w.exec(t, "UPDATE main.spend_daily SET spend = 0, conversions = NULL WHERE campaign_id = 'c05'")
	w.make(t, followed, q.SQL)
	for _, shown := range []int{30, 8, 7, 3, 1, 0} {
		got := w.rows(t, "WITH a AS ("+strings.ReplaceAll(q.SQL, "$rows", fmt.Sprint(shown))+`),
			one AS (SELECT * FROM a WHERE campaign_name = 'all campaigns'),
			parts AS (SELECT sum(spend) AS spend, sum(excess_spend) AS excess_spend FROM a
				WHERE campaign_name <> 'all campaigns'),
			told AS (SELECT sum(s.spend) AS spend FROM main.spend_daily AS s
				JOIN int.performance_window USING (report_date))
			SELECT (SELECT count(*) FROM a), o.spend = p.spend, o.excess_spend = p.excess_spend, o.spend = t.spend,
				o.conversions IS NULL FROM one AS o, parts AS p, told AS t`)
		rows := min(shown, 8) + 1
		if shown < 8 {
			rows++
		}
		if want := fmt.Sprintf("[[%d true true true true]]", rows); fmt.Sprint(got) != want {
			t.Errorf("%d shown: rows, spend, excess, spend_daily, unknown conversions %v, want %s", shown, got, want)
		}
	}
}
