package queries_test

import (
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/queries"
	"spendsync/schema"
)

// limitedService is a simulated service whose daily limits start over at an hour of a zone.
type limitedService struct {
	account string
	zone    *time.Location
	hour    int     // of the zone's clock
	limit   float64 // in hours of usual spend
	night   bool    // nothing is spent from midnight to eight in Chicago
}

// limitedDays are the days on which these services are read at every hour, across a change of the clocks: 1 November
// has 25 hours. The last day is going on.
var limitedDays = []schema.Date{schema.NewDate(2026, 10, 29), schema.NewDate(2026, 11, 6)}

const limitedUntil = "2026-11-06T17:07:00Z"

// writeLimited fills the tables with three campaigns of each service, and returns what each spent in each day of the
// zone.
func writeLimited(t *testing.T, w *warehouse, services []limitedService) (truth map[string]float64) {
	t.Helper()
	until, err := time.Parse(time.RFC3339, limitedUntil)
	if err != nil {
		t.Fatal(err)
	}
	truth = map[string]float64{}
	var daily, lines, steps [][]driver.Value
	campaigns := [][]cell{cells("account_id", "campaign_id", "daily_spend_limit", "status", "valid_from")}
	coverage := [][]cell{cells("account_id", "report_date", "state", "last_read_at")}
	for _, s := range services {
		account := schema.QuoteText(s.account)
		w.exec(t, "INSERT INTO main.calendar SELECT * REPLACE ("+account+" AS account_id) FROM main.calendar WHERE "+
			"account_id = 'acme'")
		read := map[time.Time][]driver.Value{} // what the three had spent
		for n := range 3 {
			id, rate, left := fmt.Sprintf("c%d", n), float64(20+n), 0.0
			limit := s.limit * rate
			for d := limitedDays[0]; d <= limitedDays[1]; d++ {
				spent := 0.0
				for at := d.Start(); at.Before(d.End()) && !at.After(until); at = at.Add(time.Minute) {
					local := at.In(s.zone)
					if local.Hour() == s.hour && local.Minute() == 0 {
						left = limit
					}
					if at.Minute() == 7 {
						read[at] = append(read[at], spent)
					}
					if !s.night || at.In(schema.Chicago()).Hour() >= 8 {
						minute := min(left, rate/60)
						spent, left = spent+minute, left-minute
						if at.Before(until) {
							truth[s.account+" "+id+" "+local.Format(time.DateOnly)] += minute
						}
					}
				}
				daily = append(daily, []driver.Value{s.account, d.String(), id, spent})
			}
			campaigns = append(campaigns, cells(s.account, id, fmt.Sprint(limit), "active", "2026-08-01T00:00:00Z"))
		}
		for _, at := range slices.SortedFunc(maps.Keys(read), time.Time.Compare) {
			d := schema.DateOf(at).String()
			// A read that finds the day as it was before has no lines.
			before := at.Add(-time.Hour)
			if schema.DateOf(before).String() == d && slices.Equal(read[before], read[at]) {
				steps = append(steps, []driver.Value{s.account, d, at})
				continue
			}
			for n, spent := range read[at] {
				lines = append(lines, []driver.Value{s.account, d, fmt.Sprintf("c%d", n), at, spent})
			}
		}
		for d := limitedDays[0]; d <= limitedDays[1]; d++ {
			state := schema.StateComplete
			if d == limitedDays[1] {
				state = schema.StateOpen
			}
			coverage = append(coverage, cells(s.account, d.String(), state, limitedUntil))
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
	w.load(t, "account_id VARCHAR, unit VARCHAR, started_at TIMESTAMPTZ", steps,
		`INSERT INTO ops.step BY NAME SELECT l.*, 'spend_report' AS stream, 'unchanged' AS outcome, 'open' AS reason,
			l.started_at AS finished_at, 1 AS attempts, 1 AS pages, 3 AS rows, 0 AS bytes, 0 AS rounded_values,
			'r' || row_number() OVER () AS _run_id FROM loaded AS l`)
	w.exec(t, "INSERT INTO mart.campaign_spend "+schema.CampaignSpendSQL("true"))
	return truth
}

// countLimits sets the day by which the limits of an account count.
func countLimits(t *testing.T, w *warehouse, account string, zone *time.Location) {
	t.Helper()
	var lines []string
	for _, d := range schema.CalendarDays(account, "r1", 2026, 2026, zone) {
		if d.LimitStartsAt.Valid {
			lines = append(lines, fmt.Sprintf("(DATE '%s', make_timestamptz(%d), make_timestamptz(%d))", d.ReportDate,
				d.LimitStartsAt.V, d.LimitEndsAt.V))
		}
	}
	if len(lines) > 0 {
		w.exec(t, "UPDATE main.calendar SET limit_starts_at = l.starts_at, limit_ends_at = l.ends_at FROM (VALUES "+
			strings.Join(lines, ", ")+") AS l(report_date, starts_at, ends_at) WHERE "+
			"calendar.report_date = l.report_date AND calendar.account_id = "+schema.QuoteText(account))
	}
}

// TestLimitDay_IsWhatTheServiceCounted compares the spend of days of limits with what simulated services counted, whose
// limits start over in zones on both sides of Chicago. Some of them do not change their clocks on the day Chicago does.
func TestLimitDay_IsWhatTheServiceCounted(t *testing.T) {
	var services []limitedService
	for _, name := range []string{"UTC", "America/Los_Angeles", "America/Regina", "Europe/London", "Pacific/Auckland",
		schema.ChicagoZone} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		// One reaches its limits, in half of the day, and one never does.
		services = append(services, limitedService{"full " + name, zone, 0, 12, false},
			limitedService{"free " + name, zone, 0, 100, false})
	}
	w := newWarehouse(t)
	w.fill(t, &testCase{now: "2026-11-06T18:00:00Z"}, "mart.daily_pacing mart.limit_day")
	defer w.exec(t, "ROLLBACK")
	truth := writeLimited(t, w, services)
	full := map[string]bool{}
	for _, s := range services {
		countLimits(t, w, s.account, s.zone)
		full[s.account] = s.limit == 12
	}
	over, running := map[string]int{}, map[string]int{}
	for _, r := range w.rows(t, `SELECT d.account_id || ' ' || d.campaign_id || ' ' || d.report_date, d.is_over,
		d.spend, d.daily_spend_limit, p.pacing_state, d.account_id FROM mart.limit_day AS d JOIN mart.daily_pacing AS p
		USING (account_id, report_date, campaign_id)
		WHERE d.account_id <> 'acme' AND d.report_date BETWEEN '2026-10-30' AND '2026-11-07' AND d.is_covered`) {
		n, account := numbers(t, r[2:4]), r[5]
		// Of the hour in which it started over, what was spent is spread evenly over the time between the reads.
		if d := n[0] - truth[r[0]]; d > n[1]*0.01 || d < -n[1]*0.01 {
			t.Errorf("%v: it spent %.2f", r, truth[r[0]])
		}
		switch {
		case r[1] != "true":
			running[account]++
		case full[account] == (r[4] == "limited" || r[4] == "over"):
			over[account]++
		default:
			t.Errorf("%v: its pace is wrong", r)
		}
	}
	for account := range full {
		if over[account] < 3*7 || running[account] != 3 {
			t.Errorf("%s: %d lines of days that are over, %d of days that go on", account, over[account],
				running[account])
		}
	}
}

// TestLimitsReset_IsSeenFromTheHours simulates services whose daily limits start over at different hours, read at
// every hour across a change of the clocks, and services that show nothing of it.
func TestLimitsReset_IsSeenFromTheHours(t *testing.T) {
	q, err := queries.Find("limits_reset")
	if err != nil {
		t.Fatal(err)
	}
	services := []limitedService{
		{"chicago", schema.Chicago(), 0, 12, false}, {"utc", time.UTC, 0, 12, false},
		{"other_hour", time.UTC, 9, 12, false}, {"not_enough_evidence", schema.Chicago(), 0, 40, true},
		{"not_enough_evidence: no limit", schema.Chicago(), 0, 1000, false},
	}
	w := newWarehouse(t)
	w.fill(t, &testCase{now: "2026-11-06T18:00:00Z"}, q.SQL+" mart.data_quality")
	defer w.exec(t, "ROLLBACK")
	writeLimited(t, w, services)
	countLimits(t, w, "other_hour", time.UTC)
	rows := w.rows(t, "SELECT account_id, verdict, restarts, usual_hour_utc, counted_hour_utc, what_to_do FROM (\n"+
		q.SQL+"\n)")
	for _, r := range rows {
		t.Log(r)
		if want := r[0][:min(len(r[0]), len("not_enough_evidence"))]; r[1] != want {
			t.Errorf("%s: %s, by %s restarts, most of them at %s", r[0], r[1], r[2], r[3])
		}
		if want := map[bool]string{true: "0", false: "6"}[r[0] == "other_hour"]; r[4] != want {
			t.Errorf("%s: limits are said to count from %s o'clock UTC", r[0], r[4])
		}
		if set := strings.HasPrefix(r[5], "set SPENDSYNC_LIMIT_DAY=UTC"); set != (r[0] == "utc") {
			t.Errorf("%s: %s", r[0], r[5])
		}
	}
	warned := w.rows(t, "SELECT account_id FROM mart.data_quality WHERE check_name = 'limits_counted' AND NOT passed")
	if len(warned) != 1 || warned[0][0] != "utc" {
		t.Errorf("mart.data_quality warns of %v, want utc alone", warned)
	}
	if len(rows) != 5 {
		t.Errorf("%d accounts", len(rows))
	}
}
