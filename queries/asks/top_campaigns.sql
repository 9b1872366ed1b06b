-- Which campaigns cost most in the last 7 finished days?
-- Trap: a campaign's newest name is shown; conversions of young days still arrive.
WITH finished AS (
  SELECT account_id, report_date FROM ops.day_coverage WHERE state IN ('complete', 'final')
  QUALIFY row_number() OVER (PARTITION BY account_id ORDER BY report_date DESC) <= 7
)
SELECT
  s.campaign_id,
  arg_max(s.campaign_name, s.report_date) AS campaign_name,
  sum(s.spend) AS spend,
  sum(s.clicks) AS clicks,
  sum(s.conversions) AS conversions,
  round(sum(s.spend)::DOUBLE / nullif(sum(s.conversions), 0), 2) AS cpa
FROM spend_daily AS s
JOIN finished AS f ON f.account_id = s.account_id AND f.report_date = s.report_date
GROUP BY s.account_id, s.campaign_id
ORDER BY sum(s.spend) DESC, s.campaign_id
LIMIT 6
