-- Which sources earn their money and can take more of it, and up to which bid?
-- Trap: a higher bid buys more expensive clicks, and not always more of them; above safe_cpc nothing is proven.
-- Parameter rows: 20, sources to show, those with most conversions first.
SELECT
  s.account_id, s.campaign_id, s.campaign_name, s.source_id, s.verdict, s.spend, s.clicks, s.conversions,
  s.cpc::DECIMAL(18,3) AS cpc, s.safe_cpc::DECIMAL(18,3) AS safe_cpc, s.cpa::DECIMAL(18,2) AS cpa, s.cpa_worst_case::DECIMAL(18,2) AS cpa_worst_case,
  coalesce(s.bid_override, s.default_bid) AS bid, s.share_of_campaign::DECIMAL(18,3) AS share_of_campaign,
  s.window_from, s.window_to, s.days_known, s.bid_headroom::DECIMAL(18,3) AS bid_headroom, s.is_optimized
FROM mart.source_scale_candidates AS s
ORDER BY s.conversions DESC, s.headroom DESC, s.account_id, s.campaign_id, s.source_id
LIMIT $rows::BIGINT
