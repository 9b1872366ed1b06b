-- When was each day of the week before as old as its counterpart of the last week is now, and had it been read whole by then?
-- Trap: runs of the two are minutes apart, hence the two hours; int.later_change has what changed since.
-- Column known_at: The instant at which it was as old. NULL: its counterpart is not known.
-- Column is_read: Whether it had been read whole by then.
WITH known AS (
  SELECT w.account_id, w.report_date, c.last_read_at, k.ends_at, w.window_to, l.recent
  FROM int.performance_window AS w
  CROSS JOIN (SELECT t.value::INTEGER AS recent FROM int.threshold AS t WHERE t.name = 'recent_days') AS l
  JOIN ops.day_coverage AS c ON c.account_id = w.account_id AND c.report_date = w.report_date
  JOIN main.calendar AS k ON k.account_id = w.account_id AND k.report_date = w.report_date
  WHERE w.report_date > w.window_to - 2 * l.recent
),
aged AS (
  SELECT b.account_id, b.report_date, b.ends_at, to_timestamp(epoch(a.last_read_at) - 86400 * b.recent + 7200) AS known_at
  FROM known AS b
  LEFT JOIN known AS a ON a.account_id = b.account_id AND a.report_date = b.report_date + b.recent
  WHERE b.report_date <= b.window_to - b.recent
),
read AS (
  SELECT DISTINCT y.account_id, y.report_date
  FROM aged AS y
  JOIN ops.step AS s ON s.account_id = y.account_id AND s.unit = y.report_date::VARCHAR AND s.started_at >= y.ends_at AND s.started_at <= y.known_at
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
)
SELECT y.account_id, y.report_date, y.known_at, r.report_date IS NOT NULL AS is_read
FROM aged AS y
LEFT JOIN read AS r ON r.account_id = y.account_id AND r.report_date = y.report_date
