package queries_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"spendsync/schema/schematest"
)

// factor is a number of its own for each of a market's parts, around 1.
func factor(seed uint64, spread float64, parts ...int) float64 {
	key := seed
	for _, p := range parts {
		key = key*1_000_003 + uint64(p) + 1
	}
	return math.Exp(spread * rand.New(rand.NewPCG(key, 5)).NormFloat64())
}

// restless is a market in which everything moves but no creative tires and no source is
// better or worse at converting: sources differ in CTR and grow and shrink, and the CTR of
// whole campaigns goes up and down.
func restless(seed uint64) *market {
	m := &market{seed: seed, campaigns: 8, creatives: 6, sources: 10, days: 60, impressions: 260, ctr: 0.02, cvr: 0.05,
		cpc: 0.2, targetCPA: 4, dayNoise: 0.2, rateNoise: 0.1}
	m.effect = func(c, _, s, d int) (float64, float64, float64) {
		return math.Exp(0.6 * math.Sin(float64(d)/9+float64(s+c))),
			factor(seed, 0.4, c, s) * (1 + 0.3*math.Sin(float64(d)/6+float64(c))), 1
	}
	return m
}

// TestVerdicts_AreRightWithoutAnEffect holds the share of false alarms of every verdict to
// 5 %, over accounts in which there is nothing to find, and the same verdicts to what was
// planted in others.
func TestVerdicts_AreRightWithoutAnEffect(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	alarms := []struct{ name, sql string }{
		{"sources to block", "SELECT count(*), (SELECT count(*) FROM mart.source_performance) FROM " +
			"mart.source_block_candidates"},
		{"sources to scale", "SELECT count(*), (SELECT count(*) FROM mart.source_performance) FROM " +
			"mart.source_scale_candidates"},
		{"creatives that tire", "SELECT count(*) FILTER (WHERE verdict IN ('fatiguing', 'exhausted')), count(*) " +
			"FILTER (WHERE verdict <> 'too_little_data') FROM mart.creative_fatigue"},
		{"creatives unlike their siblings", "SELECT count(*) FILTER (WHERE ctr_vs_siblings IN ('better', 'worse')), " +
			"count(*) FROM main.creative_performance(DATE '2000-01-01', DATE '2999-12-31')"},
		{"campaigns that pay or lose", "SELECT count(*) FILTER (WHERE verdict IN ('pays', 'loses')), count(*) FROM " +
			"mart.campaign_performance"},
		{"breaks", "SELECT count(*), (SELECT count(*) FROM main.campaign) FROM mart.breaks"},
	}
	question := ""
	for _, a := range alarms {
		question += a.sql + "\n"
	}
	t.Run("nothing to find", func(t *testing.T) {
		called, judged := make([]float64, len(alarms)), make([]float64, len(alarms))
		plain := 0.0
		for seed := range uint64(3) {
			w.simulate(t, restless(seed+1), question)
			for i, a := range alarms {
				n := numbers(t, w.rows(t, a.sql)[0])
				called[i], judged[i] = called[i]+n[0], judged[i]+n[1]
			}
			plain += numbers(t, w.rows(t, "SELECT count(*) FROM mart.creative_fatigue WHERE decline >= 0.2 AND "+
				"z_score >= 2")[0])[0]
			w.exec(t, "ROLLBACK")
		}
		for i, a := range alarms {
			t.Logf("%s: %g of %g", a.name, called[i], judged[i])
			if judged[i] < 20 || called[i] > 0.05*judged[i] {
				t.Errorf("%s: %g of %g are called though nothing is to be found: more than 5 %%", a.name, called[i],
					judged[i])
			}
		}
		if plain < 0.1*judged[2] {
			t.Errorf("%g of %g creatives fell by a fifth by plain CTR: this account does not show what the "+
				"comparison is for", plain, judged[2])
		}
	})
	t.Run("planted", func(t *testing.T) { plantedVerdicts(t, w, question) })
}

// plantedVerdicts looks for what is there: in every campaign the first creative loses half
// of its CTR in the last nine days, the second has a third more than the others, the first
// source never converts and the second does three times as often.
func plantedVerdicts(t *testing.T, w *warehouse, question string) {
	m := restless(9)
	quiet := m.effect
	m.effect = func(c, k, s, d int) (float64, float64, float64) {
		shown, ctr, cvr := quiet(c, k, s, d)
		switch {
		case k == 0 && d >= m.days-9:
			ctr *= 0.5
		case k == 1:
			ctr *= 1.33
		}
		switch s {
		case 0:
			cvr = 0
		case 1:
			cvr *= 3
		}
		return shown, ctr, cvr
	}
	w.simulate(t, m, question)
	defer w.exec(t, "ROLLBACK")
	w.exec(t, "UPDATE main.campaign_history SET default_bid = 0.25")
	for _, c := range []struct{ what, sql string }{
		{"tired creatives", "SELECT count(*) FILTER (WHERE creative_id LIKE '%-00'), count(*) FROM " +
			"mart.creative_fatigue WHERE verdict IN ('fatiguing', 'exhausted')"},
		{"better creatives", "SELECT count(*) FILTER (WHERE creative_id LIKE '%-01'), count(*) FROM " +
			"main.creative_performance(DATE '2000-01-01', DATE '2999-12-31') WHERE ctr_vs_siblings = 'better'"},
		{"sources that never convert", "SELECT count(*) FILTER (WHERE source_id = 's000'), count(*) FROM " +
			"mart.source_block_candidates"},
		{"sources that convert three times as often", "SELECT count(*) FILTER (WHERE source_id = 's001'), count(*) " +
			"FROM mart.source_scale_candidates"},
	} {
		n := numbers(t, w.rows(t, c.sql)[0])
		t.Logf("%s: %g of %d found, %g named in all", c.what, n[0], m.campaigns, n[1])
		if n[0] < 0.8*float64(m.campaigns) {
			t.Errorf("%s: %g of %d were found", c.what, n[0], m.campaigns)
		}
	}
}

// TestScale_SafeBidsAreSafe plants sources of all qualities. Of those that are to get more
// money, the bid that is called safe may be above what their true conversion rate pays for
// in 5 % of cases, give or take what chance makes of that, and never above what the service
// takes, nor at or below the bid of now.
func TestScale_SafeBidsAreSafe(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	total, unsafe, plain := 0, 0, 0
	for seed := range uint64(3) {
		m := &market{seed: seed + 40, campaigns: 6, creatives: 1, sources: 120, days: 30, impressions: 300, ctr: 0.02,
			cvr: 0.04, cpc: 0.2, targetCPA: 6}
		m.effect = func(c, _, s, _ int) (float64, float64, float64) {
			return factor(m.seed, 0.7, c, s, 1), 1, factor(m.seed, 0.6, c, s, 2)
		}
		w.simulate(t, m, "mart.source_scale_candidates")
		w.exec(t, "UPDATE main.campaign_history SET default_bid = 0.15")
		for _, r := range w.rows(t, "SELECT campaign_id, source_id, safe_cpc, bid_cap, bid_now, cpc * "+
			"target_cpa::DOUBLE / cpa_worst_case FROM mart.source_scale_candidates") {
			var c, s int
			if _, err := fmt.Sscanf(r[0]+" "+r[1], "c%d s%d", &c, &s); err != nil {
				t.Fatal(err)
			}
			n := numbers(t, r[2:])
			_, _, better := m.effect(c, 0, s, 0)
			worth := m.cvr * better * m.targetCPA
			total++
			if n[0] > worth {
				unsafe++
			}
			if n[3] > worth {
				plain++
			}
			if n[0] > n[1]+1e-9 || n[0] <= n[2] {
				t.Errorf("%v: a bid beyond the cap, or not above the one of now", r)
			}
		}
		w.exec(t, "ROLLBACK")
	}
	t.Logf("%d sources to scale; %d bids above what their true rate pays for, %d by the plain bound", total,
		unsafe, plain)
	if total < 100 || float64(unsafe) > 0.05*float64(total)+2*math.Sqrt(0.05*float64(total)) {
		t.Errorf("%d of %d bids called safe are above what the true rate pays for: more than 5 %%", unsafe, total)
	}
}

// TestBreaks_SilenceWhatRestsOnThem stops the conversions of a campaign, and does to others
// what else breaks: it is found, nothing else is, and no source is blocked for it.
func TestBreaks_SilenceWhatRestsOnThem(t *testing.T) {
	schematest.Long(t)
	w := newWarehouse(t)
	m := restless(7)
	quiet := m.effect
	m.effect = func(c, k, s, d int) (float64, float64, float64) {
		shown, ctr, cvr := quiet(c, k, s, d)
		switch {
		case c == 1 && d >= m.days-20:
			cvr = 0
		case c == 2 && d == m.days-1:
			shown *= 12
		case c == 3 && d == m.days-1:
			shown /= 12
		case c == 4 && d >= m.days-2:
			ctr *= 0.3
		}
		return shown, ctr, cvr
	}
	w.simulate(t, m, "mart.breaks mart.source_block_candidates")
	defer w.exec(t, "ROLLBACK")
	(&fixture{"campaign_delivery_history", [][]cell{cells("campaign_id", "delivery_status", "valid_from"),
		cells("c05", "waiting_for_funds", "2026-11-18T12:00:00Z")}}).insert(t, w)
	got := fmt.Sprint(w.rows(t, "SELECT campaign_id, kind, since_date FROM mart.breaks ORDER BY ALL"))
	want := "[[c01 conversions_stopped 2026-10-31] [c02 spend_jumped 2026-11-19] [c03 spend_fell 2026-11-19] [c04 " +
		"ctr_collapsed 2026-11-18] [c05 delivery_stopped 2026-11-18]]"
	if got != want {
		t.Errorf("breaks: %s\nwant    %s", got, want)
	}
	if n := w.rows(t, "SELECT count(*) FROM mart.source_block_candidates WHERE campaign_id = 'c01'")[0][0]; n != "0" {
		t.Errorf("%s sources are to be blocked for a break of tracking", n)
	}
	if n := w.rows(t, "SELECT count(*) FROM mart.source_performance WHERE campaign_id = 'c01' AND cpa_best_case > "+
		"judged_cpa")[0][0]; n == "0" {
		t.Error("the break would have blocked nothing anyway")
	}
}
