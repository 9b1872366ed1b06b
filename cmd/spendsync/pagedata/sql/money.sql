-- How long does the money last?
-- Folded.
-- Block say
SELECT CASE r.verdict WHEN 'stopped' THEN 'act' WHEN 'stops_soon' THEN 'act' WHEN 'low' THEN 'watch' WHEN 'unknown' THEN 'unknown' ELSE 'fine' END AS tone, upper(r.reason[1]) || r.reason[2:] || '.' || coalesce(' ' || upper(r.action[1]) || r.action[2:] || '.', '') AS text, r.at_stake
FROM mart.budget_runway AS r
-- Block line: The balance to come
WITH ahead AS (SELECT r.*, least(60, ceil(greatest(7, 1.1 * coalesce(r.days_until_stop, 7)))) AS days, (SELECT max(c.report_date) FROM ops.day_coverage AS c) AS today FROM mart.budget_runway AS r WHERE r.balance IS NOT NULL AND NOT coalesce(r.is_auto_funded, false)),
pace AS (
  SELECT a.today, a.days, a.balance, a.balance_stop, 'at your pace' AS series, 0 AS place, a.expected_daily_spend::DOUBLE AS pace, 'solid' AS style FROM ahead AS a WHERE a.expected_daily_spend > 0
  UNION ALL SELECT a.today, a.days, a.balance, a.balance_stop, 'at full limits', 1, a.full_limits_spend::DOUBLE, 'dotted' FROM ahead AS a WHERE a.full_limits_spend > 0
)
SELECT p.today + d.n::INTEGER AS x, p.series, p.place, CASE WHEN p.balance::DOUBLE - (d.n - 1) * p.pace > p.balance_stop THEN greatest(p.balance_stop::DOUBLE, p.balance::DOUBLE - d.n * p.pace) END AS "value|money", p.style
FROM pace AS p CROSS JOIN range(0, 61) AS d(n) WHERE d.n <= p.days ORDER BY p.place, x
-- Block table
SELECT v.key, v.what AS "What|name", v.amount AS "US dollars|money", v.days AS "Days|number" FROM (
  SELECT 1 AS n, 'balance' AS key, 'Balance' AS what, r.balance AS amount, NULL AS days FROM mart.budget_runway AS r
  UNION ALL SELECT 2, 'stop', 'Campaigns stop below', r.balance_stop, NULL FROM mart.budget_runway AS r
  UNION ALL SELECT 3, 'expected', 'A day, by the campaigns that are active', r.expected_daily_spend, r.days_until_stop FROM mart.budget_runway AS r
  UNION ALL SELECT 4, 'mean', 'A day, the recent mean', r.mean_daily_spend, NULL FROM mart.budget_runway AS r
  UNION ALL SELECT 5, 'full', 'A day with all limits used up', r.full_limits_spend, r.days_at_full_limits FROM mart.budget_runway AS r
  UNION ALL SELECT 6, 'service', 'Days left in the service’s words', NULL, r.api_days_left FROM mart.budget_runway AS r) AS v
ORDER BY v.n
