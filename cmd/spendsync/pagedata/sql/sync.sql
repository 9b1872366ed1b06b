-- Does the sync do well?
-- Folded.
-- Block say
SELECT tone(NOT d.passed AND d.severity = 'error', NOT d.passed) AS tone,
  CASE WHEN count(*) FILTER (WHERE NOT d.passed) = 0 THEN 'Every check of the data passed (' || count(*) FILTER (WHERE d.passed) || ').' ELSE count(*) FILTER (WHERE NOT d.passed) || ' of ' || count(*) || ' checks found something: ' || string_agg(replace(d.check_name, '_', ' '), ', ' ORDER BY d.severity, d.check_name) FILTER (WHERE NOT d.passed) || '.' END AS text
FROM mart.data_quality AS d WHERE d.unit <> 'hours'
-- Block table: Runs
SELECT r._run_id AS key, epoch_us(r.started_at) AS "Started, Chicago|time", r.command AS "Command|name", r.outcome AS "Outcome|chip", r.exit_code AS "Exit|count", (epoch_us(r.finished_at) - epoch_us(r.started_at)) / 1e6 AS "Seconds|number", r.days_planned AS "Days planned|count", r.days_proven AS "proven|count",
  r.days_changed AS "changed|count", r.restatements AS "Restatements|count", r.requests AS "Requests|count", r.retries AS "Retries|count", CASE WHEN r.exit_code <> 0 THEN r.message END AS "Message|text"
FROM ops.run AS r ORDER BY r._run_id DESC LIMIT 15
-- Block table: Checks
SELECT d.check_name AS key, replace(d.check_name, '_', ' ') AS "Check|name", CASE WHEN d.passed IS NULL THEN 'nothing to check' WHEN d.passed THEN 'passed' ELSE 'failed' END AS "Result|chip", d.severity AS "Grade|text", d.value AS "Found|number", d.threshold AS "Allowed|number", d.unit AS "of|text", d.action AS "What to do|text"
FROM mart.data_quality AS d WHERE d.unit <> 'hours' ORDER BY d.passed NULLS LAST, CASE d.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, d.check_name
