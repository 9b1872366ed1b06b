-- Which day is it as of these numbers, and from when to when are this month and the last?
-- Trap: days are Chicago's, and today is the day on which the numbers were last read (as_of_at), not the day of your clock: current_date is another day for hours, and of an old file for days. Use it in place of current_date.
-- Column today: Chicago day of as_of_at. It was still going on then: it is not in main.spend.
-- Column yesterday: Day before it, whether or not it is known whole.
-- Column as_of_at: When the newest numbers here were read.
-- Column month_from: First day of the month of last_whole_date.
-- Column month_to: Last day of that month that is proven complete: last_whole_date.
-- Column last_month_from: First day of the month before it.
-- Column last_month_to: Last day of the month before it.
WITH read AS (
  SELECT
    c.account_id, max(c.last_read_at) AS as_of_at, max(c.report_date) FILTER (WHERE c.state IN ('complete', 'final')) AS last_whole_date
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
)
SELECT
  r.account_id, k.report_date AS today, k.report_date - 1 AS yesterday, r.as_of_at, r.last_whole_date,
  date_trunc('month', r.last_whole_date)::DATE AS month_from, r.last_whole_date AS month_to,
  (date_trunc('month', r.last_whole_date) - INTERVAL 1 MONTH)::DATE AS last_month_from,
  date_trunc('month', r.last_whole_date)::DATE - 1 AS last_month_to
FROM read AS r
JOIN main.calendar AS k ON k.account_id = r.account_id AND r.as_of_at >= k.starts_at AND r.as_of_at < k.ends_at
