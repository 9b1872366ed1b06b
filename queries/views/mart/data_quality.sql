-- Can the numbers be relied on, and if not, what should be done?
-- Trap: checks of numbers look at the performance window alone; a check that passes proves only what it counts.
-- Column check_name: What is checked.
-- Column severity: error: numbers are wrong or lost; warning: answers may mislead; info: to be known.
-- Column passed: Whether value is not above threshold. NULL: there was nothing to check.
-- Column value: What was counted, in unit. NULL: there was nothing to check.
-- Column threshold: The largest value that passes.
-- Column unit: What value counts.
-- Column meaning: What the check counts, in words.
-- Column what_to_do: What to do where the check does not pass.
WITH checks (check_name, severity, threshold, unit, meaning, what_to_do) AS (
  VALUES
    ('keys_unique', 'error', 0, 'rows', 'Rows of spend_daily beyond the distinct keys that were proven when their day was read.', 'Run spendsync verify; spendsync rebuild makes the file again from Parquet.'),
    ('day_sums_agree', 'error', 0, 'days', 'Days whose spend in spend_daily is not what was proven when they were read.', 'Run spendsync verify; spendsync rebuild makes the file again from Parquet.'),
    ('measures_not_negative', 'warning', 0, 'rows', 'Rows with less than 0 spend, clicks, impressions or conversions.', 'Ask the service what they stand for; sums contain them as they are.'),
    ('clicks_told', 'warning', 0, 'rows', 'Rows without a number of clicks.', 'CPC and CTR of these rows are unknown; look at the replies in raw.'),
    ('impressions_told', 'warning', 0, 'rows', 'Rows without a number of impressions.', 'CTR of these rows is unknown; look at the replies in raw.'),
    ('conversions_told', 'warning', 0, 'rows', 'Rows without a number of conversions.', 'CPA of their sources is unknown, so none of them is a candidate; look at the replies in raw.'),
    ('spend_has_campaign', 'warning', 0, 'US dollars', 'Spend of rows that name no campaign.', 'Ask the service what it was spent on.'),
    ('spend_has_creative', 'warning', 0, 'US dollars', 'Spend of rows that name no creative.', 'It belongs to no creative; ask the service.'),
    ('spend_has_source', 'warning', 0, 'US dollars', 'Spend of rows that name no source.', 'It can neither be blocked nor bid for; ask the service.'),
    ('spend_has_clicks', 'warning', 0, 'US dollars', 'Spend of rows with 0 clicks, though bids are per click.', 'Ask the service; a credit or a correction may be under way.'),
    ('clicks_within_impressions', 'warning', 0, 'rows', 'Rows with more clicks than impressions.', 'Expect late impressions or invalid clicks; their CTR means nothing.'),
    ('conversions_within_clicks', 'warning', 0, 'rows', 'Rows with more conversions than clicks.', 'See whether a conversion is reported more than once a click.'),
    ('campaigns_convert', 'warning', 0, 'campaigns', 'Campaigns with spend for block_spend_in_targets conversions (at their target CPA, else the account''s CPA) and none at all.', 'See whether their conversions reach the service, before blocking sources.'),
    ('campaigns_unbroken', 'warning', 0, 'campaigns', 'Active campaigns whose conversions, spend, CTR or delivery broke lately.', 'See mart.breaks before following any advice about them.'),
    ('restated_share', 'warning', NULL, 'share of spend', 'Spend that was restated after its day was over, up or down, as a share of all spend.', 'Wait longer before deciding on young days; see mart.restatements.'),
    ('days_missing', 'error', 0, 'days', 'Days that were never proven and can still be read.', 'Run spendsync sync; spendsync status shows by when.'),
    ('days_lost', 'warning', 0, 'days', 'Days that were never proven and can no longer be read.', 'They cannot be read again; leave them out of averages.'),
    ('days_partial', 'warning', 0, 'days', 'Days that were last read before they were over.', 'Run spendsync sync; they hold less than the whole day.'),
    ('control_totals_known', 'warning', 0, 'days', 'Days proven complete for which the service could not be asked for its own total.', 'Run spendsync backfill for these days while they can be read.'),
    ('report_fresh', 'error', NULL, 'hours', 'Time since a day was last read.', 'Find out why no run succeeded: spendsync status.'),
    ('settings_fresh', 'warning', NULL, 'hours', 'Time since the campaign that waits longest was confirmed, archived ones aside.', 'See ops.entity_read for what cannot be read.'),
    ('bids_fresh', 'warning', NULL, 'hours', 'Time since the campaign that waits longest had its bids per source read, archived ones aside.', 'Do not rely on bid_override of these campaigns; see source_mode.'),
    ('bids_read', 'warning', 0, 'campaigns', 'Campaigns whose bids per source were never readable, archived ones aside.', 'Their bids per source are unknown; look at the dashboard.'),
    ('settings_known', 'warning', 0, 'campaigns and creatives', 'Campaigns and creatives with settings that were never readable, or that only the report knows.', 'Their settings are unknown; look at the dashboard.'),
    ('entities_read', 'warning', 0, 'reads', 'Settings that the last sync could not read.', 'See ops.entity_read; the next sync tries again.'),
    ('values_known', 'warning', 0, 'campaigns, creatives and sources', 'Statuses and modes now in force that the service''s description does not name.', 'Look them up with the service; filters on status may leave them out.'),
    ('fields_known', 'info', 0, 'fields', 'Keys in the replies that the service''s description does not name.', 'Nothing is lost, they are in raw; report them to the maintainers.'),
    ('last_run_succeeded', 'error', 0, 'exit code', 'Exit code of the last run; it is 0 when everything planned was published.', 'See ops.run for its message; spendsync help config lists the exit codes.')
),
settings AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'restated_share_max') AS restated_share_max,
    max(t.value) FILTER (WHERE t.name = 'stale_hours') AS stale_hours,
    max(t.value) FILTER (WHERE t.name = 'bids_stale_hours') AS bids_stale_hours,
    max(t.value) FILTER (WHERE t.name = 'block_spend_in_targets') AS targets
  FROM mart.threshold AS t
),
accounts AS (
  SELECT c.account_id FROM ops.day_coverage AS c
  UNION
  SELECT r.account_id FROM ops.run AS r
),
-- One pass over the window's rows.
by_campaign AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id,
    coalesce(sum(s.spend) FILTER (WHERE s.creative_id = ''), 0) AS no_creative, coalesce(sum(s.spend) FILTER (WHERE s.source_id = ''), 0) AS no_source,
    count(*) AS n, sum(s.spend) AS spend,
    count(*) FILTER (WHERE s.spend < 0 OR s.clicks < 0 OR s.impressions < 0 OR s.conversions < 0) AS negative,
    count(*) - count(s.clicks) AS no_clicks, count(*) - count(s.impressions) AS no_impressions, count(*) - count(s.conversions) AS no_conversions,
    sum(s.spend) FILTER (WHERE s.clicks = 0) AS spend_unclicked,
    count(*) FILTER (WHERE s.clicks > s.impressions) AS clicks_over,
    count(*) FILTER (WHERE s.conversions > s.clicks) AS conversions_over,
    sum(s.conversions) AS conversions
  FROM main.spend_daily AS s
  JOIN mart.performance_window AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
  GROUP BY s.account_id, s.report_date, s.campaign_id
),
by_account AS (
  SELECT
    k.account_id,
    sum(k.negative) AS negative,
    sum(k.no_clicks) AS no_clicks, sum(k.no_impressions) AS no_impressions, sum(k.no_conversions) AS no_conversions,
    sum(k.spend) AS spend, sum(k.conversions) AS conversions,
    coalesce(sum(k.spend) FILTER (WHERE k.campaign_id = ''), 0) AS no_campaign,
    sum(k.no_creative) AS no_creative, sum(k.no_source) AS no_source,
    coalesce(sum(k.spend_unclicked), 0) AS unclicked,
    sum(k.clicks_over) AS clicks_over, sum(k.conversions_over) AS conversions_over
  FROM by_campaign AS k
  GROUP BY k.account_id
),
by_day AS (
  SELECT k.account_id, k.report_date, sum(k.spend) AS spend, sum(k.n) AS n
  FROM by_campaign AS k
  GROUP BY k.account_id, k.report_date
),
day_sums AS (
  SELECT w.account_id, count(*) FILTER (WHERE coalesce(d.spend, 0) IS DISTINCT FROM c.spend) AS differing,
    -- As many distinct keys as rows were proven when the day was read.
    sum(greatest(coalesce(d.n, 0) - c.rows, 0)) AS repeated
  FROM mart.performance_window AS w
  JOIN ops.day_coverage AS c ON c.account_id = w.account_id AND c.report_date = w.report_date
  LEFT JOIN by_day AS d ON d.account_id = w.account_id AND d.report_date = w.report_date
  GROUP BY w.account_id
),
unconverted AS (
  SELECT
    k.account_id, k.campaign_id,
    k.conversions = 0 AND k.spend::DOUBLE >= (SELECT x.targets FROM settings AS x) * coalesce(h.target_cpa::DOUBLE, a.spend::DOUBLE / nullif(a.conversions, 0)) AS fails
  FROM (SELECT b.account_id, b.campaign_id, sum(b.spend) AS spend, sum(b.conversions) AS conversions FROM by_campaign AS b GROUP BY ALL) AS k
  JOIN by_account AS a ON a.account_id = k.account_id
  LEFT JOIN main.campaign_history AS h ON h.account_id = k.account_id AND h.campaign_id = k.campaign_id AND h.is_current
),
restated AS (
  SELECT c.account_id, sum(abs(coalesce(c.new_spend, 0) - coalesce(c.old_spend, 0))) AS spend
  FROM main.spend_change AS c
  JOIN mart.performance_window AS w ON w.account_id = c.account_id AND w.report_date = c.report_date
  GROUP BY c.account_id
),
coverage AS (
  SELECT
    c.account_id,
    -- As of now, not of the last sync; today is still open or not due.
    count(*) FILTER (WHERE c.state_now = 'missing' AND k.ends_at <= now()) AS missing, count(*) FILTER (WHERE c.state_now = 'lost') AS lost,
    count(*) FILTER (WHERE c.state_now IN ('partial', 'incomplete')) AS partial,
    count(*) FILTER (WHERE c.state_now IN ('complete', 'final') AND c.control_total_state = 'unknown') AS unknown_totals,
    (epoch(now()) - epoch(max(c.last_read_at))) / 3600 AS hours
  FROM mart.coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  GROUP BY c.account_id
),
campaigns AS (
  SELECT
    c.account_id, (epoch(now()) - epoch(min(c.last_confirmed_at))) / 3600 AS hours,
    (epoch(now()) - epoch(min(m.bids_last_read_at))) / 3600 AS bids_hours,
    count(*) - count(m.bids_last_read_at) AS bids_unread
  FROM main.campaign AS c
  LEFT JOIN main.source_mode AS m ON m.account_id = c.account_id AND m.campaign_id = c.campaign_id
  WHERE c.status IS DISTINCT FROM 'archived' AND c.read_state <> 'stub'
  GROUP BY c.account_id
),
known AS (
  SELECT c.account_id, c.read_state <> 'ok' AS unread, c.status NOT IN ('active', 'paused', 'archived', 'rejected') OR c.delivery_status NOT IN (
    'active', 'waiting_for_funds', 'waiting_for_creatives', 'all_creatives_rejected', 'scheduled', 'daily_limit_reached', 'paused', 'archived', 'rejected') AS unnamed
  FROM main.campaign AS c
  UNION ALL
  SELECT k.account_id, k.read_state <> 'ok', k.status NOT IN ('active', 'paused', 'pending_review', 'rejected', 'draft', 'archived')
  FROM main.creative AS k
  UNION ALL
  SELECT m.account_id, false, m.source_mode NOT IN ('block_list', 'allow_list')
  FROM main.source_mode AS m
),
last_run AS (
  SELECT r.account_id, arg_max(r.exit_code, r._run_id) AS exit_code, max(r._run_id) FILTER (WHERE r.command = 'sync') AS sync_run
  FROM ops.run AS r
  GROUP BY r.account_id
),
unread AS (
  SELECT r.account_id, count(e.account_id) AS reads
  FROM last_run AS r
  LEFT JOIN ops.entity_read AS e ON e.account_id = r.account_id AND e._run_id = r.sync_run
  GROUP BY r.account_id
),
broken AS (
  SELECT a.account_id, count(DISTINCT b.campaign_id) AS campaigns
  FROM by_account AS a
  LEFT JOIN mart.breaks AS b ON b.account_id = a.account_id
  GROUP BY a.account_id
),
counted (account_id, check_name, value) AS (
  SELECT d.account_id, n.check_name, CASE n.check_name WHEN 'keys_unique' THEN d.repeated ELSE d.differing END::DOUBLE
  FROM day_sums AS d CROSS JOIN (VALUES ('keys_unique'), ('day_sums_agree')) AS n(check_name)
  UNION ALL SELECT b.account_id, 'campaigns_unbroken', b.campaigns FROM broken AS b
  UNION ALL SELECT a.account_id, 'measures_not_negative', a.negative FROM by_account AS a
  UNION ALL SELECT a.account_id, 'clicks_told', a.no_clicks FROM by_account AS a
  UNION ALL SELECT a.account_id, 'impressions_told', a.no_impressions FROM by_account AS a
  UNION ALL SELECT a.account_id, 'conversions_told', a.no_conversions FROM by_account AS a
  UNION ALL SELECT a.account_id, 'spend_has_campaign', a.no_campaign FROM by_account AS a
  UNION ALL SELECT a.account_id, 'spend_has_creative', a.no_creative FROM by_account AS a
  UNION ALL SELECT a.account_id, 'spend_has_source', a.no_source FROM by_account AS a
  UNION ALL SELECT a.account_id, 'spend_has_clicks', a.unclicked FROM by_account AS a
  UNION ALL SELECT a.account_id, 'clicks_within_impressions', a.clicks_over FROM by_account AS a
  UNION ALL SELECT a.account_id, 'conversions_within_clicks', a.conversions_over FROM by_account AS a
  UNION ALL SELECT u.account_id, 'campaigns_convert', count(*) FILTER (WHERE u.fails) FROM unconverted AS u GROUP BY u.account_id
  UNION ALL SELECT a.account_id, 'restated_share', coalesce(r.spend, 0)::DOUBLE / nullif(a.spend, 0)::DOUBLE
    FROM by_account AS a LEFT JOIN restated AS r ON r.account_id = a.account_id
  UNION ALL SELECT c.account_id, 'days_missing', c.missing FROM coverage AS c
  UNION ALL SELECT c.account_id, 'days_lost', c.lost FROM coverage AS c
  UNION ALL SELECT c.account_id, 'days_partial', c.partial FROM coverage AS c
  UNION ALL SELECT c.account_id, 'control_totals_known', c.unknown_totals FROM coverage AS c
  UNION ALL SELECT c.account_id, 'report_fresh', c.hours FROM coverage AS c
  UNION ALL SELECT c.account_id, 'settings_fresh', c.hours FROM campaigns AS c
  UNION ALL SELECT c.account_id, 'bids_fresh', c.bids_hours FROM campaigns AS c
  UNION ALL SELECT c.account_id, 'bids_read', c.bids_unread FROM campaigns AS c
  UNION ALL SELECT k.account_id, 'settings_known', count(*) FILTER (WHERE k.unread) FROM known AS k GROUP BY k.account_id
  UNION ALL SELECT u.account_id, 'entities_read', u.reads FROM unread AS u
  UNION ALL SELECT k.account_id, 'values_known', count(*) FILTER (WHERE k.unnamed) FROM known AS k GROUP BY k.account_id
  UNION ALL SELECT a.account_id, 'fields_known', (
    SELECT count(*) FROM ops.unknown_field AS f WHERE f.account_id = a.account_id AND f.stream = 'spend_report'
  ) FROM accounts AS a
  UNION ALL SELECT r.account_id, 'last_run_succeeded', r.exit_code FROM last_run AS r
),
judged AS (
  SELECT
    c.account_id, c.check_name, c.severity, n.value,
    CASE c.check_name
      WHEN 'restated_share' THEN x.restated_share_max
      WHEN 'report_fresh' THEN x.stale_hours
      WHEN 'settings_fresh' THEN x.stale_hours
      WHEN 'bids_fresh' THEN x.bids_stale_hours
      ELSE c.threshold
    END::DOUBLE AS threshold,
    c.unit, c.meaning, c.what_to_do
  -- Cross joins come last: DuckDB 1.4 writes them as commas when it prints a view.
  FROM (SELECT a.account_id, c.* FROM accounts AS a CROSS JOIN checks AS c) AS c
  LEFT JOIN counted AS n ON n.account_id = c.account_id AND n.check_name = c.check_name
  CROSS JOIN settings AS x
)
SELECT
  j.account_id, j.check_name, j.severity, j.value <= j.threshold AS passed, j.value, j.threshold, j.unit, j.meaning, j.what_to_do
FROM judged AS j
