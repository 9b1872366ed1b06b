-- Which campaigns are at their daily limits, and is that to their good?
-- Trap: a limit is compared as it was at the end of the day; a campaign at its limit sells out early in the day, so that its CPA is that of its first hours. It is about the last whole days (threshold recent_days), not about today: mart.daily_pacing is.
WITH day AS (
  SELECT p.*
  FROM mart.daily_pacing AS p
  WHERE p.coverage_state IN ('complete', 'final') AND p.pace_basis = 'day_over' AND p.spend IS NOT NULL
  QUALIFY p.report_date > max(p.report_date) OVER (PARTITION BY p.account_id) - (SELECT t.value FROM int.threshold AS t WHERE t.name = 'recent_days')::INTEGER
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
),
judged AS (
  SELECT
    s.*, k.verdict AS campaign_verdict, k.campaign_status, k.at_stake AS profit_per_day,
    CASE
      WHEN s.limits IS NULL THEN 'no_limit'
      WHEN s.days_limited = 0 THEN 'free'
      WHEN s.days_limited < (3::DOUBLE /* limited_days */) THEN 'sometimes'
      WHEN k.verdict = 'pays' THEN 'held_back'
      ELSE 'limited'
    END AS verdict
  FROM summed AS s
  LEFT JOIN mart.campaign_performance AS k ON k.account_id = s.account_id AND k.campaign_id = s.campaign_id
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.days_limited, j.days_known, j.daily_spend_limit, j.spend,
  j.limited_spend::DOUBLE / nullif(j.limits, 0)::DOUBLE AS utilization, j.conversions, j.spend::DOUBLE / nullif(j.conversions, 0) AS cpa, j.target_cpa,
  j.campaign_status, j.verdict,
  CASE WHEN j.days_limited > 0 THEN format('it spent all of its limit on {} of {} days', j.days_limited, j.days_known) END
    || CASE j.verdict WHEN 'held_back' THEN ', and pays' WHEN 'limited' THEN CASE WHEN j.campaign_verdict = 'loses' THEN ', and loses' ELSE ', and is not known to pay' END ELSE '' END AS reason,
  CASE WHEN j.verdict = 'held_back' THEN 0.1 * j.profit_per_day END AS at_stake,
  CASE
    WHEN j.campaign_status IS DISTINCT FROM 'active' THEN NULL
    WHEN j.verdict = 'held_back' THEN coalesce(format('raise its daily limit of ${:,.2f}', j.daily_spend_limit::DOUBLE), 'raise its daily limit')
    WHEN j.verdict = 'limited' AND j.campaign_verdict = 'loses' THEN 'leave the limit: it loses'
    WHEN j.verdict = 'limited' THEN 'leave the limit until it is clear whether it pays'
  END AS action
FROM judged AS j
