-- Which days are known, which can still be fetched or repaired, until when, and what should be done?
-- Trap: it is as of now, not as of the last sync: a day after the last sync is missing, and one may have left the reach since.
-- Column state_now: open: read, and the day is not over; complete: read after it was over, may be restated; final: complete and out of reach; partial: last read before it was over, or without rows that cannot be stored; missing: not read, still readable; lost: never read and no longer readable; incomplete: partial and no longer readable.
-- Column days_until_unreachable: Days left in which the report can be asked for this day, today included; 0: no more. As of now.
-- Column is_urgent: Whether a sync must read the day within threshold urgent_days.
-- Column what_to_do: What to do.
-- Column hours_since_read: Hours since the last proven read. NULL: none.
-- Column spend: US dollars stored for the day. NULL: unknown.
-- Column clicks: Clicks stored for the day. NULL: unknown.
-- Column doubt: doubtful: the day is stored, and something speaks against it: marts go on with it, and every run reads it again; accepted: a person has accepted it. NULL: nothing speaks against it.
-- Column partial_why: Why a partial day is partial, or a doubtful one doubtful. NULL: it is neither.
WITH today AS (
  SELECT k.account_id, k.report_date
  FROM main.calendar AS k
  WHERE k.starts_at <= now() AND now() < k.ends_at
),
since AS (
  SELECT c.account_id, min(c.report_date) AS first_date, max(c.report_date) AS last_date,
    -- The newest day is the day of the sync, so its days_until_unreachable shows how far back the service answers.
    nullif(arg_max(c.days_until_unreachable, c.report_date), 0) - 1 AS reach_days
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
),
day AS (
  SELECT
    s.account_id, k.report_date, k.ends_at,
    -- report_reach_days: The spend report reaches this many days back from today and no further.
    greatest(0, k.report_date - t.report_date + 1 + least(s.reach_days, 32 /* report_reach_days */)) AS days_left
  FROM since AS s
  LEFT JOIN today AS t ON t.account_id = s.account_id
  JOIN main.calendar AS k
    ON k.account_id = s.account_id AND k.report_date >= s.first_date AND k.report_date <= greatest(t.report_date, s.last_date)
),
known AS (
  SELECT
    d.*, c.first_read_at, c.last_read_at, coalesce(c.reads, 0) AS reads, coalesce(c.rows, 0) AS rows, c.spend, c.clicks,
    coalesce(c.control_total_state, 'unread') AS control_total_state, c.doubt, c.partial_why,
    CASE
      WHEN c.last_read_at IS NULL AND d.days_left > 0 THEN 'missing'
      WHEN c.last_read_at IS NULL THEN 'lost'
      WHEN c.state = 'partial' AND d.days_left > 0 THEN 'partial'
      WHEN c.state = 'partial' THEN 'incomplete'
      WHEN c.last_read_at >= d.ends_at AND d.days_left > 0 THEN 'complete'
      WHEN c.last_read_at >= d.ends_at THEN 'final'
      WHEN now() < d.ends_at THEN 'open'
      WHEN d.days_left > 0 THEN 'partial'
      ELSE 'incomplete'
    END AS state_now
  FROM day AS d
  LEFT JOIN ops.day_coverage AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
)
SELECT
  k.account_id, k.report_date, k.state_now, k.days_left AS days_until_unreachable,
  k.state_now IN ('missing', 'partial') AND k.days_left <= (SELECT t.value FROM int.threshold AS t WHERE t.name = 'urgent_days') AS is_urgent,
  CASE
    WHEN k.doubt = 'doubtful' THEN 'see partial_why: ' || CASE WHEN k.days_left > 0 THEN 'spendsync sync reads it again, and ' ELSE '' END || '''spendsync repair accept ' || k.report_date || ''' accepts it'
    WHEN k.state_now = 'final' THEN 'nothing'
    WHEN k.state_now = 'complete' THEN 'nothing: every sync reads it again while it may change'
    WHEN k.state_now = 'open' THEN 'nothing: syncs read it until it is over'
    WHEN k.state_now IN ('missing', 'partial') AND now() < k.ends_at THEN 'run spendsync sync; the day is not over'
    WHEN k.state_now IN ('missing', 'partial') AND k.days_left = 1 THEN 'run spendsync sync today: it is the last day on which this one can be read'
    WHEN k.state_now IN ('missing', 'partial') THEN 'run spendsync sync within ' || k.days_left || ' days, today included'
    WHEN k.state_now = 'incomplete' THEN 'nothing: what was read before the day was over is all that will ever be known'
    ELSE 'nothing: the report no longer reaches this day'
  END AS what_to_do,
  k.first_read_at, k.last_read_at, (epoch(now()) - epoch(k.last_read_at)) / 3600 AS hours_since_read,
  k.reads, k.rows, k.spend, k.clicks, k.control_total_state, k.doubt, k.partial_why
FROM known AS k
