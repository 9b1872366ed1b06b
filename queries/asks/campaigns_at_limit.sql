-- Which campaigns hit their daily limits, and what would a raised limit buy?
-- Trap: a limited campaign sells out early in the day, so its CPA is that of its first hours; a limit is compared as it was at the end of the day.
-- Parameter days: 7, days to look back from the last one that is proven complete.
-- Parameter rows: 20, campaigns to show, those that were held back most often first.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Shown: campaign_name, spend, daily_spend_limit, utilization, days_limited, days_known, conversions, cpa, target_cpa, campaign_id
WITH day AS (
  SELECT p.*
  FROM mart.daily_pacing AS p
  WHERE p.coverage_state IN ('complete', 'final') AND p.pace_basis = 'day_over' AND p.spend IS NOT NULL
  QUALIFY p.report_date > max(p.report_date) OVER (PARTITION BY p.account_id) - $days::INTEGER
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, arg_max(d.campaign_name, d.report_date) AS campaign_name,
    count(*) AS days_known, count(*) FILTER (WHERE d.pacing_state IN ('limited', 'over')) AS days_limited,
    arg_max_null(d.daily_spend_limit, d.report_date) AS daily_spend_limit,
    sum(c.spend) AS spend,
    sum(d.spend) FILTER (WHERE d.daily_spend_limit IS NOT NULL) AS limited_spend,
    sum(d.daily_spend_limit) FILTER (WHERE d.spend IS NOT NULL) AS limits,
    CASE WHEN count(c.conversions) = count(*) THEN sum(c.conversions) END AS conversions,
    arg_max_null(c.target_cpa, d.report_date) AS target_cpa
  FROM day AS d
  JOIN mart.campaign_day AS c ON c.account_id = d.account_id AND c.report_date = d.report_date AND c.campaign_id = d.campaign_id
  GROUP BY d.account_id, d.campaign_id
)
SELECT
  s.account_id, s.campaign_id, s.campaign_name, s.days_limited, s.days_known, s.daily_spend_limit, s.spend,
  (s.limited_spend::DOUBLE / nullif(s.limits, 0)::DOUBLE)::DECIMAL(18,3) AS utilization,
  s.conversions,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa,
  s.target_cpa
FROM summed AS s
WHERE s.days_limited > 0
ORDER BY s.days_limited::DOUBLE / s.days_known DESC, s.spend DESC, s.account_id, s.campaign_id
LIMIT $rows::BIGINT
