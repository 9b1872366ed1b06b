package queries_test

import (
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"spendsync/queries"
	"spendsync/schema"
)

// TestLimitsReset_IsSeenFromTheHours simulates services whose daily limits start over at different hours, read at
// every hour across a change of the clocks, and services that show nothing of it.
func TestLimitsReset_IsSeenFromTheHours(t *testing.T) {
	q, err := queries.Find("limits_reset")
	if err != nil {
		t.Fatal(err)
	}
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	w := newWarehouse(t)
	w.fill(t, &testCase{now: "2026-11-06T18:00:00Z"}, q.SQL)
	defer w.exec(t, "ROLLBACK")
	first, days := schema.NewDate(2026, 10, 29), 8 // 1 November has 25 hours
	var daily, lines [][]driver.Value
	campaigns := [][]cell{cells("account_id", "campaign_id", "daily_spend_limit")}
	coverage := [][]cell{cells("account_id", "report_date", "last_read_at")}
	for _, s := range []struct {
		account string
		zone    *time.Location
		hour    int     // of the zone's clock
		limit   float64 // in hours of usual spend
		night   bool    // nothing is spent from midnight to eight in Chicago
	}{
		{"chicago", chicago, 0, 12, false}, {"utc", time.UTC, 0, 12, false}, {"other_hour", time.UTC, 9, 12, false},
		{"not_enough_evidence", chicago, 0, 40, true}, {"not_enough_evidence: no limit", chicago, 0, 1000, false},
	} {
		account := schema.QuoteText(s.account)
		w.exec(t, "INSERT INTO main.calendar SELECT * REPLACE ("+account+" AS account_id) FROM main.calendar WHERE "+
			"account_id = 'acme'")
		for n := range 3 {
			id, rate, left := fmt.Sprintf("c%d", n), float64(20+n), 0.0
			limit := s.limit * rate
			for d := first; d < first+schema.Date(days); d++ {
				spent := 0.0
				for at := d.Start(); at.Before(d.End()); at = at.Add(time.Minute) {
					if local := at.In(s.zone); local.Hour() == s.hour && local.Minute() == 0 {
						left = limit
					}
					if at.Minute() == 7 {
						lines = append(lines, []driver.Value{s.account, d.String(), id, at, spent})
					}
					if !s.night || at.In(chicago).Hour() >= 8 {
						minute := min(left, rate/60)
						spent, left = spent+minute, left-minute
					}
				}
				daily = append(daily, []driver.Value{s.account, d.String(), id, spent})
			}
			campaigns = append(campaigns, cells(s.account, id, fmt.Sprint(limit)))
		}
		for d := first; d < first+schema.Date(days); d++ {
			coverage = append(coverage, cells(s.account, d.String(), "2026-11-06T17:00:00Z"))
		}
	}
	(&fixture{"campaign_history", campaigns}).insert(t, w)
	(&fixture{"ops.day_coverage", coverage}).insert(t, w)
	w.load(t, "account_id VARCHAR, report_date VARCHAR, campaign_id VARCHAR, spend DOUBLE", daily,
		`INSERT INTO main.spend_daily BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date),
			'' AS creative_id, '' AS source_id, l.campaign_id AS campaign_name,
			TIMESTAMPTZ '2026-11-06 17:00:00+00' AS _first_seen_at,
			TIMESTAMPTZ '2026-11-06 17:00:00+00' AS _changed_at, 'r1' AS _run_id FROM loaded AS l`)
	w.load(t, "account_id VARCHAR, report_date VARCHAR, campaign_id VARCHAR, seen_at TIMESTAMPTZ, spend DOUBLE", lines,
		`INSERT INTO main.spend_intraday BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date),
			'r1' AS _run_id FROM loaded AS l`)
	w.exec(t, "INSERT INTO mart.campaign_spend "+schema.CampaignSpendSQL("true"))
	rows := w.rows(t, "SELECT account_id, verdict, restarts, usual_hour_utc FROM (\n"+q.SQL+"\n)")
	for _, r := range rows {
		t.Log(r)
		if want := r[0][:min(len(r[0]), len("not_enough_evidence"))]; r[1] != want {
			t.Errorf("%s: %s, by %s restarts, most of them at %s", r[0], r[1], r[2], r[3])
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d accounts", len(rows))
	}
}
