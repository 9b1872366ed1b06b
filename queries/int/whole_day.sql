-- Which days are known as a whole, and since when?
-- Trap: a day that is not over is in ops.day_coverage alone. That table has new times after every run, and these rows seldom change: what follows from them is not made again each hour.
-- Column state: How well the day is known: complete, or final where the report no longer reaches it.
-- Column first_date: Chicago day of the first read after its end, as far as the coverage tells.
-- Column last_date: Chicago day of its last read. NULL: when it was read is not known.
SELECT
  c.account_id, c.report_date, c.state,
  CASE WHEN c.first_read_at >= k.ends_at THEN a.report_date ELSE z.report_date END AS first_date, z.report_date AS last_date,
  coalesce(epoch(c.last_read_at) - epoch(k.ends_at) >= 86400, true) AS is_a_day_old
FROM ops.day_coverage AS c
LEFT JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
LEFT JOIN main.calendar AS a ON a.account_id = c.account_id AND a.starts_at <= c.first_read_at AND c.first_read_at < a.ends_at
LEFT JOIN main.calendar AS z ON z.account_id = c.account_id AND z.starts_at <= c.last_read_at AND c.last_read_at < z.ends_at
WHERE c.state IN ('complete', 'final')
