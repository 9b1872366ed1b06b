-- What did spend_daily say at an instant, as we knew it then?
-- Trap: it does not give how far a day had grown that was not over yet: main.spend_intraday does. Of such a day, rows that have changed since have the first numbers that were known after the day's end, and is_exact is false. A day that was first read after the instant is left out.
-- Shown: report_date, campaign_id, creative_id, source_id, spend, clicks, impressions, conversions, is_exact
-- Column is_exact: false: the day was not over or not proven complete at the instant, and the row has changed since; its numbers are the first that were known after the day's end.
-- Parameters: instant
WITH undone AS (
  -- The old values of the first change after the instant are the values that were known at the instant.
  SELECT s.*
  FROM main.spend_change AS s
  WHERE s.seen_at > instant
  QUALIFY row_number() OVER (
    PARTITION BY s.account_id, s.report_date, s.campaign_id, s.creative_id, s.source_id ORDER BY s.seen_at, CASE s.op WHEN 'delete' THEN 1 ELSE 2 END) = 1
),
whole AS (
  -- Days that were read after their end and before the instant.
  SELECT DISTINCT k.account_id, k.report_date
  FROM ops.step AS s
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  JOIN main.calendar AS k ON k.account_id = s.account_id AND k.report_date = try_cast(s.unit AS DATE) AND s.started_at >= k.ends_at
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged') AND s.started_at <= instant
),
day AS (
  SELECT c.account_id, c.report_date, w.report_date IS NOT NULL OR coalesce(c.first_read_at >= k.ends_at, false) AS was_whole
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN whole AS w ON w.account_id = c.account_id AND w.report_date = c.report_date
  WHERE c.first_read_at <= instant
)
SELECT
  s.account_id, s.report_date, s.campaign_id, s.creative_id, s.source_id, s.campaign_name,
  CASE WHEN u.op IS NULL THEN s.spend ELSE u.old_spend END AS spend,
  CASE WHEN u.op IS NULL THEN s.clicks ELSE u.old_clicks END AS clicks,
  CASE WHEN u.op IS NULL THEN s.impressions ELSE u.old_impressions END AS impressions,
  CASE WHEN u.op IS NULL THEN s.conversions ELSE u.old_conversions END AS conversions,
  d.was_whole OR s._changed_at <= instant AS is_exact
FROM main.spend_daily AS s
JOIN day AS d ON d.account_id = s.account_id AND d.report_date = s.report_date
LEFT JOIN undone AS u
  ON u.account_id = s.account_id AND u.report_date = s.report_date AND u.campaign_id = s.campaign_id
  AND u.creative_id = s.creative_id AND u.source_id = s.source_id
WHERE coalesce(u.op <> 'insert', s._first_seen_at <= instant OR NOT d.was_whole)
UNION ALL
SELECT
  u.account_id, u.report_date, u.campaign_id, u.creative_id, u.source_id, NULL AS campaign_name,
  u.old_spend AS spend, u.old_clicks AS clicks, u.old_impressions AS impressions, u.old_conversions AS conversions,
  d.was_whole AS is_exact
FROM undone AS u
JOIN day AS d ON d.account_id = u.account_id AND d.report_date = u.report_date
WHERE u.op <> 'insert' AND NOT EXISTS (
  SELECT 1 AS one FROM main.spend_daily AS s
  WHERE s.account_id = u.account_id AND s.report_date = u.report_date AND s.campaign_id = u.campaign_id
    AND s.creative_id = u.creative_id AND s.source_id = u.source_id)
