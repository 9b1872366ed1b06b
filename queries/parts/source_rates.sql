-- Of measured, the sums of each source of each campaign over the days known in spans.
-- Joined, not a window: that would take each source's row through memory twice.
whole AS (
  SELECT
    m.account_id, m.campaign_id, sum(m.spend) AS campaign_spend,
    sum(m.counted_spend)::DOUBLE / nullif(sum(m.counted_conversions), 0) AS campaign_cpa
  FROM measured AS m
  GROUP BY m.account_id, m.campaign_id
),
with_campaign AS (
  SELECT m.*, h.campaign_spend, h.campaign_cpa
  FROM measured AS m
  JOIN whole AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id
),
named AS (
  SELECT s.account_id, s.campaign_id, arg_max(s.campaign_name, s.report_date) AS reported_name
  FROM mart.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id
),
rules AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id,
    max(r.rule) FILTER (WHERE r.rule IN ('blocked', 'allowed')) AS list_rule,
    max(r.bid) FILTER (WHERE r.rule = 'bid_override') AS bid_override
  FROM main.source_rule AS r
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
with_settings AS (
  SELECT
    w.*,
    coalesce(h.name, n.reported_name) AS campaign_name,
    CASE WHEN h.is_deleted THEN 'deleted' ELSE h.status END AS campaign_status,
    coalesce(o.source_mode, h.source_mode) AS source_mode,
    r.list_rule, h.default_bid, r.bid_override, h.target_cpa,
    -- A campaign that misses its target as a whole says nothing about a source that
    -- is no worse than the others.
    greatest(h.target_cpa::DOUBLE, w.campaign_cpa) AS judged_cpa,
    CASE
      WHEN h.target_cpa IS NULL AND w.campaign_cpa IS NOT NULL THEN 'campaign_cpa'
      WHEN w.campaign_cpa > h.target_cpa THEN 'campaign_cpa_over_target'
      WHEN h.target_cpa IS NOT NULL THEN 'target_cpa'
    END AS target_origin
  FROM with_campaign AS w
  LEFT JOIN named AS n ON n.account_id = w.account_id AND n.campaign_id = w.campaign_id
  LEFT JOIN main.campaign_history AS h
    ON h.account_id = w.account_id AND h.campaign_id = w.campaign_id AND h.is_current
  LEFT JOIN main.source_mode AS o ON o.account_id = w.account_id AND o.campaign_id = w.campaign_id
  LEFT JOIN rules AS r ON r.account_id = w.account_id AND r.campaign_id = w.campaign_id AND r.source_id = w.source_id
  WHERE w.source_id <> '' OR w.spend <> 0
),
earned AS (
  SELECT r.account_id, r.campaign_id, r.source_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM mart.revenue AS r
  JOIN known AS w ON w.account_id = r.account_id AND w.report_date = r.report_date
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
paid AS (
  SELECT DISTINCT p.account_id
  FROM main.payout AS p
),
-- Byar's bounds on a Poisson count: no more than 0.03 off the exact ones.
bounded AS (
  SELECT
    s.*, CASE WHEN s.conversions IS NOT NULL AND y.account_id IS NOT NULL THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END::DECIMAL(18, 6) AS revenue,
    (s.conversions + 1) * pow(1 - 1 / (9.0 * (s.conversions + 1)) + z.value / (3 * sqrt(s.conversions + 1)), 3) AS most_conversions,
    CASE WHEN s.conversions > 0 THEN
      s.conversions * pow(greatest(0, 1 - 1 / (9.0 * s.conversions) - z.value / (3 * sqrt(s.conversions))), 3)
    END AS fewest_conversions
  FROM with_settings AS s
  LEFT JOIN paid AS y ON y.account_id = s.account_id
  LEFT JOIN earned AS e ON e.account_id = s.account_id AND e.campaign_id = s.campaign_id AND e.source_id = s.source_id
  CROSS JOIN (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'bound_z') AS z
)
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id,
  k.window_from, k.window_to, k.days_known,
  b.spend, b.clicks, b.impressions, b.conversions,
  b.spend::DOUBLE / nullif(b.clicks, 0) AS cpc,
  b.clicks::DOUBLE / nullif(b.impressions, 0) AS ctr,
  b.conversions::DOUBLE / nullif(b.clicks, 0) AS cvr,
  b.spend::DOUBLE / nullif(b.conversions, 0) AS cpa,
  nullif(b.spend, 0)::DOUBLE / nullif(b.most_conversions, 0) AS cpa_best_case,
  nullif(b.spend, 0)::DOUBLE / nullif(b.fewest_conversions, 0) AS cpa_worst_case,
  (b.spend::DOUBLE + b.campaign_cpa) / (b.conversions + 1) AS cpa_shrunk,
  b.spend::DOUBLE / nullif(b.campaign_spend, 0)::DOUBLE AS share_of_campaign,
  b.campaign_cpa, b.target_cpa, b.judged_cpa, b.target_origin,
  b.spend::DOUBLE / nullif(b.judged_cpa, 0) AS spend_in_targets,
  b.campaign_status, b.source_mode, b.list_rule, b.default_bid, b.bid_override,
  b.revenue, (b.revenue - b.spend)::DECIMAL(18, 6) AS profit, (b.revenue - b.spend)::DOUBLE / nullif(b.spend, 0)::DOUBLE AS roi, b.revenue::DOUBLE / nullif(b.clicks, 0) AS epc
FROM bounded AS b
JOIN spans AS k ON k.account_id = b.account_id
