-- Of known (is_before, last_read_at, ends_at, and apart: how many days there are to a day's
-- counterpart) the days before, as they were known when they were as old as their counterparts
-- are now; runs of the two are minutes apart, hence the two hours.
young AS (
  SELECT b.account_id, b.report_date, b.ends_at, to_timestamp(epoch(a.last_read_at) - 86400 * b.apart + 7200) AS known_at
  FROM known AS b
  JOIN known AS a ON a.account_id = b.account_id AND a.report_date = b.report_date + b.apart
  WHERE b.is_before
),
read AS (
  SELECT DISTINCT y.account_id, y.report_date
  FROM young AS y
  JOIN ops.step AS s ON s.account_id = y.account_id AND s.unit = y.report_date::VARCHAR AND s.started_at >= y.ends_at AND s.started_at <= y.known_at
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
),
-- Whether every known day before had been read whole by then.
aged AS (
  SELECT k.account_id, count(r.report_date) = count(*) AS is_known
  FROM known AS k
  LEFT JOIN read AS r ON r.account_id = k.account_id AND r.report_date = k.report_date
  WHERE k.is_before
  GROUP BY k.account_id
),
-- What changed since then, to be taken away.
later AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date,
    sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0)) AS spend, sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0)) AS conversions
  FROM main.spend_change AS s
  JOIN young AS y ON y.account_id = s.account_id AND y.report_date = s.report_date AND s.seen_at > y.known_at
  -- Once more as a constant: what lies before is not even read.
  WHERE s.report_date >= (SELECT min(y.report_date) FROM young AS y)
  GROUP BY s.account_id, s.campaign_id, s.report_date
),
