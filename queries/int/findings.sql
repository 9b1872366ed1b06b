-- What is wrong that somebody should hear of?
-- Trap: it is as of now, of the published generation; a row that is not new enough to be told of (begins is false) only keeps one going that was told of, so that a number near its line is not told again and again. A change of settings is an event: it has no end.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'urgent_days') AS urgent_days, max(t.value) FILTER (WHERE t.name = 'notify_block_loss') AS block_loss,
    max(t.value) FILTER (WHERE t.name = 'notify_leak') AS leak
  FROM int.threshold AS t
),
day AS (
  SELECT
    c.account_id, CASE WHEN c.state_now IN ('lost', 'incomplete') THEN 'day_lost' ELSE 'day_at_risk' END AS kind, c.report_date::VARCHAR AS place,
    c.report_date AS since_date, true AS begins,
    CASE
      WHEN c.state_now = 'lost' THEN 'the spend of ' || c.report_date || ' was never read and has left the report: it is lost'
      WHEN c.state_now = 'incomplete' THEN 'the spend of ' || c.report_date || ' was read only in part and has left the report: the rest is lost'
      ELSE 'the spend of ' || c.report_date || ' is not proven complete, and the report has it for ' || c.days_until_unreachable || CASE c.days_until_unreachable WHEN 1 THEN ' more day' ELSE ' more days' END || ', today included'
    END AS happened,
    CASE WHEN c.state_now IN ('lost', 'incomplete') THEN 'find out why, so that it does not happen to the next day: spendsync status'
      ELSE 'find out today why it cannot be read: spendsync status' END AS what_to_do
  FROM mart.coverage AS c
  WHERE c.state_now IN ('lost', 'incomplete') OR (c.is_urgent AND c.state_now IN ('missing', 'partial'))
),
-- Empty replies that do not prove a day empty, of the last run that read days.
silent AS (
  SELECT
    s.account_id, 'day_silent' AS kind, '' AS place, min(s.unit)::DATE AS since_date, true AS begins,
    min(s.message) AS happened, 'see whether the user of the report still has its rights, and belongs to this account: spendsync check' AS what_to_do
  FROM ops.step AS s
  WHERE s.outcome = 'silent'
    AND s._run_id = (SELECT max(r._run_id) FROM ops.step AS r WHERE r.account_id = s.account_id AND r.stream = s.stream)
  GROUP BY s.account_id
),
money AS (
  SELECT
    r.account_id, 'runway' AS kind, '' AS place, NULL::DATE AS since_date, r.days_until_stop < l.urgent_days AS begins,
    r.reason AS happened, coalesce(r.action, 'add money before then') || ': spendsync query runway' AS what_to_do
  FROM mart.budget_runway AS r
  CROSS JOIN level AS l
  WHERE r.days_until_stop < l.urgent_days + 1
),
broken AS (
  SELECT
    b.account_id, 'break' AS kind, b.kind || ' ' || b.campaign_id AS place, b.since_date, true AS begins,
    '“' || coalesce(b.campaign_name, b.campaign_id) || '”: ' || b.reason AS happened, b.action
  FROM mart.breaks AS b
),
leaked AS (
  SELECT
    s.account_id, 'leak' AS kind, s.kind || ' ' || s.campaign_id AS place, min(s.report_date) AS since_date,
    sum(s.spend) >= any_value(l.leak) AS begins,
    CASE s.kind WHEN 'campaign' THEN '' WHEN 'creative' THEN 'stopped creatives of ' ELSE 'stopped sources of ' END
      || '“' || coalesce(any_value(s.campaign_name), s.campaign_id) || '”' || CASE s.kind WHEN 'campaign' THEN ', which is stopped,' ELSE '' END
      || ' still cost $' || printf('%.2f', sum(s.spend)) || ' since ' || min(s.report_date) AS happened,
    'ask the service why it bills them: spendsync query spend_on_stopped --param from_date=' || min(s.report_date) || ' --param to_date=' || max(s.report_date) AS what_to_do
  FROM main.spend_on_stopped((SELECT min(t.last_whole_date) - 4 FROM main.today AS t), DATE '9999-12-31') AS s
  CROSS JOIN level AS l
  WHERE s.is_leak AND s.report_date > (SELECT max(c.report_date) - 4 FROM int.whole_day AS c WHERE c.account_id = s.account_id)
  GROUP BY s.account_id, s.kind, s.campaign_id
),
losing AS (
  SELECT
    p.account_id, 'loses' AS kind, p.campaign_id AS place, NULL::DATE AS since_date, p.verdict = 'loses' AS begins,
    '“' || coalesce(p.campaign_name, p.campaign_id) || '”' || CASE p.verdict WHEN 'loses' THEN ' loses' ELSE '' END || ': ' || p.reason AS happened,
    coalesce(p.action, 'wait until it is clear') || ': spendsync query which_campaigns_pay' AS what_to_do
  FROM mart.campaign_performance AS p
  WHERE p.campaign_status = 'active' AND (p.verdict = 'loses' OR (p.verdict IN ('unclear', 'broken_tracking', 'unknown') AND coalesce(p.excess_spend > 0, true)))
),
blocked AS (
  SELECT
    b.account_id, 'block' AS kind, '' AS place, NULL::DATE AS since_date, sum(b.at_stake) >= any_value(l.block_loss) AS begins,
    any_value(b.sources) || CASE any_value(b.sources) WHEN 1 THEN ' source loses $' ELSE ' sources lose $' END || printf('%.2f', sum(b.at_stake ORDER BY b.at_stake)) || ' a day against what the money should bring' AS happened,
    'block those at the top of the list: spendsync query sources_to_block' AS what_to_do
  FROM mart.source_block_candidates AS b
  CROSS JOIN level AS l
  GROUP BY b.account_id
  HAVING sum(b.at_stake) >= 0.5 * any_value(l.block_loss)
),
changed AS (
  SELECT
    c.account_id, 'settings' AS kind, strftime(make_timestamp(epoch_us(c.seen_at)), '%Y-%m-%dT%H:%M:%SZ') AS place, NULL::DATE AS since_date, true AS begins,
    count(*) || CASE count(*) WHEN 1 THEN ' setting' ELSE ' settings' END || ' changed, ' || CASE count(*) WHEN 1 THEN '' ELSE 'for example ' END
      || arg_min(replace(c.kind, '_', ' ') || coalesce(' ' || c.field, '') || ' of “' || coalesce(c.campaign_name, c.campaign_id) || '”'
        || coalesce(' from ' || regexp_replace(c.old_value, '([.][0-9][0-9])0+$', '\1'), '') || coalesce(' to ' || regexp_replace(c.new_value, '([.][0-9][0-9])0+$', '\1'), ''), c.campaign_id || c.kind || coalesce(c.field, '')) AS happened,
    'if it was not you, see who can change the account: spendsync query settings_changed' AS what_to_do
  FROM mart.change_log AS c
  WHERE c.kind <> 'delivery' AND epoch(c.seen_at) > (SELECT max(epoch(r.finished_at)) FROM ops.run AS r WHERE r.account_id = c.account_id) - 86400 * 2
    -- Leave out the service's own review of a creative: no person made that change.
    AND NOT (c.kind = 'creative' AND (c.field LIKE 'pending%' OR c.field LIKE 'rejection%' OR coalesce(c.old_value, '') = 'pending_review' OR coalesce(c.new_value, '') = 'rejected'))
  GROUP BY c.account_id, c.seen_at
),
-- New keys in replies, one row for each run. The keys of the account's first run are not new.
second_run AS (
  SELECT r.account_id, r.started_at
  FROM ops.run AS r
  QUALIFY row_number() OVER (PARTITION BY r.account_id ORDER BY r._run_id) = 2
),
key_seen AS (
  SELECT
    u.account_id, 'key' AS kind, strftime(u.first_seen_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS place, NULL::DATE AS since_date, true AS begins,
    'the service sends ' || CASE count(*) WHEN 1 THEN 'a new key' ELSE count(*) || ' new keys, for example' END || ' “' || arg_min(u.path, u.path) || '” in ' || arg_min(u.stream, u.path) AS happened,
    'it is kept and not read; look for a newer spendsync: spendsync query ops.unknown_field' AS what_to_do
  FROM ops.unknown_field AS u
  JOIN second_run AS s ON s.account_id = u.account_id AND s.started_at <= u.first_seen_at
  WHERE epoch(u.first_seen_at) > (SELECT max(epoch(r.finished_at)) FROM ops.run AS r WHERE r.account_id = u.account_id) - 86400 * 2
  GROUP BY u.account_id, u.first_seen_at
),
found AS (
  SELECT d.* FROM day AS d
  UNION ALL SELECT q.* FROM silent AS q
  UNION ALL SELECT k.* FROM key_seen AS k
  UNION ALL SELECT m.* FROM money AS m
  UNION ALL SELECT b.* FROM broken AS b
  UNION ALL SELECT l.* FROM leaked AS l
  UNION ALL SELECT p.* FROM losing AS p
  UNION ALL SELECT s.* FROM blocked AS s
  UNION ALL SELECT c.* FROM changed AS c
)
SELECT f.account_id, f.kind, f.place, f.since_date, f.begins, f.happened, f.what_to_do
FROM found AS f
ORDER BY f.account_id, f.kind, f.place
