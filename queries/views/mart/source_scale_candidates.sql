-- Which sources earn their money beyond doubt and have room to grow?
-- Trap: a higher bid buys more expensive clicks, and not always more of them; above safe_cpc nothing is proven. A source with a lucky month looks better than it is: its conversion rate is shrunk toward the campaign's first.
-- Column verdict: below_target: even with its low conversion rate its CPA is below the campaign's target CPA; below_campaign: the campaign has no target, and it is below the campaign's own CPA.
-- Column safe_cpc: US dollars per click at which even its low conversion rate (cvr_low) gives the target or, without one, the campaign's own CPA; never more than bid_cap.
-- Column headroom: US dollars per click from its CPC up to safe_cpc.
-- Column cvr_low: Conversions per click, shrunk toward the campaign's by as much as its sources are alike (a gamma prior whose shape is estimated from their spread), less bound_z standard deviations (Wilson and Hilferty).
-- Column bid_now: US dollars per click that are bid for it now, as last readable. Sources whose bid is at safe_cpc already are left out.
-- Column bid_headroom: US dollars per click from bid_now up to safe_cpc.
-- Column bid_cap: US dollars per click that the service takes at most for a source: 3 times the campaign's default bid, and no more than 25.
-- Column is_optimized: Whether the campaign has a target CPA, with which the service moves bids by itself: a bid of your own ends that for the source.
WITH source AS (
  SELECT w.account_id, w.campaign_id, w.clicks, w.conversions
  FROM mart.source_window AS w
  WHERE w.source_id <> '' OR w.spend <> 0
),
rate AS (
  SELECT
    s.account_id, s.campaign_id, (sum(s.conversions) FILTER (WHERE s.clicks IS NOT NULL))::DOUBLE AS conversions,
    sum(s.clicks) FILTER (WHERE s.conversions IS NOT NULL) AS clicks
  FROM source AS s
  GROUP BY s.account_id, s.campaign_id
),
-- What the sources differ by beyond chance, by moments: where they do not, the shape is
-- large and each is taken to be as good as the campaign.
spread AS (
  SELECT e.account_id, e.campaign_id, sum(pow(e.conversions - e.expected, 2) - e.expected) AS beyond, sum(e.expected * e.expected) AS squares
  FROM (
    SELECT s.account_id, s.campaign_id, s.conversions, s.clicks * r.conversions / nullif(r.clicks, 0) AS expected
    FROM source AS s
    JOIN rate AS r ON r.account_id = s.account_id AND r.campaign_id = s.campaign_id
  ) AS e
  GROUP BY e.account_id, e.campaign_id
),
shaped AS (
  SELECT
    s.*, coalesce(s.target_cpa::DOUBLE, s.campaign_cpa) AS goal_cpa, s.clicks * r.conversions / nullif(r.clicks, 0) AS expected,
    CASE WHEN d.beyond <= 0 THEN 100 ELSE greatest(0.5, least(100, d.squares / d.beyond)) END AS shape
  FROM mart.source_performance AS s
  JOIN rate AS r ON r.account_id = s.account_id AND r.campaign_id = s.campaign_id
  JOIN spread AS d ON d.account_id = s.account_id AND d.campaign_id = s.campaign_id
  -- Of many small sources a few have a conversion by luck.
  WHERE s.source_id <> '' AND s.clicks > 0 AND s.conversions >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions')
),
shrunk AS (
  SELECT
    s.*, coalesce(s.bid_override, s.default_bid) AS bid_now, least(3 * s.default_bid::DOUBLE, 25) AS bid_cap,
    (s.shape + s.conversions) * pow(greatest(0, 1 - 1 / (9.0 * (s.shape + s.conversions)) - z.value / (3 * sqrt(s.shape + s.conversions))), 3)
      / nullif(s.shape / nullif(s.expected / s.clicks, 0) + s.clicks, 0) AS cvr_low
  FROM shaped AS s
  CROSS JOIN (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'bound_z') AS z
),
judged AS (
  SELECT s.*, least(s.cvr_low * s.goal_cpa, coalesce(s.bid_cap, s.cvr_low * s.goal_cpa)) AS safe_cpc
  FROM shrunk AS s
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.source_id,
  CASE WHEN j.target_cpa IS NULL THEN 'below_campaign' ELSE 'below_target' END AS verdict,
  j.window_from, j.window_to, j.days_known, j.spend, j.clicks, j.conversions, j.cpc, j.cvr, j.cpa, j.cpa_worst_case,
  j.target_cpa, j.campaign_cpa, j.share_of_campaign, j.default_bid, j.bid_override,
  j.safe_cpc, j.safe_cpc - j.cpc AS headroom,
  j.cvr_low, j.bid_now, j.safe_cpc - j.bid_now::DOUBLE AS bid_headroom, j.bid_cap, j.target_cpa IS NOT NULL AS is_optimized
FROM judged AS j
WHERE j.cpc < j.cvr_low * j.goal_cpa AND j.cpa_worst_case < j.goal_cpa
  AND coalesce(j.safe_cpc > j.bid_now, true)
  AND j.share_of_campaign <= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_max_share')
  AND j.campaign_status = 'active'
  AND CASE WHEN j.source_mode = 'allow_list' THEN j.list_rule = 'allowed' ELSE j.list_rule IS DISTINCT FROM 'blocked' END
  AND NOT EXISTS (
    SELECT 1 AS one FROM mart.breaks AS b
    WHERE b.account_id = j.account_id AND b.campaign_id = j.campaign_id AND b.kind = 'conversions_stopped')
