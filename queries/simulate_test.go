package queries_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// market is a simulated account. Its rows are drawn at random with rates that the test chooses, so that the test can
// compare verdicts with these rates.
type market struct {
	seed                                uint64
	campaigns, creatives, sources, days int
	impressions, ctr, cvr, cpc          float64
	targetCPA                           float64 // 0: no target
	// effect returns factors for the impressions, CTR and CVR of a creative at a source on a day. Days are counted from
	// the oldest day. nil means that all factors are 1.
	effect func(campaign, creative, source, day int) (impressions, ctr, cvr float64)
	// dayNoise and rateNoise are the daily random variations of a campaign, as shares: dayNoise of its impressions,
	// rateNoise of its CVR, equally for all its sources.
	dayNoise, rateNoise float64
}

// lastDay is the last completely known day of every simulated account.
var lastDay = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)

func (m *market) date(day int) string {
	return lastDay.AddDate(0, 0, day-m.days+1).Format(time.DateOnly)
}

// poisson draws a Poisson-distributed count.
func poisson(rng *rand.Rand, mean float64) int64 {
	if mean > 50 {
		return int64(math.Max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64())))
	}
	n, p := int64(0), rng.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= rng.Float64()
	}
	return n
}

// write fills the tables with the market's rows, in the test's transaction.
func (m *market) write(t *testing.T, w *warehouse) {
	t.Helper()
	rng := rand.New(rand.NewPCG(m.seed, 18))
	var rows [][]driver.Value
	for d := range m.days {
		for c := range m.campaigns {
			volume, rate := math.Exp(m.dayNoise*rng.NormFloat64()), math.Exp(m.rateNoise*rng.NormFloat64())
			for k := range m.creatives {
				for s := range m.sources {
					shown, ctr, cvr := 1.0, 1.0, 1.0
					if m.effect != nil {
						shown, ctr, cvr = m.effect(c, k, s, d)
					}
					impressions := poisson(rng, m.impressions*volume*shown)
					if impressions == 0 {
						continue
					}
					clicks := min(impressions, poisson(rng, float64(impressions)*m.ctr*ctr))
					conversions := min(clicks, poisson(rng, float64(clicks)*m.cvr*cvr*rate))
					rows = append(rows, []driver.Value{m.date(d), fmt.Sprintf("c%02d", c), fmt.Sprintf("k%02d-%02d", c,
						k), fmt.Sprintf("s%03d", s),
						float64(clicks) * m.cpc, clicks, impressions, conversions})
				}
			}
		}
	}
	w.load(t, "report_date VARCHAR, campaign_id VARCHAR, creative_id VARCHAR, source_id VARCHAR, spend DOUBLE, "+
		"clicks BIGINT, impressions BIGINT, conversions BIGINT", rows,
		`INSERT INTO main.spend_daily BY NAME SELECT l.* REPLACE (l.report_date::DATE AS report_date), 'acme' AS
			account_id, 'Campaign' AS campaign_name,
			TIMESTAMPTZ '2026-11-20 17:00:00+00' AS _first_seen_at, TIMESTAMPTZ '2026-11-20 17:00:00+00' AS
			_changed_at, 'r1' AS _run_id FROM loaded AS l`)
	var coverage, campaigns [][]cell
	coverage = append(coverage, cells("report_date", "state", "first_read_at", "last_read_at"))
	for d := range m.days {
		coverage = append(coverage, cells(m.date(d), "complete", "2026-11-20T17:00:00Z", "2026-11-20T17:00:00Z"))
	}
	campaigns = append(campaigns, cells("campaign_id", "name", "status", "default_bid", "daily_spend_limit",
		"target_cpa", "source_mode", "valid_from"))
	for c := range m.campaigns {
		row := cells(fmt.Sprintf("c%02d", c), fmt.Sprintf("Campaign %d", c), "active", "0.50", "1000",
			fmt.Sprint(m.targetCPA), "block_list", "2026-08-01T00:00:00Z")
		row[5].null = m.targetCPA == 0
		campaigns = append(campaigns, row)
	}
	(&fixture{"ops.day_coverage", coverage}).insert(t, w)
	(&fixture{"campaign_history", campaigns}).insert(t, w)
}

// factor returns a fixed random number around 1 for each part of a market.
func factor(seed uint64, spread float64, parts ...int) float64 {
	key := seed
	for _, p := range parts {
		key = key*1_000_003 + uint64(p) + 1
	}
	return math.Exp(spread * rand.New(rand.NewPCG(key, 5)).NormFloat64())
}

// restless returns a market in which much changes: sources differ in CTR, grow and shrink, and the CTR of entire
// campaigns rises and falls. But no creative tires, and all sources convert equally well.
func restless(seed uint64) *market {
	m := &market{seed: seed, campaigns: 8, creatives: 6, sources: 10, days: 60, impressions: 260, ctr: 0.02, cvr: 0.05,
		cpc: 0.2, targetCPA: 4, dayNoise: 0.2, rateNoise: 0.1}
	m.effect = func(c, _, s, d int) (float64, float64, float64) {
		return math.Exp(0.6 * math.Sin(float64(d)/9+float64(s+c))),
			factor(seed, 0.4, c, s) * (1 + 0.3*math.Sin(float64(d)/6+float64(c))), 1
	}
	return m
}

// followed is a case in which the days count as read again often enough, although the reads are not simulated.
var followed = &testCase{now: noon, thresholds: map[string]string{"curve_needed": "0"}}

// simulate begins a transaction with the market, and makes the models that a question needs.
func (w *warehouse) simulate(t *testing.T, m *market, question string) {
	t.Helper()
	w.exec(t, "BEGIN")
	m.write(t, w)
	w.make(t, followed, question)
}

// load appends rows to a temporary table called loaded, and runs a statement that copies them from there.
func (w *warehouse) load(t *testing.T, columns string, rows [][]driver.Value, statement string) {
	t.Helper()
	w.exec(t, "CREATE OR REPLACE TABLE main.loaded ("+columns+")")
	conn, err := w.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderFromConn(c.(driver.Conn), "main", "loaded")
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := a.AppendRow(r...); err != nil {
				return err
			}
		}
		return a.Close()
	})
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	w.exec(t, statement)
	w.exec(t, "DROP TABLE main.loaded")
}
