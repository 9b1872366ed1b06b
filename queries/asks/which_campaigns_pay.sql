-- Which campaigns pay, which do not, and what changed?
-- Trap: a CPA of few conversions has wide bounds: the verdict follows them, not cpa; conversions of young days still arrive: cpa_expected, its bounds and the verdict allow for those to come, cpa does not; cpa_change compares at equal age. Credits of the service can make a campaign's spend negative: it has a row, too. The first row is all campaigns together; other campaigns, if that row is there, are those that are not shown.
-- Parameter rows: 30, campaigns to show, those that spent most first.
-- Days: s.report_date >= (SELECT min(w.window_from) FROM int.performance_window AS w) AND s.report_date <= t.last_whole_date
-- Shown: verdict, campaign_name, cpa_expected, worth, profit_expected, cpa_change, spend, days_broken, cpa, conversions
WITH placed AS (
  SELECT
    p.*, row_number() OVER (PARTITION BY p.account_id ORDER BY p.spend DESC, p.campaign_id) AS place,
    row_number() OVER (PARTITION BY p.account_id ORDER BY p.spend DESC, p.campaign_id) <= $rows::BIGINT AS is_shown
  FROM mart.campaign_performance AS p
  WHERE p.spend <> 0 OR coalesce(p.conversions <> 0, true)
),
summed AS (
  SELECT
    p.account_id, CASE WHEN grouping(p.is_shown) = 1 THEN 'all campaigns' ELSE 'other campaigns' END AS campaign_name,
    any_value(p.window_from) AS window_from, any_value(p.window_to) AS window_to, any_value(p.days_known) AS days_known,
    sum(p.spend) AS spend, CASE WHEN count(p.conversions) = count(*) THEN sum(p.conversions) END AS conversions, sum(p.excess_spend) AS excess_spend,
    CASE WHEN count(p.conversions_expected) = count(*) THEN sum((1e6 * p.conversions_expected)::BIGINT)::DOUBLE / 1e6 END AS conversions_expected,
    CASE WHEN count(p.revenue) = count(*) THEN sum(p.revenue) END AS revenue, CASE WHEN count(p.profit_expected) = count(*) THEN sum(p.profit_expected ORDER BY p.campaign_id) END AS profit_expected
  FROM placed AS p
  GROUP BY GROUPING SETS ((p.account_id), (p.account_id, p.is_shown))
  HAVING grouping(p.is_shown) = 1 OR NOT p.is_shown
)
SELECT
  a.account_id, a.campaign_id, a.campaign_name, a.campaign_status, a.verdict, a.spend, a.conversions,
  a.cpa::DECIMAL(18,2) AS cpa, a.conversions_expected::DECIMAL(18,1) AS conversions_expected, a.cpa_expected::DECIMAL(18,2) AS cpa_expected, a.cpa_best_case::DECIMAL(18,2) AS cpa_best_case, a.cpa_worst_case::DECIMAL(18,2) AS cpa_worst_case,
  a.target_cpa, a.cpa_to_target::DECIMAL(18,2) AS cpa_to_target, a.excess_spend,
  a.profit_expected::DECIMAL(18,2) AS profit_expected, ratio(a.profit_expected, a.spend)::DECIMAL(18,3) AS roi_expected,
  a.revenue, (a.revenue - a.spend)::DECIMAL(18,6) AS profit_so_far, ratio(a.revenue - a.spend, a.spend)::DECIMAL(18,3) AS roi_so_far,
  a.worth, a.days_broken, a.reason, a.at_stake::DECIMAL(18,2) AS at_stake, a.action,
  a.cpa_change::DECIMAL(18,3) AS cpa_change, a.change_verdict, a.window_from, a.window_to, a.days_known
FROM (
  SELECT
    CASE WHEN t.campaign_name = 'all campaigns' THEN 0 ELSE $rows::BIGINT + 1 END AS place, t.account_id, NULL AS campaign_id, t.campaign_name, NULL AS campaign_status, NULL AS verdict, t.spend, t.conversions,
    t.spend::DOUBLE / nullif(t.conversions, 0) AS cpa, NULL::DOUBLE AS cpa_best_case, NULL::DOUBLE AS cpa_worst_case, NULL AS target_cpa, NULL::DOUBLE AS cpa_to_target,
    t.excess_spend, t.conversions_expected, t.spend::DOUBLE / nullif(t.conversions_expected, 0) AS cpa_expected, t.profit_expected, t.revenue, NULL AS worth, NULL AS days_broken, NULL AS reason, NULL::DOUBLE AS at_stake, NULL AS action, NULL::DOUBLE AS cpa_change, NULL AS change_verdict, t.window_from, t.window_to, t.days_known
  FROM summed AS t
  UNION ALL
  SELECT
    l.place, l.account_id, l.campaign_id, l.campaign_name, l.campaign_status, l.verdict, l.spend, l.conversions,
    l.cpa, l.cpa_best_case, l.cpa_worst_case, l.target_cpa, l.cpa_to_target,
    l.excess_spend, l.conversions_expected, l.cpa_expected, l.profit_expected, l.revenue, l.worth, l.days_broken, l.reason, l.at_stake, l.action, l.cpa_change, l.change_verdict, l.window_from, l.window_to, l.days_known
  FROM placed AS l
  WHERE l.is_shown
) AS a
ORDER BY a.account_id, a.place
