-- What did each campaign spend in each hour of the last five weeks, and how does that compare with the same hour of the weeks before?
-- Trap: the report knows days only; hours come from reads of days that were going on, and what lies between two reads is spread evenly over the time between them. An hour whose ends were not read closely (2 hours) is NULL, not 0; what was spent in such hours is in a row without an hour, so that the rows of a day add up to its spend. What was restated after a day counts in its last hour.
-- Column report_date: Chicago calendar day; of the last 35 days those that were read while they were going on.
-- Column hour: Hour on the clock in Chicago, 0 to 23. Where the clocks go back, hour 1 comes twice; where they go forward, hour 2 does not. NULL: all hours of the day that are not known, together.
-- Column hour_from: Instant at which the hour begins. NULL: as hour.
-- Column spend: US dollars within the hour. NULL: no reads close to both of its ends.
-- Column clicks: Clicks within the hour, a fraction where it lies between reads. NULL: no reads close to both of its ends, or some row lacks the number.
-- Column impressions: Impressions within the hour, a fraction where it lies between reads. NULL: no reads close to both of its ends, or some row lacks the number.
-- Column conversions: Conversions that arrived within the hour for clicks of this day. NULL: no reads close to both of its ends, or some row lacks the number.
-- Column spend_so_far: US dollars from the start of the day to the end of the hour. NULL: no reads close to it.
-- Column usual_spend: Mean of spend in the same hour of the campaign's days up to four weeks before. NULL: none known.
-- Column usual_days: Hours behind usual_spend; with few of them it says little. NULL: as hour.
-- Column spend_to_usual: spend divided by usual_spend: 1 is as usual. NULL: one of them unknown, or nothing usually.
WITH seen AS (
  SELECT i.*
  FROM main.spend_intraday AS i
  JOIN (
    SELECT l.account_id, max(l.report_date) - 34 AS first_date FROM main.spend_intraday AS l GROUP BY l.account_id
  ) AS f ON f.account_id = i.account_id AND i.report_date >= f.first_date
),
day AS (
  SELECT
    k.account_id, k.report_date, k.starts_at, k.ends_at, k.hours, d.first_at,
    c.account_id IS NOT NULL AS is_over
  FROM (SELECT s.account_id, s.report_date, min(s.seen_at) AS first_at FROM seen AS s GROUP BY s.account_id, s.report_date) AS d
  JOIN main.calendar AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  LEFT JOIN int.whole_day AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
),
-- Each read with the rows that state the spend at that time. A read that found the day unchanged has no rows of its
-- own.
lined AS (
  SELECT DISTINCT s.account_id, s.report_date, s.seen_at AS at, s.seen_at AS line_at
  FROM seen AS s
  UNION ALL
  SELECT d.account_id, d.report_date, p.started_at, NULL
  FROM day AS d
  JOIN ops.step AS p
    ON p.account_id = d.account_id AND p.unit = d.report_date::VARCHAR AND p.stream = 'spend_report' AND p.outcome = 'unchanged'
    AND p.started_at > d.first_at AND p.started_at < d.ends_at
  UNION
  -- The last read. When a run makes this table, the steps of that run are not stored yet.
  SELECT d.account_id, d.report_date, c.last_read_at, NULL
  FROM day AS d
  JOIN ops.day_coverage AS c
    ON c.account_id = d.account_id AND c.report_date = d.report_date AND c.last_read_at > d.first_at AND c.last_read_at < d.ends_at
  UNION ALL
  SELECT d.account_id, d.report_date, d.starts_at, d.starts_at
  FROM day AS d
  UNION ALL
  SELECT d.account_id, d.report_date, d.ends_at, d.ends_at
  FROM day AS d
  WHERE d.is_over
),
read AS (
  SELECT l.account_id, l.report_date, l.at, max(l.line_at) OVER (PARTITION BY l.account_id, l.report_date ORDER BY l.at) AS line_at
  FROM lined AS l
),
-- The ends of the hours, merged with the reads.
placed AS (
  SELECT r.account_id, r.report_date, r.at, NULL::BIGINT AS n, {'at': r.at, 'line_at': r.line_at} AS read
  FROM read AS r
  UNION ALL
  SELECT d.account_id, d.report_date, to_timestamp(epoch(d.starts_at) + 3600 * h.n), h.n, NULL
  FROM day AS d
  JOIN range(26) AS h(n) ON h.n <= d.hours
),
bracketed AS (
  SELECT
    p.account_id, p.report_date, p.n, p.at,
    last_value(p.read IGNORE NULLS) OVER (of_day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before,
    first_value(p.read IGNORE NULLS) OVER (of_day ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after
  FROM placed AS p
  WINDOW of_day AS (PARTITION BY p.account_id, p.report_date ORDER BY p.at, p.n NULLS FIRST)
),
boundary AS (
  SELECT
    b.account_id, b.report_date, b.n, b.at, b.before.line_at AS line_before, coalesce(b.after, b.before).line_at AS line_after,
    CASE
      WHEN b.before.at = b.at THEN 0
      -- curve_gap_hours: Between two reads of a day that are further apart than this, nobody knows what an hour brought.
      WHEN epoch(b.after.at) - epoch(b.before.at) <= 3600 * (2::DOUBLE /* curve_gap_hours */)
        THEN (epoch(b.at) - epoch(b.before.at)) / (epoch(b.after.at) - epoch(b.before.at))
    END AS share
  FROM bracketed AS b
  -- For an open day, stop at the hour of the last read.
  WHERE b.n IS NOT NULL AND (b.after IS NOT NULL OR epoch(b.at) - epoch(b.before.at) < 3600)
),
point AS (
  SELECT s.account_id, s.report_date, s.campaign_id, s.seen_at AS line_at, s.spend::DOUBLE AS spend, s.clicks, s.impressions, s.conversions
  FROM seen AS s
  UNION ALL
  SELECT
    d.account_id, d.report_date, c.campaign_id, d.ends_at, c.spend::DOUBLE,
    CASE WHEN c.rows_with_clicks = c.rows THEN c.clicks END, CASE WHEN c.rows_with_impressions = c.rows THEN c.impressions END,
    CASE WHEN c.rows_with_conversions = c.rows THEN c.conversions END
  FROM day AS d
  JOIN int.campaign_spend AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
  WHERE d.is_over
),
campaign AS (
  SELECT DISTINCT p.account_id, p.report_date, p.campaign_id
  FROM point AS p
),
-- If a read has rows but none of the campaign, the campaign had spent nothing by then.
summed AS (
  SELECT
    c.account_id, c.report_date, c.campaign_id, b.n, b.at,
    CASE WHEN b.share IS NOT NULL THEN (1 - b.share) * coalesce(x.spend, 0) + b.share * coalesce(y.spend, 0) END AS spend,
    CASE WHEN b.share IS NOT NULL THEN (1 - b.share) * CASE WHEN x.campaign_id IS NULL THEN 0 ELSE x.clicks END + b.share * CASE WHEN y.campaign_id IS NULL THEN 0 ELSE y.clicks END END AS clicks,
    CASE WHEN b.share IS NOT NULL THEN (1 - b.share) * CASE WHEN x.campaign_id IS NULL THEN 0 ELSE x.impressions END + b.share * CASE WHEN y.campaign_id IS NULL THEN 0 ELSE y.impressions END END AS impressions,
    CASE WHEN b.share IS NOT NULL THEN (1 - b.share) * CASE WHEN x.campaign_id IS NULL THEN 0 ELSE x.conversions END + b.share * CASE WHEN y.campaign_id IS NULL THEN 0 ELSE y.conversions END END AS conversions
  FROM campaign AS c
  JOIN boundary AS b ON b.account_id = c.account_id AND b.report_date = c.report_date
  LEFT JOIN point AS x ON x.account_id = c.account_id AND x.report_date = c.report_date AND x.campaign_id = c.campaign_id AND x.line_at = b.line_before
  LEFT JOIN point AS y ON y.account_id = c.account_id AND y.report_date = c.report_date AND y.campaign_id = c.campaign_id AND y.line_at = b.line_after
),
hourly AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.n, s.spend AS spend_so_far,
    lag(s.at) OVER of_day AS hour_from,
    s.spend - lag(s.spend) OVER of_day AS spend, s.clicks - lag(s.clicks) OVER of_day AS clicks,
    s.impressions - lag(s.impressions) OVER of_day AS impressions, s.conversions - lag(s.conversions) OVER of_day AS conversions
  FROM summed AS s
  WINDOW of_day AS (PARTITION BY s.account_id, s.report_date, s.campaign_id ORDER BY s.n)
),
clocked AS (
  -- The clocks change at 2 a.m.: count earlier hours from the start of the day, and later ones back from its end.
  SELECT
    h.*, CASE WHEN h.n <= 2 THEN h.n - 1 ELSE 23 - (k.hours - h.n) END AS hour
  FROM hourly AS h
  JOIN main.calendar AS k ON k.account_id = h.account_id AND k.report_date = h.report_date
  WHERE h.n > 0 AND h.n <= k.hours
),
compared AS (
  SELECT
    c.*, avg(c.spend) OVER earlier AS usual_spend, count(c.spend) OVER earlier AS usual_days
  FROM clocked AS c
  WINDOW earlier AS (PARTITION BY c.account_id, c.campaign_id, c.hour ORDER BY c.report_date RANGE BETWEEN INTERVAL 28 DAYS PRECEDING AND INTERVAL 1 DAY PRECEDING)
),
unplaced AS (
  SELECT d.account_id, d.report_date, d.campaign_id, any_value(d.spend) - coalesce(sum(c.spend::DECIMAL(18, 6)), 0) AS spend
  FROM campaign AS g
  JOIN int.campaign_spend AS d ON d.account_id = g.account_id AND d.report_date = g.report_date AND d.campaign_id = g.campaign_id
  LEFT JOIN compared AS c ON c.account_id = g.account_id AND c.report_date = g.report_date AND c.campaign_id = g.campaign_id
  GROUP BY d.account_id, d.report_date, d.campaign_id
)
SELECT
  r.account_id, r.report_date, r.hour, r.hour_from, r.campaign_id, h.name AS campaign_name, r.spend, r.clicks, r.impressions, r.conversions,
  r.spend_so_far, r.usual_spend, r.usual_days, r.spend_to_usual
FROM (
  SELECT
    c.account_id, c.report_date, c.hour::INTEGER AS hour, c.hour_from, c.campaign_id,
    c.spend::DECIMAL(18, 6) AS spend, c.clicks, c.impressions, c.conversions, c.spend_so_far::DECIMAL(18, 6) AS spend_so_far,
    c.usual_spend::DECIMAL(18, 6) AS usual_spend, c.usual_days, c.spend / nullif(c.usual_spend, 0) AS spend_to_usual
  FROM compared AS c
  UNION ALL
  SELECT u.account_id, u.report_date, NULL, NULL, u.campaign_id, u.spend::DECIMAL(18, 6), NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM unplaced AS u
  WHERE u.spend <> 0
) AS r
LEFT JOIN main.campaign_history AS h ON h.account_id = r.account_id AND h.campaign_id = r.campaign_id AND h.is_current
