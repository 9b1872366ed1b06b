-- Which sources earn their money beyond doubt and have room to grow?
-- Trap: a higher bid buys more expensive clicks, and not always more of them; above safe_cpc nothing is proven.
-- Column verdict: below_target: even its worst-case CPA is below the campaign's target CPA; below_campaign: the campaign has no target, and it is below the campaign's own CPA.
-- Column safe_cpc: US dollars per click at which even its worst-case CPA is at the target or, without one, at the campaign's own CPA.
-- Column headroom: US dollars per click from its CPC up to safe_cpc.
WITH judged AS (
  SELECT p.*, coalesce(p.target_cpa::DOUBLE, p.campaign_cpa) AS goal_cpa
  FROM mart.source_performance AS p
  -- Of many small sources a few have a conversion by luck.
  WHERE p.source_id <> '' AND p.conversions >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions')
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.source_id,
  CASE WHEN j.target_cpa IS NULL THEN 'below_campaign' ELSE 'below_target' END AS verdict,
  j.window_from, j.window_to, j.days_known, j.spend, j.clicks, j.conversions, j.cpc, j.cvr, j.cpa, j.cpa_worst_case,
  j.target_cpa, j.campaign_cpa, j.share_of_campaign, j.default_bid, j.bid_override,
  j.cpc * j.goal_cpa / nullif(j.cpa_worst_case, 0) AS safe_cpc,
  j.cpc * j.goal_cpa / nullif(j.cpa_worst_case, 0) - j.cpc AS headroom
FROM judged AS j
WHERE j.cpa_worst_case < j.goal_cpa
  AND j.share_of_campaign <= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_max_share')
  AND j.campaign_status = 'active'
  AND CASE WHEN j.source_mode = 'allow_list' THEN j.list_rule = 'allowed' ELSE j.list_rule IS DISTINCT FROM 'blocked' END
