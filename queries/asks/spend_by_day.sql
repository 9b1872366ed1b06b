-- What did each of the last days cost, and what did it bring?
-- Trap: a day that is not covered is NULL, not 0; an open day is not over; conversions of young days still arrive.
-- Parameter days: 8, days to show, today included.
-- Shown: report_date, state, spend, conversions, cpa, clicks, cpc
WITH day AS (
  SELECT c.account_id, c.report_date, c.state, c.state IN ('open', 'complete', 'final') AS is_covered
  FROM ops.day_coverage AS c
  QUALIFY row_number() OVER (PARTITION BY c.account_id ORDER BY c.report_date DESC) <= $days::INTEGER
),
summed AS (
  SELECT
    s.account_id, s.report_date, sum(s.spend) AS spend,
    CASE WHEN sum(s.rows_with_clicks) = sum(s.rows) THEN sum(s.clicks) END AS clicks,
    CASE WHEN sum(s.rows_with_conversions) = sum(s.rows) THEN sum(s.conversions) END AS conversions
  FROM mart.campaign_spend AS s
  GROUP BY s.account_id, s.report_date
)
SELECT
  d.account_id, d.report_date, d.state,
  CASE WHEN s.account_id IS NOT NULL THEN s.spend WHEN d.is_covered THEN 0 END AS spend,
  CASE WHEN s.account_id IS NOT NULL THEN s.clicks WHEN d.is_covered THEN 0 END AS clicks,
  CASE WHEN s.account_id IS NOT NULL THEN s.conversions WHEN d.is_covered THEN 0 END AS conversions,
  (s.spend::DOUBLE / nullif(s.clicks, 0))::DECIMAL(18,3) AS cpc,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa
FROM day AS d
LEFT JOIN summed AS s ON s.account_id = d.account_id AND s.report_date = d.report_date
ORDER BY d.account_id, d.report_date DESC
