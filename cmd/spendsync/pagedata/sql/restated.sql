-- How long do finished days keep changing?
-- Folded.
-- Block say
SELECT 'plain' AS tone, coalesce((SELECT CASE WHEN s.settled_age_days IS NULL THEN 'How long is not known yet' ELSE 'Nearly nothing changes from an age of ' || many(s.settled_age_days, 'day') || ' on' END
  || coalesce('; at ' || many(s.age_days, 'day') || ' ' || share(s.conversions_share) || ' of the conversions and ' || share(s.spend_share) || ' of the spend are there', '') || '.' FROM mart.settlement AS s WHERE s.days_followed > 0 ORDER BY s.age_days LIMIT 1),
  'No finished day has been seen to change yet. The first look at a day cannot show a change.') AS text
-- Block heat: Change of the conversions seen at an age of so many days, by day; hatched: not that old, or not looked at
WITH day AS (SELECT c.report_date FROM ops.day_coverage AS c WHERE c.state IN ('complete', 'final') ORDER BY c.report_date DESC LIMIT 14),
age AS (SELECT a.low, a.high, CASE WHEN a.low = a.high THEN a.low::VARCHAR ELSE a.low || '–' || a.high END AS name FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 14), (15, 21), (22, 32)) AS a(low, high)),
seen AS (
  SELECT c.report_date, a.low, sum(coalesce(c.new_conversions, 0) - coalesce(c.old_conversions, 0)) AS conversions, sum(coalesce(c.new_spend, 0) - coalesce(c.old_spend, 0)) AS spend
  FROM main.spend_change AS c JOIN main.calendar AS k ON k.starts_at <= c.seen_at AND c.seen_at < k.ends_at
  JOIN age AS a ON k.report_date - c.report_date BETWEEN a.low AND a.high GROUP BY c.report_date, a.low
),
looked AS (
  SELECT DISTINCT d.report_date, a.low FROM ops.step AS s JOIN day AS d ON d.report_date::VARCHAR = s.unit JOIN main.calendar AS k ON k.starts_at <= s.started_at AND s.started_at < k.ends_at
  JOIN age AS a ON k.report_date - d.report_date BETWEEN a.low AND a.high WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
  QUALIFY s.started_at > min(s.started_at) OVER (PARTITION BY d.report_date)
),
total AS (SELECT p.report_date, p.conversions FROM page.day AS p)
SELECT on_day(d.report_date) AS row, a.name AS "column", CASE WHEN s.low IS NULL AND l.low IS NULL THEN NULL ELSE coalesce(s.conversions, 0) END AS "value|count",
  CASE WHEN s.low IS NULL AND l.low IS NULL THEN 'unknown' ELSE 'h' || CASE WHEN coalesce(s.conversions, 0) = 0 THEN '0' ELSE CASE WHEN s.conversions < 0 THEN 'm' ELSE '' END || least(4, 1 + floor(10 * abs(s.conversions) / greatest(1, t.conversions)))::INTEGER END END AS state,
  coalesce(usd(s.spend) || ' of spend', '') AS title, d.report_date AS key, a.low AS place
FROM day AS d CROSS JOIN age AS a LEFT JOIN seen AS s ON s.report_date = d.report_date AND s.low = a.low LEFT JOIN looked AS l ON l.report_date = d.report_date AND l.low = a.low
LEFT JOIN total AS t ON t.report_date = d.report_date WHERE EXISTS (FROM seen) ORDER BY d.report_date, a.low
-- Block table: What a young day’s conversions are to be multiplied by
SELECT s.age_days AS key, many(s.age_days, 'day') AS "Age|day", s.conversions_share AS "Conversions there|percent", 1 / nullif(s.conversions_share, 0) AS "Multiply by|times", s.spend_share AS "Spend there|percent", s.days_followed AS "Days followed|count"
FROM mart.settlement AS s WHERE s.days_followed > 0 AND s.conversions_share > 0 ORDER BY s.age_days LIMIT 10
