-- What did each of the last days cost, and what did it bring?
-- Trap: a day that is not covered is NULL, not 0; today is not over.
SELECT
  c.report_date,
  c.state,
  CASE WHEN c.state IN ('open', 'complete', 'final') THEN coalesce(sum(s.spend), 0) END AS spend,
  CASE WHEN c.state IN ('open', 'complete', 'final') THEN coalesce(sum(s.clicks), 0) END AS clicks,
  CASE WHEN c.state IN ('open', 'complete', 'final') THEN coalesce(sum(s.conversions), 0) END AS conversions,
  round(sum(s.spend)::DOUBLE / nullif(sum(s.clicks), 0), 3) AS cpc
FROM ops.day_coverage AS c
LEFT JOIN spend_daily AS s ON s.account_id = c.account_id AND s.report_date = c.report_date
GROUP BY c.account_id, c.report_date, c.state
ORDER BY c.account_id, c.report_date DESC
LIMIT 8
