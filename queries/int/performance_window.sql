-- Which days are sources and creatives judged by?
-- Trap: the window counts back from the last day that is proven complete, not from today; days in it that are not proven complete are missing here.
-- Column report_date: Chicago calendar day within the window that is proven complete (complete or final).
WITH bounds AS (
  SELECT
    c.account_id, max(c.report_date) AS window_to,
    max(c.report_date) - (SELECT t.value FROM int.threshold AS t WHERE t.name = 'performance_days')::INTEGER + 1 AS window_from
  FROM int.whole_day AS c
  GROUP BY c.account_id
)
SELECT
  c.account_id, c.report_date, b.window_from, b.window_to,
  count(*) OVER (PARTITION BY c.account_id) AS days_known
FROM int.whole_day AS c
JOIN bounds AS b ON b.account_id = c.account_id AND c.report_date BETWEEN b.window_from AND b.window_to
