-- Which campaigns cost most in the last finished days?
-- Trap: days that are not proven complete are left out (days_known); a campaign's newest name is shown; conversions of young days still arrive: cpa_expected allows for those to come, cpa does not.
-- Parameter days: 7, days to look back from the last one that is proven complete.
-- Parameter rows: 10, campaigns to show.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Shown: campaign_name, spend, conversions, cpa, cpa_expected, conversions_expected, clicks, cpc, campaign_id
WITH known AS (
  SELECT c.account_id, c.report_date, c.conversions_share
  FROM mart.day_maturity AS c
  QUALIFY c.report_date > max(c.report_date) OVER (PARTITION BY c.account_id) - $days::INTEGER
),
span AS (
  SELECT k.account_id, count(*) AS days_known, max(k.report_date) AS window_to
  FROM known AS k
  GROUP BY k.account_id
),
summed AS (
  SELECT
    s.account_id, s.campaign_id, arg_max(s.campaign_name, s.report_date) AS campaign_name, sum(s.spend) AS spend,
    CASE WHEN sum(s.rows_with_clicks) = sum(s.rows) THEN sum(s.clicks) END AS clicks,
    CASE WHEN sum(s.rows_with_conversions) = sum(s.rows) THEN sum(s.conversions) END AS conversions,
    sum((1e6 * s.spend::DOUBLE * coalesce(k.conversions_share, 1))::BIGINT)::DOUBLE / 1e6 AS arrived_spend
  FROM mart.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id
)
SELECT
  s.account_id, s.campaign_id, s.campaign_name, d.days_known, s.spend, s.clicks, s.conversions,
  (s.spend::DOUBLE / nullif(s.clicks, 0))::DECIMAL(18,3) AS cpc,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa,
  (s.conversions * s.spend::DOUBLE / nullif(s.arrived_spend, 0))::DECIMAL(18,1) AS conversions_expected,
  (s.arrived_spend / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa_expected,
  d.window_to - $days::INTEGER + 1 AS window_from, d.window_to
FROM summed AS s
JOIN span AS d ON d.account_id = s.account_id
WHERE s.spend > 0
ORDER BY s.spend DESC, s.account_id, s.campaign_id
LIMIT $rows::BIGINT
