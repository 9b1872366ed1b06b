package queries_test

import (
	"database/sql/driver"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/queries"
)

// lagged generates accounts whose conversions keep arriving for days. The accounts are read every morning. The field
// dearer is the factor by which the cost of a conversion rose in the last seven days.
type lagged struct {
	seed                      uint64
	accounts, campaigns, days int
	conversions               float64 // per campaign and day
	dearer                    float64
	account                   string // prefix of the names of the accounts
}

// write fills the tables as daily syncs would have: the present numbers, every restatement, and the reads. The bid of
// every second campaign was changed eight days ago.
func (l *lagged) write(t *testing.T, w *warehouse) {
	t.Helper()
	rng := rand.New(rand.NewPCG(l.seed, 3))
	var rows, changes, steps [][]driver.Value
	var runs, coverage, campaigns, calendar []string
	stamp := func(at time.Time) string { return "'" + at.Format("2006-01-02 15:04:05") + "+00'" }
	for a := range l.accounts {
		account := fmt.Sprintf("%s%02d", l.account, a)
		calendar = append(calendar, "SELECT * REPLACE ('"+account+"' AS account_id) FROM main.calendar WHERE "+
			"account_id = 'acme' AND report_date BETWEEN DATE '2026-09-01' AND DATE '2026-12-31'")
		var reads []time.Time // one each morning, some minutes early or late
		for d := range l.days {
			at := lastDay.AddDate(0, 0, d-l.days+2).Add(12 * time.Hour).Add(time.Duration(rng.IntN(1800)) * time.Second)
			reads = append(reads, at)
			run := fmt.Sprintf("%s-%02d", account, d)
			runs = append(runs, fmt.Sprintf("('%s', '%s', %s, %s, true)", account, run, stamp(at), stamp(at)))
		}
		for d := range l.days {
			day := lastDay.AddDate(0, 0, d-l.days+1)
			date := day.Format(time.DateOnly)
			last := reads[min(d+20, l.days-1)]
			coverage = append(coverage, fmt.Sprintf("('%s', DATE '%s', 'complete', %s, %s)", account, date,
				stamp(reads[d]), stamp(last)))
			for r := d; r <= min(d+20, l.days-1); r++ {
				steps = append(steps, []driver.Value{account, date, reads[r], fmt.Sprintf("%s-%02d", account, r)})
			}
			for c := range l.campaigns {
				spend := math.Round(100*math.Exp(0.2*rng.NormFloat64())*100) / 100
				rate := l.conversions * spend / 100
				if d >= l.days-7 && c%2 == 0 {
					rate /= 1 + l.dearer
				}
				var arrivals []time.Time
				for range poisson(rng, rate) {
					clicked := day.Add(6 * time.Hour).Add(time.Duration(rng.Float64()*24*3600) * time.Second)
					delay := rng.ExpFloat64() * 60 // in hours, for every second conversion
					if rng.IntN(2) == 0 {
						delay = rng.ExpFloat64()
					}
					arrivals = append(arrivals, clicked.Add(time.Duration(delay*3600)*time.Second))
				}
				arrived := func(at time.Time) (n int) {
					for _, x := range arrivals {
						if x.Before(at) {
							n++
						}
					}
					return n
				}
				was := arrived(reads[d])
				for r := d + 1; r <= min(d+20, l.days-1); r++ {
					if is := arrived(reads[r]); is != was {
						changes = append(changes, []driver.Value{account, date, fmt.Sprint("c", c), reads[r], spend,
							int64(was), int64(is)})
						was = is
					}
				}
				rows = append(rows, []driver.Value{account, date, fmt.Sprint("c", c), spend, int64(was)})
			}
		}
		changed := lastDay.AddDate(0, 0, -7).Add(20 * time.Hour) // on the eighth day from the end
		for c := range l.campaigns {
			if c%2 == 1 { // unchanged: the control group
				campaigns = append(campaigns, fmt.Sprintf("('%s', 'c%d', 1, '2026-09-01 00:00:00+00', '9999-12-31 "+
					"00:00:00+00', true, NULL, '2026-11-20 12:00:00+00', NULL)", account, c))
				continue
			}
			campaigns = append(campaigns,
				fmt.Sprintf("('%s', 'c%d', 1, '2026-09-01 00:00:00+00', %s, false, NULL, %[3]s, NULL)", account, c,
					stamp(changed)),
				fmt.Sprintf("('%s', 'c%d', 2, %s, '9999-12-31 00:00:00+00', true, %[3]s, '2026-11-20 12:00:00+00', "+
					"'default_bid')", account, c, stamp(changed)))
		}
	}
	w.exec(t, "INSERT INTO main.calendar "+strings.Join(calendar, " UNION ALL "))
	insert := func(what string, values []string) {
		for some := range slices.Chunk(values, 4000) {
			w.exec(t, "INSERT INTO "+fmt.Sprintf(what, strings.Join(some, ", ")))
		}
	}
	w.load(t, "account_id VARCHAR, report_date VARCHAR, campaign_id VARCHAR, spend DOUBLE, conversions BIGINT", rows,
		`INSERT INTO main.spend_daily BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date), '' AS
			creative_id, '' AS source_id, '' AS campaign_name, 100 AS clicks,
			1000 AS impressions, TIMESTAMPTZ '2026-11-20 12:00:00+00' AS _first_seen_at, TIMESTAMPTZ
			'2026-11-20 12:00:00+00' AS _changed_at, 'r' AS _run_id FROM loaded AS l`)
	w.load(t, "account_id VARCHAR, report_date VARCHAR, campaign_id VARCHAR, seen_at TIMESTAMPTZ, old_spend DOUBLE, "+
		"old_conversions BIGINT, new_conversions BIGINT", changes,
		`INSERT INTO main.spend_change BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date), '' AS
			creative_id, '' AS source_id, 'update' AS op,
			l.old_spend AS new_spend, 'r' AS _run_id FROM loaded AS l`)
	w.load(t, "account_id VARCHAR, unit VARCHAR, started_at TIMESTAMPTZ, _run_id VARCHAR", steps,
		`INSERT INTO ops.step BY NAME SELECT l.*, 'spend_report' AS stream, 'unchanged' AS outcome, '' AS reason, 1 AS
			attempts, 1 AS pages, 1 AS "rows", 1 AS bytes,
			0 AS rounded_values, l.started_at AS finished_at FROM loaded AS l`)
	insert(`ops.day_coverage BY NAME SELECT v.*, 1 AS reads, 1 AS "rows", 'matched' AS control_total_state,
		1 AS days_until_unreachable
		FROM (VALUES %s) AS v(account_id, report_date, state, first_read_at, last_read_at)`, coverage)
	head, table := [][]cell{cells("account_id", "_run_id", "started_at", "finished_at", "published")}, runs
	for _, r := range table {
		parts := strings.Split(strings.Trim(r, "()"), ", ")
		for i := range parts {
			parts[i] = strings.Trim(parts[i], "'")
		}
		head = append(head, cells(parts...))
	}
	(&fixture{"ops.run", head}).insert(t, w)
	insert(`main.campaign_history (account_id, campaign_id, version_no, valid_from, valid_to, is_current,
			changed_after, last_confirmed_at, changed_columns, change_type, is_deleted, read_state, name, status,
			default_bid, _run_id)
		SELECT v.*, CASE WHEN v.b = 1 THEN 'first_seen' ELSE 'changed' END, false, 'ok', 'Name', 'active', v.b, 'r'
		FROM (VALUES %s) AS v(a, c, b, f, t, i, x, l, k)`, campaigns)
}

// TestComparisons_AtEqualAge checks the comparisons of the last week, and of days before and after a change of
// settings. In one group of accounts, the only effect is that conversions arrive late. In the other group, a conversion
// really became more expensive.
func TestComparisons_AtEqualAge(t *testing.T) {
	w := newWarehouse(t)
	ask, err := queries.Find("last_week")
	if err != nil {
		t.Fatal(err)
	}
	defer w.exec(t, "ROLLBACK")
	w.exec(t, "BEGIN")
	(&lagged{seed: 1, accounts: 22, campaigns: 4, days: 42, conversions: 25, account: "same"}).write(t, w)
	(&lagged{seed: 2, accounts: 6, campaigns: 4, days: 42, conversions: 25, account: "dear", dearer: 0.8}).write(t, w)
	w.make(t, followed, ask.SQL+" mart.change_impact mart.campaign_performance")

	t.Run("campaigns", w.campaignsAtEqualAge)
	week := strings.NewReplacer("$days", "7", "$rows", "100").Replace(ask.SQL)
	impact := "SELECT * FROM mart.change_impact"
	for _, q := range []struct{ name, sql, plain, adjusted string }{
		{"last week", "SELECT *, cpa_verdict AS verdict FROM (" + week + ") WHERE campaign_id IS NOT NULL AND " +
			"(account_id LIKE 'same%' OR campaign_id IN ('c0', 'c2'))", "cpa / cpa_before",
			"cpa_adjusted / cpa_before_adjusted"},
		{"a change of settings", impact, "cpa_after / cpa_before", "cpa_after_adjusted / cpa_before_adjusted"},
	} {
		t.Run(q.name, func(t *testing.T) {
			r := w.rows(t, `SELECT substr(account_id, 1, 4), count(*), count(*) FILTER (WHERE verdict IN ('dearer',
				'cheaper')), count(*) FILTER (WHERE verdict = 'dearer'),
				avg(cpa_change)::DOUBLE, avg((`+q.plain+`)::DOUBLE) - 1, avg((`+q.adjusted+`)::DOUBLE) - 1,
				count(*) FILTER (WHERE compared_by = 'equal_age')
				FROM (`+q.sql+`) AS x GROUP BY 1 ORDER BY 1`)
			t.Log("accounts, verdicts, alarms, dearer, change, plain change, adjusted change, at equal age:", r)
			if len(r) != 2 {
				t.Fatal(r)
			}
			dear, same := numbers(t, r[0][1:]), numbers(t, r[1][1:])
			if same[1] > 0.05*same[0] {
				t.Errorf("without any effect %g of %g are called dearer or cheaper: more than 5 %%", same[1], same[0])
			}
			if math.Abs(same[3]) > 0.04 || math.Abs(same[5]) > 0.04 {
				t.Errorf("without any effect the CPA changed by %g at equal age, by %g adjusted", same[3], same[5])
			}
			if same[4] < 0.1 {
				t.Errorf("the plain CPA rose by %g: this account does not show what young conversions do", same[4])
			}
			if dear[2] < 0.8*dear[0] {
				t.Errorf("a conversion costs 80 %% more, and %g of %g are called dearer", dear[2], dear[0])
			}
			if same[6] < 0.95*same[0] {
				t.Errorf("%g of %g are compared at equal age, though every day was read every morning",
					same[6], same[0])
			}
		})
	}
}

// campaignsAtEqualAge checks the view campaign_performance with the accounts of the test above.
func (w *warehouse) campaignsAtEqualAge(t *testing.T) {
	r := w.rows(t, `SELECT substr(account_id, 1, 4), count(*), count(*) FILTER (WHERE change_verdict IN ('dearer',
		'cheaper')), avg(cpa_change)
		FROM mart.campaign_performance WHERE account_id LIKE 'same%' OR campaign_id IN ('c0', 'c2') GROUP BY 1 ORDER
		BY 1`)
	t.Log("accounts, campaigns, alarms, change:", r)
	dear, same := numbers(t, r[0][1:]), numbers(t, r[1][1:])
	if same[1] > 0.05*same[0] || math.Abs(same[2]) > 0.04 || dear[1] < 0.8*dear[0] {
		t.Errorf("called dearer or cheaper: %v where nothing happened, %v where a conversion costs 80 %% more",
			same, dear)
	}
}

func numbers(t *testing.T, texts []string) (all []float64) {
	t.Helper()
	for _, s := range texts {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}
