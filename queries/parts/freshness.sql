-- How fresh is what this warehouse says of each account, and is something missing?
-- Trap: it is as of now; what was published is as old as as_of_at, however often it is asked.
freshness AS (
  WITH read AS (
    SELECT
      c.account_id, max(c.last_read_at) AS as_of_at,
      max(c.report_date) FILTER (WHERE c.state_now IN ('complete', 'final')) AS last_whole_date,
      count(*) FILTER (WHERE c.state_now IN ('lost', 'incomplete')) AS days_lost
    FROM mart.coverage AS c
    GROUP BY c.account_id
  ),
  today AS (
    SELECT k.account_id, k.report_date
    FROM main.calendar AS k
    WHERE k.starts_at <= now() AND now() < k.ends_at
  ),
  gap AS (
    SELECT
      c.account_id, count(*) AS days_missing, min(c.report_date) AS oldest_gap_date,
      min(c.days_until_unreachable) AS days_left_for_gap, bool_or(c.is_urgent) AS is_urgent
    FROM mart.coverage AS c
    JOIN today AS t ON t.account_id = c.account_id AND c.report_date < t.report_date
    WHERE c.state_now IN ('missing', 'partial')
    GROUP BY c.account_id
  ),
  settings AS (
    SELECT
      h.account_id,
      count(*) FILTER (WHERE (epoch(now()) - epoch(h.last_confirmed_at)) / 3600
        > (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'stale_hours')) AS campaigns_unconfirmed
    FROM main.campaign_history AS h
    WHERE h.is_current AND NOT h.is_deleted AND h.status IS DISTINCT FROM 'archived' AND h.read_state <> 'stub'
    GROUP BY h.account_id
  ),
  run AS (
    SELECT r.account_id, r.finished_at, r.exit_code, r.outcome
    FROM ops.run AS r
    QUALIFY row_number() OVER (PARTITION BY r.account_id ORDER BY r.finished_at DESC, r._run_id DESC) = 1
  ),
  joined AS (
    SELECT
      r.*, g.oldest_gap_date, g.days_left_for_gap, coalesce(g.is_urgent, false) AS is_urgent, coalesce(g.days_missing, 0) AS days_missing,
      t.report_date - r.last_whole_date - 1 AS days_behind,
      (epoch(now()) - epoch(r.as_of_at)) / 3600 AS hours_old,
      coalesce((epoch(now()) - epoch(r.as_of_at)) / 3600 > (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'stale_hours'), true) AS is_stale,
      coalesce(s.campaigns_unconfirmed, 0) AS campaigns_unconfirmed, n.finished_at, n.exit_code, n.outcome
    FROM read AS r
    LEFT JOIN today AS t ON t.account_id = r.account_id
    LEFT JOIN gap AS g ON g.account_id = r.account_id
    LEFT JOIN settings AS s ON s.account_id = r.account_id
    LEFT JOIN run AS n ON n.account_id = r.account_id
  )
  SELECT
    j.account_id, j.as_of_at, j.hours_old, j.is_stale, j.last_whole_date, j.days_behind,
    j.days_missing, j.days_lost, j.oldest_gap_date, j.days_left_for_gap, j.campaigns_unconfirmed,
    j.finished_at AS last_run_at, j.exit_code AS last_run_exit_code, j.outcome AS last_run_outcome,
    CASE
      WHEN j.is_urgent THEN 'run spendsync sync now: a day leaves the reach of the report'
      WHEN j.is_stale THEN 'run spendsync sync: the numbers are old'
      WHEN j.days_missing > 0 THEN 'run spendsync sync: days are missing'
      WHEN j.campaigns_unconfirmed > 0 THEN 'see ops.entity_read: settings could not be read lately'
      ELSE 'nothing'
    END AS what_to_do
  FROM joined AS j
),
