package queries_test

import (
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// hoursRead is a simulated service whose last days were read hourly. The test knows how each of these days ended.
type hoursRead struct {
	service *adsim.Service
	first   schema.Date
	days    int                // the test asks about the last days at times when these were not over
	limits  *time.Location     // zone of the days
	ended   map[string]float64 // spend of each day, by campaign and date
}

// spentBy returns the sums of a day by campaign, as the service states them at an instant.
func (h *hoursRead) spentBy(d schema.Date, at time.Time) map[string]adsim.Measures {
	h.service.SetNow(at)
	sums := map[string]adsim.Measures{}
	for l := range h.service.Truth(d.String()) {
		m := sums[l.CampaignID]
		m.Spend, m.Clicks = m.Spend+l.Spend, m.Clicks+l.Clicks
		m.Impressions, m.Conversions = m.Impressions+l.Impressions, m.Conversions+l.Conversions
		sums[l.CampaignID] = m
	}
	return sums
}

// write fills the tables as hourly syncs would have, except that each campaign gets a daily limit that its spend
// exceeds on some days.
func (h *hoursRead) write(t *testing.T, w *warehouse) {
	t.Helper()
	var rows, lines [][]driver.Value
	coverage := [][]cell{cells("report_date", "state", "first_read_at", "last_read_at")}
	usual := map[string]float64{}
	h.ended = map[string]float64{}
	for d := h.first; d < h.first+schema.Date(h.days); d++ {
		for at := d.Start().Add(7 * time.Minute); at.Before(d.End()); at = at.Add(time.Hour) {
			for id, m := range h.spentBy(d, at) {
				lines = append(lines, []driver.Value{
					d.String(), id, at, float64(m.Spend) / 1e6, m.Clicks, m.Impressions, m.Conversions,
				})
			}
		}
		from, to := d.StartIn(h.limits), (d + 1).StartIn(h.limits)
		for _, part := range []schema.Date{d - 1, d, d + 1} { // Chicago days
			before := h.spentBy(part, from)
			for id, m := range h.spentBy(part, to) {
				h.ended[d.String()+" "+id] += float64(m.Spend-before[id].Spend) / 1e6
			}
		}
		for id, m := range h.spentBy(d, d.End().Add(time.Hour)) {
			usual[id] += float64(m.Spend) / 1e6 / float64(h.days)
			rows = append(rows, []driver.Value{d.String(), id, float64(m.Spend) / 1e6, m.Clicks, m.Impressions,
				m.Conversions})
		}
		read := d.End().Add(7 * time.Minute).UTC().Format(time.RFC3339)
		coverage = append(coverage, cells(d.String(), "complete", read, read))
	}
	campaigns := [][]cell{cells("campaign_id", "name", "status", "default_bid", "daily_spend_limit", "source_mode",
		"valid_from")}
	deliveries := [][]cell{cells("campaign_id", "delivery_status", "valid_from")}
	for n, id := range slices.Sorted(maps.Keys(usual)) {
		limit := fmt.Sprintf("%.2f", usual[id]*[]float64{0.7, 0.95, 1.15, 1.7, 3}[n%5])
		campaigns = append(campaigns, cells(id, id, "active", "0.50", limit, "block_list", "2026-08-01T00:00:00Z"))
		deliveries = append(deliveries, cells(id, "active", "2026-08-01T00:00:00Z"))
	}
	const sums = "spend DOUBLE, clicks BIGINT, impressions BIGINT, conversions BIGINT"
	w.load(t, "report_date VARCHAR, campaign_id VARCHAR, "+sums, rows,
		`INSERT INTO main.spend_daily BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date), 'acme' AS
			account_id, '' AS creative_id, '' AS source_id, l.campaign_id AS campaign_name,
			TIMESTAMPTZ '2026-11-20 17:00:00+00' AS _first_seen_at, TIMESTAMPTZ '2026-11-20 17:00:00+00' AS
			_changed_at, 'r1' AS _run_id FROM loaded AS l`)
	w.load(t, "report_date VARCHAR, campaign_id VARCHAR, seen_at TIMESTAMPTZ, "+sums, lines,
		`INSERT INTO main.spend_intraday BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date), 'acme' AS
			account_id, 'r1' AS _run_id FROM loaded AS l`)
	(&fixture{"ops.day_coverage", coverage}).insert(t, w)
	(&fixture{"campaign_history", campaigns}).insert(t, w)
	(&fixture{"campaign_delivery_history", deliveries}).insert(t, w)
}

// stand sets the tables back to an instant of a day: it removes all rows that were stored later.
func (h *hoursRead) stand(t *testing.T, w *warehouse, d schema.Date, at time.Time) {
	t.Helper()
	day, now := "DATE '"+d.String()+"'", "TIMESTAMPTZ '"+at.UTC().Format(time.RFC3339)+"'"
	for _, table := range []string{"main.spend_daily", "ops.day_coverage", "main.spend_intraday"} {
		w.exec(t, "DELETE FROM "+table+" WHERE report_date > "+day)
	}
	w.exec(t, "DELETE FROM main.spend_intraday WHERE seen_at > "+now)
	w.exec(t, "DELETE FROM main.spend_daily WHERE report_date = "+day)
	w.exec(t, `INSERT INTO main.spend_daily BY NAME SELECT account_id, report_date, campaign_id, '' AS creative_id,
		'' AS source_id, campaign_id AS campaign_name, spend, clicks, impressions, conversions,
		seen_at AS _first_seen_at, seen_at AS _changed_at, 'r1' AS _run_id FROM main.spend_intraday
		WHERE report_date = `+day+" AND seen_at = "+now)
	w.exec(t, "UPDATE ops.day_coverage SET state = 'open', last_read_at = "+now+" WHERE report_date = "+day)
	w.make(t, &testCase{now: "2026-11-13T23:59:00Z"}, "mart.daily_pacing")
}

// TestPacing_HoldsToTheDiary asks several times on several days how each campaign's day will end, and compares the
// answers with how the day did end. At most 5 % of the verdicts may be wrong, and projecting a straight line must be
// wrong more often. If the typical course of a day is not known, there must be no projection. If there is no verdict on
// the campaign's CPA, there must be no advice that costs money.
func TestPacing_HoldsToTheDiary(t *testing.T) {
	schematest.Long(t)
	holdPacing(t, schema.Chicago(), 20, 17, 14, 11, 8)
}

func holdPacing(t *testing.T, limits *time.Location, hours ...int) {
	w := newWarehouse(t)
	// The clocks change in this period: the first day of November has 25 hours.
	h := &hoursRead{first: schema.NewDate(2026, 10, 29), days: 16, limits: limits, service: adsim.New(adsim.Config{
		Campaigns: 40, CreativesPerCampaign: 3, Sources: 200, RowsPerDay: 900, RateLimit: -1,
		FreezeRestatements: true})}
	w.exec(t, "BEGIN")
	defer w.exec(t, "ROLLBACK")
	h.write(t, w)
	var judged, wrong, straightJudged, straightWrong, silent float64
	// Begin with the latest instant, because each step deletes everything after its instant.
	for d := h.first + schema.Date(h.days) - 1; d >= h.first+schema.Date(h.days)-3; d-- {
		for _, hour := range hours {
			at := d.Start().Add(time.Duration(hour)*time.Hour + 7*time.Minute)
			h.stand(t, w, d, at)
			for _, r := range w.rows(t, fmt.Sprintf(`SELECT campaign_id, pacing_state, spend / day_elapsed,
				daily_spend_limit, pace_basis, coalesce(action, ''), campaign_verdict FROM mart.daily_pacing WHERE
				report_date = DATE '%s' AND pacing_state IN ('under', 'on_pace', 'limited', 'too_early') AND
				spend < 0.95 * daily_spend_limit`, d)) {
				n := numbers(t, r[2:4])
				ended := h.ended[d.String()+" "+r[0]]
				if straightJudged++; stateOf(n[0], n[1]) != stateOf(ended, n[1]) {
					straightWrong++
				}
				switch {
				case r[4] != "curve":
					t.Errorf("%s: %v: there is no curve after 11 days of hourly reads", at, r)
				case r[1] == "too_early":
					silent++
				default:
					if judged++; r[1] != stateOf(ended, n[1]) {
						wrong++
					}
				}
				if r[5] == "a higher limit would buy more of what pays" {
					t.Errorf("%s: %v: a higher limit is advised without a target", at, r)
				}
			}
		}
	}
	t.Logf("%g of %g verdicts are wrong, %g are not given; a straight line is wrong for %g of %g", wrong, judged,
		silent, straightWrong, straightJudged)
	if judged < 60 || wrong > 0.05*judged {
		t.Errorf("%g of %g verdicts are wrong", wrong, judged)
	}
	if straightWrong < 0.1*straightJudged {
		t.Errorf("a straight line is wrong for %g of %g: this account does not show what a curve is for", straightWrong,
			straightJudged)
	}
	d := h.first + 5
	h.stand(t, w, d, d.Start().Add(14*time.Hour+7*time.Minute))
	if got := w.rows(t, fmt.Sprintf(`SELECT count(*) FROM mart.daily_pacing WHERE report_date = DATE '%s' AND
		(pace_basis <> 'no_curve' OR projected_spend IS NOT NULL OR pacing_state IN ('under', 'on_pace') OR
		pacing_state = 'limited' AND spend < 0.95 * daily_spend_limit::DOUBLE)`, d))[0][0]; got != "0" {
		t.Errorf("%s campaigns are projected after five days without a curve", got)
	}
}

// stateOf returns the state of a day that ends with the given spend.
func stateOf(spend, limit float64) string {
	switch {
	case spend >= 0.95*limit:
		return "limited"
	case spend >= 0.75*limit:
		return "on_pace"
	}
	return "under"
}
