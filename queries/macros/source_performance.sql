-- What did each source of each campaign bring over a span of days, and within which bounds does its CPA lie?
-- Trap: days of the span that are not proven complete are left out (days_known counts the others), and the settings are those of now. Where from_date and to_date are NULL, the span is the performance window: that is mart.source_performance.
-- Shown: source_id, campaign_name, spend, conversions, cpa_expected, judged_cpa, cpa_best_case, cpa_worst_case, clicks, list_rule, bid_override, campaign_id
-- Parameters: from_date, to_date
WITH known AS (
  SELECT
    m.account_id, m.report_date, m.conversions_share, coalesce(from_date::DATE, w.window_from) AS window_from, coalesce(to_date::DATE, w.window_to) AS window_to,
    count(*) OVER (PARTITION BY m.account_id) AS days_known
  FROM int.day_maturity AS m
  LEFT JOIN (SELECT DISTINCT p.account_id, p.window_from, p.window_to FROM int.performance_window AS p) AS w ON w.account_id = m.account_id
  WHERE m.report_date BETWEEN coalesce(from_date::DATE, w.window_from) AND coalesce(to_date::DATE, w.window_to)
),
-- Days on which conversions had stopped (int.break_day) say nothing about conversions to come: leave them out.
measured AS (
  -- Without dates the span is the performance window, whose sums exist already.
  SELECT
    w.account_id, w.campaign_id, w.source_id, w.spend, w.clicks, w.impressions, w.conversions, w.counted_spend, w.counted_conversions, w.arrived_spend
  FROM int.source_window AS w
  WHERE from_date IS NULL AND to_date IS NULL AND w.spend IS NOT NULL
  UNION ALL
  SELECT
    s.account_id, s.campaign_id, s.source_id,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
    sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND b.account_id IS NULL) AS counted_spend,
    sum(s.conversions) FILTER (WHERE b.account_id IS NULL) AS counted_conversions,
    CASE WHEN count(k.conversions_share) = count(*) THEN sum((1e6 * s.spend::DOUBLE * k.conversions_share)::BIGINT) FILTER (WHERE b.account_id IS NULL)::DOUBLE / 1e6 END AS arrived_spend
  FROM main.spend_daily AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  LEFT JOIN int.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date AND b.kind = 'conversions_stopped'
  -- The same span again as a constant, so that DuckDB does not read earlier days.
  WHERE (from_date IS NOT NULL OR to_date IS NOT NULL) AND s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY s.account_id, s.campaign_id, s.source_id
),
-- A join, not a window: a window would hold each source's row in memory twice.
whole AS (
  SELECT
    m.account_id, m.campaign_id, sum(m.spend) AS campaign_spend,
    sum(m.counted_spend)::DOUBLE / nullif(sum(m.counted_conversions), 0) AS campaign_cpa
  FROM measured AS m
  GROUP BY m.account_id, m.campaign_id
),
earned AS (
  SELECT r.account_id, r.campaign_id, r.source_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM mart.revenue AS r
  JOIN known AS w ON w.account_id = r.account_id AND w.report_date = r.report_date
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
ruled AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, min(r.bid) FILTER (WHERE r.rule = 'bid_override') AS bid_override,
    coalesce(min(r.rule) FILTER (WHERE r.rule = 'blocked'), min(r.rule) FILTER (WHERE r.rule = 'allowed')) AS list_rule
  FROM main.source_rule_history AS r
  -- Most rules are about sources without rows, so drop those rules first.
  SEMI JOIN measured AS m ON m.account_id = r.account_id AND m.campaign_id = r.campaign_id AND m.source_id = r.source_id
  WHERE r.is_current AND NOT r.is_deleted
  GROUP BY r.account_id, r.campaign_id, r.source_id
),
priced AS (
  SELECT
    m.*, d.window_from, d.window_to, d.days_known, w.campaign_spend, w.campaign_cpa, c.campaign_name, c.campaign_status, c.source_mode, c.default_bid, c.target_cpa, r.list_rule, r.bid_override,
    coalesce(v.worth, c.worth, w.campaign_cpa) AS judged_cpa,
    coalesce(v.worth_origin, c.worth_origin, CASE WHEN w.campaign_cpa IS NOT NULL THEN 'campaign_cpa' END) AS target_origin,
    CASE WHEN m.conversions IS NOT NULL AND c.is_paid THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END::DECIMAL(18, 6) AS revenue,
    CASE
      WHEN m.conversions = 0 AND m.arrived_spend IS NOT NULL THEN 0
      -- If conversions had stopped on all days, expect no more than have arrived.
      WHEN m.conversions > 0 AND m.counted_spend IS NULL THEN m.conversions
      WHEN m.conversions > 0 THEN m.counted_conversions * m.spend::DOUBLE / nullif(m.arrived_spend, 0)
    END AS conversions_expected,
    z.value AS bound_z
  FROM measured AS m
  JOIN (SELECT DISTINCT k.account_id, k.window_from, k.window_to, k.days_known FROM known AS k) AS d ON d.account_id = m.account_id
  JOIN whole AS w ON w.account_id = m.account_id AND w.campaign_id = m.campaign_id
  LEFT JOIN int.campaign_now AS c ON c.account_id = m.account_id AND c.campaign_id = m.campaign_id
  LEFT JOIN ruled AS r ON r.account_id = m.account_id AND r.campaign_id = m.campaign_id AND r.source_id = m.source_id
  LEFT JOIN int.conversion_worth AS v ON v.account_id = m.account_id AND v.campaign_id = m.campaign_id AND v.source_id = m.source_id AND v.source_id <> ''
  LEFT JOIN earned AS e ON e.account_id = m.account_id AND e.campaign_id = m.campaign_id AND e.source_id = m.source_id
  CROSS JOIN (SELECT t.value FROM int.threshold AS t WHERE t.name = 'bound_z') AS z
  WHERE m.source_id <> '' OR m.spend <> 0
)
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id, b.window_from, b.window_to, b.days_known,
  b.spend, b.clicks, b.impressions, b.conversions,
  ratio(b.spend, b.clicks) AS cpc, ratio(b.clicks, b.impressions) AS ctr, ratio(b.conversions, b.clicks) AS cvr, ratio(b.spend, b.conversions) AS cpa,
  ratio(nullif(b.spend, 0), count_most(b.conversions, b.bound_z)) AS cpa_best_case,
  ratio(nullif(b.spend, 0), count_fewest(b.conversions, b.bound_z)) AS cpa_worst_case,
  ratio(b.spend::DOUBLE + b.campaign_cpa, b.conversions + 1) AS cpa_shrunk,
  ratio(b.spend, b.campaign_spend) AS share_of_campaign,
  b.campaign_cpa, b.target_cpa, b.judged_cpa, b.target_origin, ratio(b.spend, b.judged_cpa) AS spend_in_targets,
  b.campaign_status, b.source_mode, b.list_rule, b.default_bid, b.bid_override,
  b.revenue, (b.revenue - b.spend)::DECIMAL(18, 6) AS profit_so_far, ratio(b.revenue - b.spend, b.spend) AS roi_so_far, ratio(b.revenue, b.clicks) AS epc,
  b.conversions_expected, ratio(b.spend, b.conversions_expected) AS cpa_expected
FROM priced AS b
