-- Which sources earn their money and can take more of it, and at which bid do they earn most?
-- Trap: a higher bid buys more expensive clicks, and not always more of them: best_bid is what is expected to earn most, safe_cpc is the most you can pay, where nothing is earned. best_bid is empty where the service moves the bid, or nobody said what a conversion is worth.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, sources to show, those with most conversions first.
-- Shown: verdict, source_id, campaign_name, bid, best_bid, best_bid_gain, conversions, spend, cpa, expected_return, campaign_id
SELECT
  s.account_id, s.campaign_id, s.campaign_name, s.source_id, s.verdict, s.spend, s.clicks, s.conversions,
  s.cpc::DECIMAL(18,3) AS cpc, s.safe_cpc::DECIMAL(18,3) AS safe_cpc, s.cpa::DECIMAL(18,2) AS cpa, s.cpa_worst_case::DECIMAL(18,2) AS cpa_worst_case,
  coalesce(s.bid_override, s.default_bid) AS bid, s.share_of_campaign::DECIMAL(18,3) AS share_of_campaign,
  s.window_from, s.window_to, s.days_known, s.bid_headroom::DECIMAL(18,3) AS bid_headroom, s.is_optimized,
  s.expected_return::DECIMAL(18,2) AS expected_return, s.best_bid::DECIMAL(18,3) AS best_bid, s.best_bid_gain::DECIMAL(18,2) AS best_bid_gain, s.reason, s.at_stake::DECIMAL(18,2) AS at_stake, s.action
FROM mart.source_scale_candidates AS s
WHERE $campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR
ORDER BY s.conversions DESC, s.headroom DESC, s.account_id, s.campaign_id, s.source_id
LIMIT $rows::BIGINT
