-- Is every day there?
-- Folded.
-- Block say
SELECT tone(c.state_now IN ('missing', 'partial'), c.state_now IN ('lost', 'incomplete')) AS tone,
  CASE WHEN count(*) = 0 THEN 'No day of the report has been planned yet: run spendsync sync.' ELSE tally(c.state_now)
    || coalesce('. Run spendsync sync: the first missing day leaves the report in ' || many(min(c.days_until_unreachable) FILTER (WHERE c.state_now IN ('missing', 'partial')), 'day'), '') || '. Averages and windows count whole days alone.' END AS text
FROM mart.coverage AS c
-- Block table
SELECT c.report_date AS key, on_day(c.report_date) AS "Day|day", c.state_now AS "State|chip", c.spend AS "Spend|money", c.rows AS "Rows|count", epoch_us(c.last_read_at) AS "Last read, Chicago|time", c.days_until_unreachable AS "Days left to ask|count", c.what_to_do AS "What to do|text"
FROM mart.coverage AS c ORDER BY c.report_date DESC LIMIT 91
