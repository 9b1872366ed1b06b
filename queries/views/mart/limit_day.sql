-- How much of its daily limit did each campaign spend on each day by which the service counts limits?
-- Trap: days are Chicago's unless SPENDSYNC_LIMIT_DAY names another zone (see mart.limit_reset). A day of another zone has parts of two Chicago days: reads close to its midnight divide them (main.spend_intraday), and without such reads its spend is NULL.
-- Column report_date: Date of the day, in the zone of the limits.
-- Column starts_at: First instant of the day.
-- Column ends_at: First instant after the day.
-- Column settings_date: Chicago day at whose end the settings of this line held: that of the same date, or of the evening before where it has not begun.
-- Column campaign_name: Name at that instant; where it was never readable, the report's name on the Chicago day.
-- Column status: Status at that instant. A deleted campaign keeps its last one.
-- Column delivery_status: Why the campaign delivered or did not at that instant, in the service's words. NULL: not known.
-- Column daily_spend_limit: US dollars per day at that instant. NULL: no limit, or never readable (settings_read_state).
-- Column is_assumed: Whether the limit was first seen later, and so is only assumed to have held then. NULL: never seen.
-- Column is_deleted: Whether the campaign was found to be gone by then. NULL: never seen.
-- Column settings_read_state: How well its settings could be read: ok, partial, unreadable or stub. NULL: never seen.
-- Column settings_changed: Whether the settings were seen to change within the Chicago day.
-- Column coverage_state: How well the Chicago day is known: open, complete, final, partial, missing or lost, as in ops.day_coverage.
-- Column is_covered: Whether the spend of the day is known, as of as_of_at.
-- Column is_over: Whether the day was over when its numbers were last read, so that nothing more is spent in it.
-- Column as_of_at: When the day's numbers were last read. NULL: never.
-- Column day_elapsed: Share of the day, 0 to 1, that had passed by then; 1 when it was over. NULL: never read.
-- Column spend: US dollars within the day, as of as_of_at. NULL: not known.
-- Column clicks: Clicks within the day, a fraction where they lie between two reads. NULL: not known, or some row lacks the number.
-- Column utilization: spend divided by the limit; 1 is all of it. NULL: no limit or no spend known.
WITH span AS (
  SELECT
    k.account_id, k.report_date, coalesce(k.limit_starts_at, k.starts_at) AS starts_at, coalesce(k.limit_ends_at, k.ends_at) AS ends_at,
    -- The Chicago days in which it begins and ends, and whether it does so within them.
    k.report_date - CASE WHEN k.limit_starts_at < k.starts_at THEN 1 ELSE 0 END AS first_date,
    k.report_date + CASE WHEN k.limit_ends_at > k.ends_at THEN 1 ELSE 0 END AS last_date,
    coalesce(k.limit_starts_at <> k.starts_at, false) AS begins_within, coalesce(k.limit_ends_at <> k.ends_at, false) AS ends_within,
    t.today, CASE WHEN k.limit_starts_at IS NULL THEN k.report_date ELSE least(k.report_date, t.today) END AS settings_date, t.as_of_at >= coalesce(k.limit_ends_at, k.ends_at) AS has_passed
  FROM main.calendar AS k
  LEFT JOIN main.today AS t ON t.account_id = k.account_id
  WHERE k.limit_starts_at IS NULL OR k.limit_starts_at < t.as_of_at
),
-- Midnights of limits within a Chicago day.
midnight AS (
  SELECT s.account_id, s.report_date, -1 AS sign, s.first_date AS chicago_date, s.starts_at AS at FROM span AS s WHERE s.begins_within
  UNION ALL
  SELECT s.account_id, s.report_date, 1, s.last_date, s.ends_at FROM span AS s WHERE s.ends_within AND s.has_passed
),
-- The reads around each, and the lines that hold what there was by then: a read that found the day as it was before has none
-- of its own.
read_around AS (
  SELECT
    m.account_id, m.report_date, m.sign, m.chicago_date, m.at, coalesce(max(r.at) FILTER (WHERE r.at <= m.at), any_value(k.starts_at)) AS read_before,
    min(r.at) FILTER (WHERE r.at > m.at) AS read_after, max(r.line_at) FILTER (WHERE r.line_at <= m.at) AS line_before,
    min(r.line_at) FILTER (WHERE r.line_at > m.at) AS next_line
  FROM midnight AS m
  JOIN main.calendar AS k ON k.account_id = m.account_id AND k.report_date = m.chicago_date
  JOIN (
    SELECT DISTINCT i.account_id, i.report_date::VARCHAR AS unit, i.seen_at AS at, i.seen_at AS line_at
    FROM main.spend_intraday AS i
    UNION ALL
    SELECT p.account_id, p.unit, p.started_at, NULL
    FROM ops.step AS p
    WHERE p.stream = 'spend_report' AND p.outcome = 'unchanged'
  ) AS r ON r.account_id = m.account_id AND r.unit = m.chicago_date::VARCHAR AND r.at < k.ends_at
  GROUP BY m.account_id, m.report_date, m.sign, m.chicago_date, m.at
),
close AS (
  SELECT
    a.*, CASE WHEN a.next_line = a.read_after THEN a.next_line ELSE a.line_before END AS line_after,
    (epoch(a.at) - epoch(a.read_before)) / (epoch(a.read_after) - epoch(a.read_before)) AS share
  FROM read_around AS a
  WHERE epoch(a.read_after) - epoch(a.read_before) <= 3600 * (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'curve_gap_hours')
),
-- What each campaign spent in the Chicago days, less what came before the day began, and up to where it ended. A campaign
-- without a line in a read had spent nothing by then.
part AS (
  SELECT s.account_id, s.report_date, c.campaign_id, c.spend, CASE WHEN c.rows_with_clicks = c.rows THEN c.clicks END AS clicks
  FROM span AS s
  JOIN mart.campaign_spend AS c ON c.account_id = s.account_id AND c.report_date = s.first_date
  UNION ALL
  SELECT s.account_id, s.report_date, c.campaign_id, c.spend, CASE WHEN c.rows_with_clicks = c.rows THEN c.clicks END
  FROM span AS s
  JOIN mart.campaign_spend AS c ON c.account_id = s.account_id AND c.report_date = s.last_date
  WHERE s.last_date > s.first_date AND NOT s.has_passed
  UNION ALL
  SELECT c.account_id, c.report_date, i.campaign_id, (c.weight * i.spend::DOUBLE)::DECIMAL(18, 6), c.weight * i.clicks
  FROM (
    SELECT n.account_id, n.report_date, n.chicago_date, n.line_before AS line_at, n.sign * (1 - n.share) AS weight FROM close AS n
    UNION ALL
    SELECT n.account_id, n.report_date, n.chicago_date, n.line_after, n.sign * n.share FROM close AS n
  ) AS c
  JOIN main.spend_intraday AS i ON i.account_id = c.account_id AND i.report_date = c.chicago_date AND i.seen_at = c.line_at
),
summed AS (
  SELECT p.account_id, p.report_date, p.campaign_id, sum(p.spend) AS spend, CASE WHEN count(p.clicks) = count(*) THEN sum(p.clicks) END AS clicks
  FROM part AS p
  GROUP BY p.account_id, p.report_date, p.campaign_id
),
read AS (
  SELECT
    s.*,
    CASE
      WHEN s.begins_within OR s.ends_within THEN s.has_passed
      ELSE coalesce(f.state IN ('complete', 'final') OR l.last_read_at >= s.ends_at, false)
    END AS is_over,
    CASE
      WHEN s.begins_within OR s.ends_within THEN
        coalesce(f.state IN ('complete', 'final') OR (f.state = 'open' AND s.first_date = s.today), false)
        AND (s.last_date = s.first_date OR s.last_date > s.today OR coalesce(l.state IN ('open', 'complete', 'final'), false))
        AND coalesce(n.known, 0) = CASE WHEN s.begins_within THEN 1 ELSE 0 END + CASE WHEN s.ends_within AND s.has_passed THEN 1 ELSE 0 END
      ELSE coalesce(f.state IN ('open', 'complete', 'final', 'partial'), false)
    END AS is_covered,
    l.last_read_at
  FROM span AS s
  LEFT JOIN ops.day_coverage AS f ON f.account_id = s.account_id AND f.report_date = s.first_date
  LEFT JOIN ops.day_coverage AS l ON l.account_id = s.account_id AND l.report_date = least(s.last_date, s.today)
  LEFT JOIN (SELECT e.account_id, e.report_date, count(*) AS known FROM close AS e GROUP BY e.account_id, e.report_date) AS n
    ON n.account_id = s.account_id AND n.report_date = s.report_date
)
SELECT
  r.account_id, r.report_date, c.campaign_id, r.starts_at, r.ends_at, r.settings_date, c.campaign_name, c.status, c.is_deleted, c.delivery_status,
  c.daily_spend_limit, c.is_assumed, c.settings_changed, c.settings_read_state, c.coverage_state, r.is_covered, r.is_over,
  CASE WHEN r.is_covered THEN r.last_read_at END AS as_of_at,
  CASE
    WHEN NOT r.is_covered THEN NULL
    WHEN r.is_over THEN 1.0::DOUBLE
    ELSE greatest(0, least(1, (epoch(r.last_read_at) - epoch(r.starts_at)) / (epoch(r.ends_at) - epoch(r.starts_at))))
  END AS day_elapsed,
  CASE WHEN r.is_covered THEN greatest(0, coalesce(s.spend, 0))::DECIMAL(18, 6) END AS spend,
  CASE WHEN NOT r.is_covered THEN NULL WHEN s.campaign_id IS NULL OR s.clicks < 0 THEN 0 ELSE s.clicks END AS clicks,
  CASE WHEN r.is_covered THEN greatest(0, coalesce(s.spend, 0))::DOUBLE / nullif(c.daily_spend_limit, 0)::DOUBLE END AS utilization
FROM read AS r
JOIN mart.campaign_day AS c ON c.account_id = r.account_id AND c.report_date = r.settings_date
LEFT JOIN summed AS s ON s.account_id = r.account_id AND s.report_date = r.report_date AND s.campaign_id = c.campaign_id
