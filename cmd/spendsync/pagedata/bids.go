package pagedata

import "spendsync/cmd/spendsync/page"

// bids asks for the bids, those to lower first. A source that is to be blocked needs no
// other bid.
func (q *reader) bids(id string, blocked map[sourceKey]bool) page.Bids {
	b := page.Bids{Why: "No source had a click in the window of whole days, so no bid can be compared with what a " +
		"click cost."}
	rows := q.rows(`WITH bids AS MATERIALIZED (
  SELECT b.campaign_id, b.campaign_name, b.source_id, b.mean_bid, b.bid_now, b.bid_origin, b.cpc, b.cpc_to_bid,
    b.cpc_at_target, b.clicks, b.conversions, b.spend, b.bid_state, b.advice, b.best_bid, b.days_known,
    b.bids_last_read_at
  FROM mart.bid_vs_cpc AS b WHERE b.account_id = %s AND b.clicks > 0
), counted AS (
  SELECT count(*) AS bids, count(*) FILTER (WHERE b.advice = 'service_bids') AS optimized FROM bids AS b
)
SELECT b.*, epoch_us(b.bids_last_read_at) AS read_at, c.bids, c.optimized
FROM bids AS b CROSS JOIN counted AS c
WHERE b.advice = 'bid_less' OR (b.campaign_id, b.source_id) IN (
  SELECT (t.campaign_id, t.source_id) FROM bids AS t ORDER BY t.spend DESC, t.campaign_id, t.source_id LIMIT %d)
ORDER BY b.advice = 'bid_less' DESC, b.spend DESC, b.campaign_id, b.source_id`, id, maxBids)
	less, spend := 0, 0.0
	for _, r := range rows {
		advice := r.text("advice")
		if blocked[sourceKey{r.text("campaign_id"), r.text("source_id")}] && advice == "bid_less" {
			advice = "block"
		}
		if advice == "bid_less" {
			less, spend = less+1, spend+r.number("spend").V
		}
		b.More, b.Days, b.Optimized = r.int("bids")-min(len(rows), maxBids), r.number("days_known"),
			r.number("optimized")
		if len(b.Rows) == maxBids {
			continue
		}
		b.Rows = append(b.Rows, page.Bid{Campaign: r.named("campaign_id", "campaign_name"), Source: r.text("source_id"),
			Origin: r.text("bid_origin"), Bid: r.number("mean_bid"), Now: r.number("bid_now"),
			CPC: r.number("cpc"), Ratio: r.number("cpc_to_bid"), BreakEven: r.number("cpc_at_target"),
			Clicks: r.number("clicks"), Conversions: r.number("conversions"), Spend: r.number("spend"),
			Advice: advice, Best: r.number("best_bid"), Stale: r.text("bid_state") != "read",
			ReadAt: r.instant("read_at")})
	}
	b.Less, b.LessSpend = page.N(float64(less)), page.N(spend)
	return b
}
