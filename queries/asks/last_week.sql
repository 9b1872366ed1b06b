-- How did the last week compare with the week before, in all and by campaign?
-- Trap: a week is the last 7 days that are known whole; compare the averages a day if the two have not the same number of known days, and remember that conversions of young days still arrive.
-- Parameter days: 7, days a week has.
-- Parameter rows: 20, campaigns to show, those whose spend changed most first.
WITH last AS (
  SELECT c.account_id, max(c.report_date) AS report_date
  FROM ops.day_coverage AS c
  WHERE c.state IN ('complete', 'final')
  GROUP BY c.account_id
),
known AS (
  SELECT c.account_id, c.report_date, c.report_date > l.report_date - $days::INTEGER AS is_last
  FROM ops.day_coverage AS c
  JOIN last AS l ON l.account_id = c.account_id
  WHERE c.state IN ('complete', 'final') AND c.report_date > l.report_date - 2 * $days::INTEGER
),
week AS (
  SELECT k.account_id, count(*) FILTER (WHERE k.is_last) AS days_known, count(*) FILTER (WHERE NOT k.is_last) AS days_known_before
  FROM known AS k
  GROUP BY k.account_id
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, grouping(d.campaign_id) = 1 AS is_total,
    arg_max(d.campaign_name, d.report_date) AS campaign_name,
    coalesce(sum(d.spend) FILTER (WHERE k.is_last), 0) AS spend,
    coalesce(sum(d.spend) FILTER (WHERE NOT k.is_last), 0) AS spend_before,
    -- One count that nobody told makes the sum unknown.
    CASE WHEN count(*) FILTER (WHERE k.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE k.is_last), 0) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE NOT k.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE NOT k.is_last), 0) END AS conversions_before
  FROM mart.campaign_day AS d
  JOIN known AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  GROUP BY GROUPING SETS ((d.account_id), (d.account_id, d.campaign_id))
)
SELECT
  s.account_id, s.campaign_id,
  CASE WHEN s.is_total THEN 'all campaigns' ELSE s.campaign_name END AS campaign_name,
  w.days_known, w.days_known_before,
  s.spend, s.spend_before,
  (s.spend::DOUBLE / nullif(w.days_known, 0))::DECIMAL(18,2) AS spend_a_day,
  (s.spend_before::DOUBLE / nullif(w.days_known_before, 0))::DECIMAL(18,2) AS spend_a_day_before,
  s.conversions, s.conversions_before,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa,
  (s.spend_before::DOUBLE / nullif(s.conversions_before, 0))::DECIMAL(18,2) AS cpa_before
FROM summed AS s
JOIN week AS w ON w.account_id = s.account_id
WHERE s.is_total OR s.spend > 0 OR s.spend_before > 0
QUALIFY s.is_total OR row_number() OVER (
  PARTITION BY s.account_id, s.is_total ORDER BY abs(s.spend - s.spend_before) DESC, s.campaign_id) <= $rows::INTEGER
ORDER BY s.account_id, s.is_total DESC, abs(s.spend - s.spend_before) DESC, s.campaign_id
