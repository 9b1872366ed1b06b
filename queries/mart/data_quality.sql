-- Can the numbers be relied on, and if not, what should be done?
-- Trap: checks of numbers look at the performance window alone; a check that passes proves only what it counts.
-- Column check_name: What is checked.
-- Column severity: error: numbers are wrong or lost; warning: answers may mislead; info: to be known.
-- Column passed: Whether value is not above threshold. NULL: there was nothing to check.
-- Column value: What was counted, in unit. NULL: there was nothing to check.
-- Column threshold: The largest value that passes.
-- Column unit: What value counts.
-- Column meaning: What the check counts, in words.
-- Column verdict: passed, failed, or unknown: there is no value.
-- Column reason: What the value counts, as in meaning.
-- Column action: What to do. NULL: it did not fail.
WITH checks (check_name, severity, threshold, unit, meaning, what_to_do) AS (
  VALUES
    ('keys_unique', 'error', 0, 'rows', 'Rows of spend_daily beyond the distinct keys that were proven when their day was read.', 'Run spendsync verify; spendsync repair rebuild makes the file again from Parquet.'),
    ('day_sums_agree', 'error', 0, 'days', 'Days whose spend in spend_daily is not what was proven when they were read.', 'Run spendsync verify; spendsync repair rebuild makes the file again from Parquet.'),
    ('measures_not_negative', 'warning', 0, 'rows', 'Rows with less than 0 spend, clicks, impressions or conversions.', 'Ask the service what they stand for; sums contain them as they are.'),
    ('clicks_told', 'warning', 0, 'rows', 'Rows without a number of clicks.', 'CPC and CTR of these rows are unknown; look at the replies in raw.'),
    ('impressions_told', 'warning', 0, 'rows', 'Rows without a number of impressions.', 'CTR of these rows is unknown; look at the replies in raw.'),
    ('conversions_told', 'warning', 0, 'rows', 'Rows without a whole number of conversions.', 'CPA of their sources is unknown, so none of them is a candidate; look at the replies in raw.'),
    ('spend_has_campaign', 'warning', 0, 'US dollars', 'Spend of rows that name no campaign.', 'Ask the service what it was spent on.'),
    ('spend_has_creative', 'warning', 0, 'US dollars', 'Spend of rows that name no creative.', 'It belongs to no creative; ask the service.'),
    ('spend_has_source', 'warning', 0, 'US dollars', 'Spend of rows that name no source.', 'It can neither be blocked nor bid for; ask the service.'),
    ('spend_has_clicks', 'warning', 0, 'US dollars', 'Spend of rows with 0 clicks, though bids are per click.', 'Ask the service; a credit or a correction may be under way.'),
    ('clicks_within_impressions', 'warning', 0, 'rows', 'Rows with more clicks than impressions.', 'Expect late impressions or invalid clicks; their CTR means nothing.'),
    ('conversions_within_clicks', 'warning', 0, 'rows', 'Rows with more conversions than clicks.', 'See whether a conversion is reported more than once a click.'),
    ('campaigns_convert', 'warning', 0, 'campaigns', 'Campaigns with spend for 3 conversions (at their target CPA, else the account''s CPA) and none at all.', 'See whether their conversions reach the service, before blocking sources.'),
    ('campaigns_unbroken', 'warning', 0, 'campaigns', 'Active campaigns whose conversions, spend, CTR or delivery broke lately.', 'See mart.breaks before following any advice about them.'),
    ('restated_share', 'warning', NULL, 'share of spend', 'Spend that was restated after its day was over, up or down, as a share of all spend.', 'Wait longer before deciding on young days; see spendsync query spend_by_day.'),
    ('days_missing', 'error', 0, 'days', 'Days that were never proven and can still be read.', 'Run spendsync sync; spendsync status shows by when.'),
    ('days_lost', 'warning', 0, 'days', 'Days that were never proven and can no longer be read.', 'They cannot be read again; leave them out of averages.'),
    ('days_partial', 'warning', 0, 'days', 'Days of which only a part is stored.', 'Run spendsync sync; see partial_why in mart.coverage.'),
    ('days_doubted', 'warning', 0, 'days', 'Days that are stored though something speaks against them, such as the service''s own sum.', 'See partial_why in mart.coverage; runs read them again, and spendsync repair accept DATE accepts one.'),
    ('control_totals_known', 'warning', 0, 'days', 'Days proven complete for which the service could not be asked for its own total.', 'Run spendsync sync --from --to for these days while they can be read.'),
    ('report_fresh', 'error', NULL, 'hours', 'Time since a day was last read.', 'Find out why no run succeeded: spendsync status.'),
    ('settings_fresh', 'warning', NULL, 'hours', 'Time since the campaign that waits longest was confirmed, archived ones aside.', 'See ops.entity_read for what cannot be read.'),
    ('bids_fresh', 'warning', NULL, 'hours', 'Time since the campaign that waits longest had its bids per source read, archived ones aside.', 'Do not rely on bid_override of these campaigns; see source_mode.'),
    ('bids_read', 'warning', 0, 'campaigns', 'Campaigns whose bids per source were never readable, archived ones aside.', 'Their bids per source are unknown; look at the dashboard.'),
    ('settings_known', 'warning', 0, 'campaigns and creatives', 'Campaigns and creatives with settings that were never readable, or that only the report knows.', 'Their settings are unknown; look at the dashboard.'),
    ('entities_read', 'warning', 0, 'reads', 'Settings that could not be read when they were last asked for.', 'See ops.entity_read; the next sync tries again.'),
    ('values_known', 'warning', 0, 'campaigns, creatives and sources', 'Statuses and modes now in force that the service''s description does not name.', 'Look them up with the service; filters on status may leave them out.'),
    ('fields_known', 'info', 0, 'fields', 'Keys in the replies that the service''s description does not name.', 'Nothing is lost, they are in raw; report them to the maintainers.'),
    ('notes_standing', 'info', 0, 'notes', 'Differences of which the data is stored, and that end no run with exit 4.', 'See ops.note for each; spendsync repair accept --undo makes one end runs again.'),
    ('last_run_succeeded', 'error', 0, 'exit code', 'Exit code of the last run; it is 0 when everything planned was published.', 'See ops.run for its message; spendsync help config lists the exit codes.')
),
accounts AS (
  SELECT c.account_id FROM main.calendar AS c
  UNION
  SELECT r.account_id FROM ops.run AS r
),
by_day AS (
  SELECT s.account_id, s.report_date, sum(s.spend) AS spend, count(*) AS n
  FROM main.spend_daily AS s
  WHERE s.report_date >= (SELECT min(w.report_date) FROM int.performance_window AS w)
  GROUP BY s.account_id, s.report_date
),
day_sums AS (
  SELECT w.account_id, count(*) FILTER (WHERE coalesce(d.spend, 0) IS DISTINCT FROM c.spend) AS differing,
    -- As many distinct keys as rows were proven when the day was read.
    sum(greatest(coalesce(d.n, 0) - c.rows, 0)) AS repeated
  FROM int.performance_window AS w
  JOIN ops.day_coverage AS c ON c.account_id = w.account_id AND c.report_date = w.report_date
  LEFT JOIN by_day AS d ON d.account_id = w.account_id AND d.report_date = w.report_date
  GROUP BY w.account_id
),
-- What is kept of each campaign's days says most of it.
by_campaign AS (
  SELECT
    s.account_id, s.campaign_id, sum(s.spend) AS spend, sum(s.conversions) AS conversions,
    sum(s.rows - s.rows_with_clicks) AS no_clicks, sum(s.rows - s.rows_with_impressions) AS no_impressions,
    sum(s.rows - s.rows_with_conversions) AS no_conversions,
    (sum(sum(s.spend)) OVER of_account)::DOUBLE / nullif(sum(sum(s.conversions)) OVER of_account, 0) AS account_cpa
  FROM int.campaign_spend AS s
  JOIN int.performance_window AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id
  WINDOW of_account AS (PARTITION BY s.account_id)
),
by_account AS (
  SELECT
    k.account_id, sum(k.spend) AS spend,
    sum(k.no_clicks) AS no_clicks, sum(k.no_impressions) AS no_impressions, sum(k.no_conversions) AS no_conversions,
    coalesce(sum(k.spend) FILTER (WHERE k.campaign_id = ''), 0) AS no_campaign,
    count(*) FILTER (WHERE k.conversions = 0 AND k.spend::DOUBLE
      -- silent_worths: A campaign that spent so many target CPAs and has no conversion at all may have lost its tracking.
      >= (3::DOUBLE /* silent_worths */) * coalesce(h.target_cpa::DOUBLE, k.account_cpa)) AS unconverted
  FROM by_campaign AS k
  LEFT JOIN main.campaign_history AS h ON h.account_id = k.account_id AND h.campaign_id = k.campaign_id AND h.is_current
  GROUP BY k.account_id
),
-- Each condition is one that DuckDB can look for without the other columns: few rows meet it.
odd AS (
  SELECT s.account_id, s.report_date, s.spend, s.clicks, s.impressions, s.conversions
  FROM main.spend_daily AS s
  WHERE s.report_date >= (SELECT min(w.report_date) FROM int.performance_window AS w)
    AND (s.spend < 0 OR s.clicks < 0 OR s.impressions < 0 OR s.conversions < 0 OR s.clicks > s.impressions OR s.conversions > s.clicks
    OR (s.clicks = 0 AND s.spend <> 0))
),
odd_of AS (
  SELECT
    o.account_id,
    count(*) FILTER (WHERE o.spend < 0 OR o.clicks < 0 OR o.impressions < 0 OR o.conversions < 0) AS negative,
    sum(o.spend) FILTER (WHERE o.clicks = 0) AS unclicked,
    count(*) FILTER (WHERE o.clicks > o.impressions) AS clicks_over, count(*) FILTER (WHERE o.conversions > o.clicks) AS conversions_over
  FROM odd AS o
  JOIN int.performance_window AS w ON w.account_id = o.account_id AND w.report_date = o.report_date
  GROUP BY o.account_id
),
creativeless AS (
  SELECT s.account_id, sum(s.spend) AS spend
  FROM int.creative_spend AS s
  JOIN int.performance_window AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
  WHERE s.creative_id = ''
  GROUP BY s.account_id
),
sourceless AS (
  SELECT w.account_id, sum(w.spend) AS spend
  FROM int.source_window AS w
  WHERE w.source_id = ''
  GROUP BY w.account_id
),
restated AS (
  SELECT c.account_id, sum(abs(coalesce(c.new_spend, 0) - coalesce(c.old_spend, 0))) AS spend
  FROM main.spend_change AS c
  JOIN int.performance_window AS w ON w.account_id = c.account_id AND w.report_date = c.report_date
  GROUP BY c.account_id
),
coverage AS (
  SELECT
    c.account_id,
    -- As of now, not of the last sync; today is still open or not due.
    count(*) FILTER (WHERE c.state_now = 'missing' AND k.ends_at <= now()) AS missing, count(*) FILTER (WHERE c.state_now = 'lost') AS lost,
    count(*) FILTER (WHERE c.state_now IN ('partial', 'incomplete')) AS partial, count(*) FILTER (WHERE c.doubt = 'doubtful') AS doubted,
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
known_of AS (
  SELECT k.account_id, count(*) FILTER (WHERE k.unread) AS unread, count(*) FILTER (WHERE k.unnamed) AS unnamed
  FROM known AS k
  GROUP BY k.account_id
),
last_run AS (
  SELECT r.account_id, arg_max(r.exit_code, r._run_id) FILTER (WHERE r.command <> 'accept') AS exit_code, max(r._run_id) FILTER (WHERE r.command = 'sync' AND r.campaigns_read > 0) AS settings_run
  FROM ops.run AS r
  GROUP BY r.account_id
),
unread AS (
  SELECT r.account_id, any_value(r.exit_code) AS exit_code, count(e.account_id) AS reads
  FROM last_run AS r
  -- Of the last run that read the settings, and of those since then that could not.
  LEFT JOIN ops.entity_read AS e ON e.account_id = r.account_id AND e._run_id >= coalesce(r.settings_run, '')
  GROUP BY r.account_id
),
broken AS (
  SELECT b.account_id, count(DISTINCT b.campaign_id) AS campaigns
  FROM mart.breaks AS b
  GROUP BY b.account_id
),
fields AS (
  SELECT f.account_id, count(*) AS fields
  FROM ops.unknown_field AS f
  WHERE f.stream = 'spend_report'
  GROUP BY f.account_id
),
standing AS (
  SELECT n.account_id, count(*) AS notes
  FROM ops.note AS n
  WHERE n.is_standing
  GROUP BY n.account_id
),
-- Each clause is named once: of those named often DuckDB 1.4 plans so many copies within a
-- reader's own subquery that no memory is enough.
counted AS (
  SELECT
    c.account_id, c.check_name, c.severity, c.threshold, c.unit, c.meaning, c.what_to_do,
    CASE c.check_name
      WHEN 'keys_unique' THEN d.repeated
      WHEN 'day_sums_agree' THEN d.differing
      WHEN 'campaigns_unbroken' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(b.campaigns, 0) END
      WHEN 'measures_not_negative' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(o.negative, 0) END
      WHEN 'clicks_told' THEN a.no_clicks
      WHEN 'impressions_told' THEN a.no_impressions
      WHEN 'conversions_told' THEN a.no_conversions
      WHEN 'spend_has_campaign' THEN a.no_campaign
      WHEN 'spend_has_creative' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(x.spend, 0) END
      WHEN 'spend_has_source' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(z.spend, 0) END
      WHEN 'spend_has_clicks' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(o.unclicked, 0) END
      WHEN 'clicks_within_impressions' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(o.clicks_over, 0) END
      WHEN 'conversions_within_clicks' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(o.conversions_over, 0) END
      WHEN 'campaigns_convert' THEN a.unconverted
      WHEN 'restated_share' THEN CASE WHEN a.account_id IS NOT NULL THEN coalesce(r.spend, 0)::DOUBLE / nullif(a.spend, 0)::DOUBLE END
      WHEN 'days_missing' THEN g.missing
      WHEN 'days_lost' THEN g.lost
      WHEN 'days_partial' THEN g.partial
      WHEN 'days_doubted' THEN g.doubted
      WHEN 'control_totals_known' THEN g.unknown_totals
      WHEN 'report_fresh' THEN g.hours
      WHEN 'settings_fresh' THEN m.hours
      WHEN 'bids_fresh' THEN m.bids_hours
      WHEN 'bids_read' THEN m.bids_unread
      WHEN 'settings_known' THEN k.unread
      WHEN 'entities_read' THEN u.reads
      WHEN 'values_known' THEN k.unnamed
      WHEN 'fields_known' THEN coalesce(f.fields, 0)
      WHEN 'notes_standing' THEN coalesce(s.notes, 0)
      WHEN 'last_run_succeeded' THEN u.exit_code
    END::DOUBLE AS value
  -- Cross joins come last: DuckDB 1.4 writes them as commas when it prints a view.
  FROM (SELECT a.account_id, c.* FROM accounts AS a CROSS JOIN checks AS c) AS c
  LEFT JOIN day_sums AS d ON d.account_id = c.account_id
  LEFT JOIN by_account AS a ON a.account_id = c.account_id
  LEFT JOIN odd_of AS o ON o.account_id = c.account_id
  LEFT JOIN creativeless AS x ON x.account_id = c.account_id
  LEFT JOIN sourceless AS z ON z.account_id = c.account_id
  LEFT JOIN restated AS r ON r.account_id = c.account_id
  LEFT JOIN coverage AS g ON g.account_id = c.account_id
  LEFT JOIN campaigns AS m ON m.account_id = c.account_id
  LEFT JOIN known_of AS k ON k.account_id = c.account_id
  LEFT JOIN unread AS u ON u.account_id = c.account_id
  LEFT JOIN broken AS b ON b.account_id = c.account_id
  LEFT JOIN fields AS f ON f.account_id = c.account_id
  LEFT JOIN standing AS s ON s.account_id = c.account_id
),
judged AS (
  SELECT
    c.*,
    CASE c.check_name
      WHEN 'restated_share' THEN x.restated_share_max
      WHEN 'report_fresh' THEN x.stale_hours
      WHEN 'settings_fresh' THEN x.stale_hours
      WHEN 'bids_fresh' THEN x.bids_stale_hours
      ELSE c.threshold
    END::DOUBLE AS passes
  FROM counted AS c
  CROSS JOIN (
    SELECT
      -- restated_share_max: When more of the window's spend than this was restated after its day was over, recent days are not to be decided by.
      (0.05::DOUBLE /* restated_share_max */) AS restated_share_max,
      max(t.value) FILTER (WHERE t.name = 'stale_hours') AS stale_hours,
      (36::DOUBLE /* bids_stale_hours */) AS bids_stale_hours
    FROM int.threshold AS t
  ) AS x
)
SELECT
  j.account_id, j.check_name, j.severity, j.value <= j.passes AS passed, j.value, j.passes AS threshold, j.unit, j.meaning,
  CASE WHEN j.value <= j.passes THEN 'passed' WHEN j.value > j.passes THEN 'failed' ELSE 'unknown' END AS verdict,
  j.meaning AS reason, CASE WHEN j.value > j.passes THEN j.what_to_do END AS action
FROM judged AS j
