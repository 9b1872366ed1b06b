-- Is every day there?
-- Folded.
-- Block say
SELECT tone(c.state_now IN ('missing', 'partial'), c.state_now IN ('lost', 'incomplete')) AS tone,
  CASE WHEN count(*) = 0 THEN 'No day of the report has been planned yet: run spendsync sync.' ELSE tally(c.state_now)
    || coalesce('. Run spendsync sync: the first missing day leaves the report in ' || many(min(c.days_until_unreachable) FILTER (WHERE c.state_now IN ('missing', 'partial')), 'day'), '') || '. Averages and windows count whole days alone.' END AS text
FROM mart.coverage AS c
-- Block heat: ● final, ◐ complete so far or open, ✗ missing, lost or partial
SELECT 'Week of ' || strftime(date_trunc('week', c.report_date), '%-d %b') AS row, strftime(c.report_date, '%a') AS "column", strftime(c.report_date, '%-d') || CASE c.state WHEN 'final' THEN ' ●' WHEN 'complete' THEN ' ◐' WHEN 'open' THEN ' ◐' ELSE ' ✗' END AS "value|text",
  c.state, on_day(c.report_date) || ': ' || c.state AS title, date_trunc('week', c.report_date) AS key, isodow(c.report_date) AS place
FROM ops.day_coverage AS c WHERE c.report_date > (SELECT max(o.report_date) - 91 FROM ops.day_coverage AS o) ORDER BY key, isodow(c.report_date)
-- Block table
SELECT c.report_date AS key, on_day(c.report_date) AS "Day|day", c.state_now AS "State|chip", c.spend AS "Spend|money", c.rows AS "Rows|count", epoch_us(c.last_read_at) AS "Last read, Chicago|time", c.days_until_unreachable AS "Days left to ask|count", c.what_to_do AS "What to do|text"
FROM mart.coverage AS c ORDER BY c.report_date DESC LIMIT 91
