rules AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id,
    max(r.rule) FILTER (WHERE r.rule IN ('blocked', 'allowed')) AS list_rule,
    max(r.bid) FILTER (WHERE r.rule = 'bid_override') AS bid_override
  FROM main.source_rule_history AS r
  WHERE r.is_current AND NOT r.is_deleted
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
with_settings AS (
  SELECT
    m.*, c.* EXCLUDE (account_id, campaign_id, judged_cpa, target_origin), r.list_rule, r.bid_override,
    coalesce(v.worth, c.judged_cpa) AS judged_cpa, coalesce(v.worth_origin, c.target_origin) AS target_origin
  FROM measured AS m
  JOIN campaigns AS c ON c.account_id = m.account_id AND c.campaign_id = m.campaign_id
  LEFT JOIN rules AS r ON r.account_id = m.account_id AND r.campaign_id = m.campaign_id AND r.source_id = m.source_id
  LEFT JOIN mart.conversion_worth AS v ON v.account_id = m.account_id AND v.campaign_id = m.campaign_id AND v.source_id = m.source_id AND v.source_id <> ''
  WHERE m.source_id <> '' OR m.spend <> 0
),
earned AS (
  SELECT r.account_id, r.campaign_id, r.source_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM mart.revenue AS r
  JOIN known AS w ON w.account_id = r.account_id AND w.report_date = r.report_date
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
-- Byar's bounds on a Poisson count: no more than 0.03 off the exact ones.
bounded AS (
  SELECT
    s.*, CASE WHEN s.conversions IS NOT NULL AND s.is_paid THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END::DECIMAL(18, 6) AS revenue,
    (s.conversions + 1) * pow(1 - 1 / (9.0 * (s.conversions + 1)) + z.value / (3 * sqrt(s.conversions + 1)), 3) AS most_conversions,
    CASE WHEN s.conversions > 0 THEN
      s.conversions * pow(greatest(0, 1 - 1 / (9.0 * s.conversions) - z.value / (3 * sqrt(s.conversions))), 3)
    END AS fewest_conversions
  FROM with_settings AS s
  LEFT JOIN earned AS e ON e.account_id = s.account_id AND e.campaign_id = s.campaign_id AND e.source_id = s.source_id
  CROSS JOIN (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'bound_z') AS z
)
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id,
  b.window_from, b.window_to, b.days_known,
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
  b.revenue, (b.revenue - b.spend)::DECIMAL(18, 6) AS profit, (b.revenue - b.spend)::DOUBLE / nullif(b.spend, 0)::DOUBLE AS roi, b.revenue::DOUBLE / nullif(b.clicks, 0) AS epc,
  b.conversions_expected, b.spend::DOUBLE / nullif(b.conversions_expected, 0) AS cpa_expected
FROM bounded AS b
