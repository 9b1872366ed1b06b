-- Is everything there, how old is it, and what should be done?
-- Trap: it is as of now, not as of the last sync; a day that is there may still be restated, and settings are seen only when a sync reads them.
-- Shown: what_to_do, gaps, days_left_for_gap, is_stale, hours_old, last_whole_date
-- Column as_of_at: When the newest numbers here were read. NULL: none were.
-- Column hours_old: Hours since then.
-- Column is_stale: Whether that is longer than threshold stale_hours, or nothing was ever read.
-- Column days_missing: Days not read, or last read before they were over, that can still be read; today is not counted.
-- Column days_lost: Days that were never proven complete and can no longer be read.
-- Column days_left_for_gap: Days left in which that one can be read, today included.
-- Column campaigns_unconfirmed: Campaigns, neither archived nor deleted, whose settings were last confirmed longer ago than threshold stale_hours.
-- Column last_run_at: When the last run that is known here ended.
-- Column last_run_exit_code: How it ended: 'spendsync help config' lists the exit codes.
-- Column what_to_do: What to do first.
WITH today AS (
  SELECT k.account_id, k.report_date
  FROM main.calendar AS k
  WHERE k.starts_at <= now() AND now() < k.ends_at
),
day AS (
  SELECT
    c.*, c.state_now IN ('complete', 'final') AS is_whole, c.state_now IN ('lost', 'incomplete') AS is_lost,
    c.state_now IN ('missing', 'partial') AND c.report_date < t.report_date AS is_gap
  FROM mart.coverage AS c
  LEFT JOIN today AS t ON t.account_id = c.account_id
),
read AS (
  SELECT
    d.account_id, max(d.last_read_at) AS as_of_at, (epoch(now()) - epoch(max(d.last_read_at))) / 3600 AS hours_old,
    max(d.report_date) FILTER (WHERE d.is_whole) AS last_whole_date, count(*) FILTER (WHERE d.is_whole) AS days_whole,
    count(*) FILTER (WHERE d.is_whole AND d.control_total_state = 'matched') AS days_matched,
    count(*) FILTER (WHERE d.is_gap) AS days_missing, count(*) FILTER (WHERE d.is_lost) AS days_lost,
    min(d.days_until_unreachable) FILTER (WHERE d.is_gap) AS days_left_for_gap, coalesce(bool_or(d.is_urgent AND d.is_gap), false) AS is_urgent,
    string_agg(d.report_date || ' ' || CASE WHEN d.doubt = 'doubtful' THEN d.doubt ELSE d.state_now END, ', ' ORDER BY d.report_date)
      FILTER (WHERE d.doubt = 'doubtful' OR d.is_lost OR d.is_gap) AS gaps
  FROM day AS d
  GROUP BY d.account_id
),
level AS (
  SELECT t.value AS stale_hours FROM int.threshold AS t WHERE t.name = 'stale_hours'
),
settings AS (
  SELECT h.account_id, count(*) FILTER (WHERE (epoch(now()) - epoch(h.last_confirmed_at)) / 3600 > l.stale_hours) AS campaigns_unconfirmed
  FROM main.campaign_versions AS h
  CROSS JOIN level AS l
  WHERE h.is_current AND NOT h.is_deleted AND h.status IS DISTINCT FROM 'archived' AND h.read_state <> 'stub'
  GROUP BY h.account_id
),
run AS (
  SELECT r.account_id, r.finished_at, r.exit_code
  FROM ops.run AS r
  QUALIFY row_number() OVER (PARTITION BY r.account_id ORDER BY r.finished_at DESC, r._run_id DESC) = 1
),
fresh AS (
  SELECT
    r.*, coalesce(r.hours_old > l.stale_hours, true) AS is_stale, coalesce(s.campaigns_unconfirmed, 0) AS campaigns_unconfirmed,
    n.finished_at AS last_run_at, n.exit_code AS last_run_exit_code
  FROM read AS r
  CROSS JOIN level AS l
  LEFT JOIN settings AS s ON s.account_id = r.account_id
  LEFT JOIN run AS n ON n.account_id = r.account_id
)
SELECT
  f.account_id, f.as_of_at, f.hours_old::DECIMAL(18,1) AS hours_old, f.is_stale, f.last_whole_date,
  f.days_whole, f.days_matched, f.days_missing, f.days_lost, f.gaps, f.days_left_for_gap,
  f.campaigns_unconfirmed, f.last_run_at, f.last_run_exit_code,
  CASE
    WHEN f.is_urgent THEN 'run spendsync sync now: a day leaves the reach of the report'
    WHEN f.is_stale THEN 'run spendsync sync: the numbers are old'
    WHEN f.days_missing > 0 THEN 'run spendsync sync: days are missing'
    WHEN f.campaigns_unconfirmed > 0 THEN 'see ops.entity_read: settings could not be read lately'
    ELSE 'nothing'
  END AS what_to_do
FROM fresh AS f
ORDER BY f.account_id
