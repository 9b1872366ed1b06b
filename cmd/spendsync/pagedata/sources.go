package pagedata

import (
	"strings"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

func (q *reader) sources(id string) page.Sources {
	s := page.Sources{Why: "No source spent anything in the window of whole days, so there is nothing to judge."}
	rows := q.rows(`WITH judged AS (
  SELECT p.*, b.excess_spend, CASE WHEN b.source_id IS NOT NULL THEN 'block' WHEN c.source_id IS NOT NULL THEN
  'scale' ELSE '' END AS verdict, count(*) OVER () AS sources
  FROM mart.source_performance AS p
  LEFT JOIN mart.source_block_candidates AS b ON b.account_id = p.account_id AND b.campaign_id = p.campaign_id AND
  b.source_id = p.source_id
  LEFT JOIN mart.source_scale_candidates AS c ON c.account_id = p.account_id AND c.campaign_id = p.campaign_id AND
  c.source_id = p.source_id
  WHERE p.account_id = %s AND p.spend > 0
)
SELECT j.campaign_id, j.campaign_name, j.source_id, j.window_from, j.window_to, j.spend, j.clicks, j.conversions,
j.cpa, j.cpa_best_case, j.cpa_worst_case,
  j.judged_cpa, j.target_origin, j.excess_spend, j.verdict, j.sources
FROM judged AS j
QUALIFY row_number() OVER (PARTITION BY j.verdict ORDER BY j.excess_spend DESC, j.spend DESC, j.campaign_id,
j.source_id) <= %d
ORDER BY CASE j.verdict WHEN 'block' THEN 0 WHEN 'scale' THEN 1 ELSE 2 END, j.excess_spend DESC, j.spend DESC,
j.campaign_id, j.source_id`, id, maxSources)
	for _, r := range rows {
		s.Rows = append(s.Rows, page.Source{Campaign: r.named("campaign_id", "campaign_name"),
			Source: r.text("source_id"), Spend: r.number("spend"), Clicks: r.number("clicks"),
			Conversions: r.number("conversions"), CPA: r.number("cpa"), Best: r.number("cpa_best_case"),
			Worst: r.number("cpa_worst_case"), Target: r.number("judged_cpa"),
			TargetOrigin: r.text("target_origin"), Excess: r.number("excess_spend"), Verdict: r.text("verdict")})
		s.From, s.To, s.More = r.date("window_from"), r.date("window_to"), r.int("sources")-len(rows)
	}
	w := q.row("SELECT sum(w.sources_to_block) AS block, sum(w.excess_spend) AS excess FROM mart.wasted_spend AS w "+
		"WHERE w.account_id = %s", id)
	s.Block, s.Excess = w.number("block"), w.number("excess")
	s.Scale = q.row("SELECT count(*) AS n FROM mart.source_scale_candidates AS c WHERE c.account_id = %s", id).
		number("n")
	return s
}

// fatigue asks for the creatives that are shown now, those to replace first.
func (q *reader) fatigue(id string) page.Fatigue {
	f := page.Fatigue{Why: "No creative that is active now has enough impressions, in the recent window and in an " +
		"earlier one, to compare its CTR with its peak (thresholds fatigue_min_impressions and recent_days)."}
	rows := q.rows(`SELECT f.campaign_id, f.campaign_name, f.creative_id, f.title, f.fatigue, f.age_days, f.ctr_recent,
		f.ctr_peak, f.decline, f.z_score, f.impressions_recent, f.recent_to, count(*) OVER () AS creatives
FROM mart.creative_fatigue AS f
WHERE f.account_id = %s AND f.fatigue <> 'too_little_data' AND coalesce(f.status, 'active') = 'active'
ORDER BY CASE f.fatigue WHEN 'exhausted' THEN 0 WHEN 'fatiguing' THEN 1 ELSE 2 END, f.decline DESC, f.creative_id
LIMIT %d`, id, maxTired)
	rates := q.clickRates(id, rows)
	for _, r := range rows {
		t := page.Tired{Campaign: r.named("campaign_id", "campaign_name"), Creative: r.named("creative_id", "title"),
			State: r.text("fatigue"), Age: r.number("age_days"),
			CTR: r.number("ctr_recent"), Peak: r.number("ctr_peak"), Decline: r.number("decline"),
			Z: r.number("z_score"), Impressions: r.number("impressions_recent")}
		to := r.date("recent_to")
		for d := to - maxRates + 1; d <= to; d++ {
			t.Days = append(t.Days, page.Point{Date: d, Value: rates[creativeDay{t.Campaign.ID, t.Creative.ID, d}]})
		}
		f.Rows, f.More = append(f.Rows, t), r.int("creatives")-len(rows)
	}
	return f
}

// creativeDay is a creative of a campaign on a day.
type creativeDay struct {
	campaign, creative string
	date               schema.Date
}

// clickRates are the creatives' CTR over windows of recent_days that end on each
// day. A window with too few impressions to say has none.
func (q *reader) clickRates(id string, creatives []row) map[creativeDay]page.Number {
	rates := map[creativeDay]page.Number{}
	var keys []string
	for _, r := range creatives {
		keys = append(keys, "("+schema.QuoteText(r.text("campaign_id"))+", "+schema.QuoteText(r.text("creative_id"))+
			")")
	}
	if len(keys) == 0 {
		return rates
	}
	for _, r := range q.rows(`WITH shown AS (
  SELECT a.campaign_id, a.ad_id, a.date_day, a.clicks, a.impressions FROM mart.ad_report AS a
  JOIN ops.day_coverage AS c ON c.account_id = a.account_id AND c.report_date = a.date_day AND c.state IN
  ('complete', 'final')
  WHERE a.account_id = %s AND (a.campaign_id, a.ad_id) IN (%s) AND a.impressions > 0
), level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS days, max(t.value) FILTER (WHERE t.name =
  'fatigue_min_impressions') AS enough FROM mart.threshold AS t
), summed AS (
  SELECT s.campaign_id, s.ad_id, s.date_day, sum(s.clicks) OVER back AS clicks, sum(s.impressions) OVER back AS
  impressions, l.enough
  FROM shown AS s CROSS JOIN level AS l
  WINDOW back AS (PARTITION BY s.campaign_id, s.ad_id ORDER BY s.date_day - DATE '2000-01-01' RANGE BETWEEN l.days -
  1 PRECEDING AND CURRENT ROW)
)
SELECT s.campaign_id, s.ad_id, s.date_day, s.clicks::DOUBLE / s.impressions AS ctr FROM summed AS s WHERE
s.impressions >= s.enough`, id, strings.Join(keys, ", ")) {
		rates[creativeDay{r.text("campaign_id"), r.text("ad_id"), r.date("date_day")}] = r.number("ctr")
	}
	return rates
}

// bids asks for the bids whose clicks cost most beyond what they bring.
func (q *reader) bids(id string) page.Bids {
	b := page.Bids{Why: "No source had a click in the window of whole days, so no bid can be compared with what a " +
		"click cost."}
	rows := q.rows(`SELECT b.campaign_id, b.campaign_name, b.source_id, b.mean_bid, b.bid_now, b.bid_origin, b.cpc,
		b.cpc_to_bid, b.cpc_at_target, b.clicks, b.conversions, b.spend, b.bid_state,
  epoch_us(b.bids_last_read_at) AS read_at, count(*) OVER () AS bids
FROM mart.bid_vs_cpc AS b
WHERE b.account_id = %s AND b.clicks > 0
ORDER BY b.conversions >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions') AND b.cpc
> b.cpc_at_target DESC NULLS LAST, b.spend DESC, b.campaign_id, b.source_id LIMIT %d`, id, maxBids)
	for _, r := range rows {
		b.Rows = append(b.Rows, page.Bid{Campaign: r.named("campaign_id", "campaign_name"), Source: r.text("source_id"),
			Origin: r.text("bid_origin"), Bid: r.number("mean_bid"), Now: r.number("bid_now"),
			CPC: r.number("cpc"), Ratio: r.number("cpc_to_bid"), BreakEven: r.number("cpc_at_target"),
			Clicks: r.number("clicks"), Conversions: r.number("conversions"), Spend: r.number("spend"),
			Stale: r.text("bid_state") != "read", ReadAt: r.instant("read_at")})
		b.More = r.int("bids") - len(rows)
	}
	b.Enough = q.row("SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions'").number("value")
	return b
}
