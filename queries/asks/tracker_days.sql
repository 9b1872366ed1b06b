-- On which days do the service and your own tracker disagree?
-- Trap: a day of the tracker begins at its own midnight: what it shifts from day to day is part of what is usual here. Days are named beyond chance (threshold break_min_z) and by more than 2 %, and only of campaigns that this account has. Conversions of the last days still arrive on both sides: an export older than the last sync has too few.
-- Parameter campaign: "", campaign that is asked for, by its ID; empty: every campaign.
-- Parameter days: 60, days to look back from the last one that is proven complete.
-- Parameter rows: 60, days to show, those that disagree first, then the newest.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Shown: report_date, verdict, clicks, tracker_clicks, clicks_usual, conversions, tracker_conversions, conversions_usual
-- Column verdict: agree; clicks, conversions, or both differ from what is usual between the two; not_in_export: the export lacks the day; unclear: fewer days are compared than threshold impact_days, or the numbers are not told.
-- Column clicks: Clicks that the service bills. NULL: some row lacks the number.
-- Column tracker_clicks: Clicks that arrived at the tracker. NULL: the export does not tell.
-- Column clicks_usual: Clicks that would have arrived of those billed at the usual share: the median of the days.
-- Column conversions: Conversions as the service counts them. NULL: some row lacks the number.
-- Column tracker_conversions: Conversions as the tracker counts them, of every state. NULL: the export does not tell.
-- Column conversions_usual: Conversions that the tracker would have had for those of the service at the usual share.
-- Column clicks_z: How far the tracker's clicks are from the usual, in standard deviations.
-- Column conversions_z: The same of its conversions.
WITH looked_at AS (
  SELECT c.account_id, c.report_date, k.account_id IS NOT NULL AS is_tracked
  FROM ops.day_coverage AS c
  JOIN main.today AS t ON t.account_id = c.account_id AND c.report_date > t.last_whole_date - $days::INTEGER AND c.report_date <= t.last_whole_date
  LEFT JOIN (SELECT DISTINCT d.account_id, d.report_date FROM main.tracker_daily AS d) AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('complete', 'final') AND c.report_date >= (SELECT min(d.report_date) FROM main.tracker_daily AS d WHERE d.account_id = c.account_id)
),
known AS (
  SELECT DISTINCT h.account_id, h.campaign_id FROM main.campaign_history AS h
  UNION
  SELECT DISTINCT s.account_id, s.campaign_id FROM mart.campaign_spend AS s
),
here AS (
  SELECT
    s.account_id, s.report_date, CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks) END AS clicks, CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions) END AS conversions
  FROM main.spend_daily AS s
  WHERE $campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR
  GROUP BY s.account_id, s.report_date
),
there AS (
  SELECT
    k.account_id, k.report_date, CASE WHEN count(k.clicks) = count(*) THEN sum(k.clicks) END AS clicks, CASE WHEN count(k.conversions) = count(*) THEN sum(k.conversions) END AS conversions
  FROM main.tracker_daily AS k
  JOIN known AS n ON n.account_id = k.account_id AND n.campaign_id = k.campaign_id
  WHERE $campaign::VARCHAR = '' OR k.campaign_id = $campaign::VARCHAR
  GROUP BY k.account_id, k.report_date
),
-- A day without a row is 0 where it was looked at.
measured AS (
  SELECT d.account_id, d.report_date, d.is_tracked, m.measure, m.ours::DOUBLE AS ours, CASE WHEN d.is_tracked THEN m.theirs::DOUBLE END AS theirs
  FROM looked_at AS d
  LEFT JOIN here AS h ON h.account_id = d.account_id AND h.report_date = d.report_date
  LEFT JOIN there AS t ON t.account_id = d.account_id AND t.report_date = d.report_date
  CROSS JOIN LATERAL (
    VALUES ('clicks', CASE WHEN h.account_id IS NULL THEN 0 ELSE h.clicks END, CASE WHEN t.account_id IS NULL THEN 0 ELSE t.clicks END),
      ('conversions', CASE WHEN h.account_id IS NULL THEN 0 ELSE h.conversions END, CASE WHEN t.account_id IS NULL THEN 0 ELSE t.conversions END)
  ) AS m(measure, ours, theirs)
),
shared AS (
  SELECT m.*, median(m.theirs / nullif(m.ours, 0)) OVER of_measure AS usual, count(m.ours + m.theirs) OVER of_measure AS days
  FROM measured AS m
  WINDOW of_measure AS (PARTITION BY m.account_id, m.measure)
),
-- The usual spread by the median of what differs, so that a broken day does not widen it.
spread AS (
  SELECT s.*, 1.4826 * median(abs(s.theirs - s.usual * s.ours) / sqrt(nullif(s.ours, 0))) OVER of_measure AS scatter
  FROM shared AS s
  WINDOW of_measure AS (PARTITION BY s.account_id, s.measure)
),
tested AS (
  SELECT
    s.*, (s.theirs - s.usual * s.ours) / sqrt(1 + greatest(s.scatter * s.scatter, s.usual * (1 - s.usual), 0) * s.ours) AS z,
    abs(s.theirs - s.usual * s.ours) > 0.02 * s.usual * s.ours AS is_large
  FROM spread AS s
),
level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'break_min_z') AS sure, max(t.value) FILTER (WHERE t.name = 'impact_days') AS days
  FROM mart.threshold AS t
),
day AS (
  SELECT
    t.account_id, t.report_date, any_value(t.is_tracked) AS is_tracked,
    max(t.ours) FILTER (WHERE t.measure = 'clicks') AS clicks, max(t.theirs) FILTER (WHERE t.measure = 'clicks') AS tracker_clicks,
    max(t.usual * t.ours) FILTER (WHERE t.measure = 'clicks') AS clicks_usual, max(t.z) FILTER (WHERE t.measure = 'clicks') AS clicks_z,
    max(t.ours) FILTER (WHERE t.measure = 'conversions') AS conversions, max(t.theirs) FILTER (WHERE t.measure = 'conversions') AS tracker_conversions,
    max(t.usual * t.ours) FILTER (WHERE t.measure = 'conversions') AS conversions_usual, max(t.z) FILTER (WHERE t.measure = 'conversions') AS conversions_z,
    coalesce(bool_or(t.z IS NOT NULL AND t.days >= l.days), false) AS is_tested,
    coalesce(bool_or(abs(t.z) > l.sure AND t.is_large AND t.days >= l.days) FILTER (WHERE t.measure = 'clicks'), false) AS clicks_differ,
    coalesce(bool_or(abs(t.z) > l.sure AND t.is_large AND t.days >= l.days) FILTER (WHERE t.measure = 'conversions'), false) AS conversions_differ
  FROM tested AS t
  CROSS JOIN level AS l
  GROUP BY t.account_id, t.report_date
)
SELECT
  d.account_id, d.report_date,
  CASE
    WHEN NOT d.is_tracked THEN 'not_in_export'
    WHEN d.clicks_differ AND d.conversions_differ THEN 'both'
    WHEN d.clicks_differ THEN 'clicks'
    WHEN d.conversions_differ THEN 'conversions'
    WHEN d.is_tested THEN 'agree'
    ELSE 'unclear'
  END AS verdict,
  d.clicks::BIGINT AS clicks, d.tracker_clicks::BIGINT AS tracker_clicks, d.clicks_usual::DECIMAL(18,1) AS clicks_usual, d.clicks_z::DECIMAL(18,1) AS clicks_z,
  d.conversions::BIGINT AS conversions, d.tracker_conversions::BIGINT AS tracker_conversions, d.conversions_usual::DECIMAL(18,1) AS conversions_usual, d.conversions_z::DECIMAL(18,1) AS conversions_z
FROM day AS d
ORDER BY d.clicks_differ OR d.conversions_differ DESC, d.report_date DESC, d.account_id
LIMIT $rows::BIGINT
