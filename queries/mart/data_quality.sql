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
WITH level AS (
  SELECT
    -- restated_share_max: When more of the window's spend than this was restated after its day was over, recent days are not to be decided by.
    (0.05::DOUBLE /* restated_share_max */) AS restated_share_max,
    max(t.value) FILTER (WHERE t.name = 'stale_hours') AS stale_hours,
    (36::DOUBLE /* bids_stale_hours */) AS bids_stale_hours
  FROM int.threshold AS t
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
    -- The read of the day proved c.rows distinct keys, so all rows beyond that number are repeated keys.
    sum(greatest(coalesce(d.n, 0) - c.rows, 0)) AS repeated
  FROM int.performance_window AS w
  JOIN ops.day_coverage AS c ON c.account_id = w.account_id AND c.report_date = w.report_date
  LEFT JOIN by_day AS d ON d.account_id = w.account_id AND d.report_date = w.report_date
  GROUP BY w.account_id
),
-- Most checks can use the sums of each campaign's days.
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
    k.account_id, 0 AS none, sum(k.spend) AS spend,
    sum(k.no_clicks) AS no_clicks, sum(k.no_impressions) AS no_impressions, sum(k.no_conversions) AS no_conversions,
    coalesce(sum(k.spend) FILTER (WHERE k.campaign_id = ''), 0) AS no_campaign,
    count(*) FILTER (WHERE k.conversions = 0 AND k.spend::DOUBLE
      -- silent_worths: A campaign that spent so many target CPAs and has no conversion at all may have lost its tracking.
      >= (3::DOUBLE /* silent_worths */) * coalesce(h.target_cpa::DOUBLE, k.account_cpa)) AS unconverted
  FROM by_campaign AS k
  LEFT JOIN main.campaign_history AS h ON h.account_id = k.account_id AND h.campaign_id = k.campaign_id AND h.is_current
  GROUP BY k.account_id
),
-- Few rows meet these conditions, and DuckDB can evaluate each of them without reading other columns.
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
    -- As of now, not of the last sync. Leave out today, which is still open.
    count(*) FILTER (WHERE c.state_now = 'missing' AND k.ends_at <= now()) AS missing, count(*) FILTER (WHERE c.state_now IN ('lost', 'incomplete')) AS lost,
    count(*) FILTER (WHERE c.state_now = 'partial') AS partial, count(*) FILTER (WHERE c.doubt = 'doubtful') AS doubted,
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
  -- From the last run that read the settings, and from later runs that failed to read them.
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
-- One row a check: its value, and the maximum that passes.
checked AS (
  SELECT
    v.account_id,
    unnest([
      {'check_name': 'keys_unique', 'severity': 'error', 'value': d.repeated::DOUBLE, 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows of spend_daily beyond the distinct keys that were proven when their day was read.', 'what_to_do': 'Run spendsync verify; spendsync repair rebuild makes the file again from Parquet.'},
      {'check_name': 'day_sums_agree', 'severity': 'error', 'value': d.differing, 'threshold': 0, 'unit': 'days', 'meaning': 'Days whose spend in spend_daily is not what was proven when they were read.', 'what_to_do': 'Run spendsync verify; spendsync repair rebuild makes the file again from Parquet.'},
      {'check_name': 'measures_not_negative', 'severity': 'warning', 'value': a.none + coalesce(o.negative, 0), 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows with less than 0 spend, clicks, impressions or conversions.', 'what_to_do': 'Ask the service what they stand for; sums contain them as they are.'},
      {'check_name': 'clicks_told', 'severity': 'warning', 'value': a.no_clicks, 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows without a number of clicks.', 'what_to_do': 'CPC and CTR of these rows are unknown; look at the replies in raw.'},
      {'check_name': 'impressions_told', 'severity': 'warning', 'value': a.no_impressions, 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows without a number of impressions.', 'what_to_do': 'CTR of these rows is unknown; look at the replies in raw.'},
      {'check_name': 'conversions_told', 'severity': 'warning', 'value': a.no_conversions, 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows without a whole number of conversions.', 'what_to_do': 'CPA of their sources is unknown, so none of them is a candidate; look at the replies in raw.'},
      {'check_name': 'spend_has_campaign', 'severity': 'warning', 'value': a.no_campaign, 'threshold': 0, 'unit': 'US dollars', 'meaning': 'Spend of rows that name no campaign.', 'what_to_do': 'Ask the service what it was spent on.'},
      {'check_name': 'spend_has_creative', 'severity': 'warning', 'value': a.none + coalesce(x.spend, 0), 'threshold': 0, 'unit': 'US dollars', 'meaning': 'Spend of rows that name no creative.', 'what_to_do': 'It belongs to no creative; ask the service.'},
      {'check_name': 'spend_has_source', 'severity': 'warning', 'value': a.none + coalesce(z.spend, 0), 'threshold': 0, 'unit': 'US dollars', 'meaning': 'Spend of rows that name no source.', 'what_to_do': 'It can neither be blocked nor bid for; ask the service.'},
      {'check_name': 'spend_has_clicks', 'severity': 'warning', 'value': a.none + coalesce(o.unclicked, 0), 'threshold': 0, 'unit': 'US dollars', 'meaning': 'Spend of rows with 0 clicks, though bids are per click.', 'what_to_do': 'Ask the service; a credit or a correction may be under way.'},
      {'check_name': 'clicks_within_impressions', 'severity': 'warning', 'value': a.none + coalesce(o.clicks_over, 0), 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows with more clicks than impressions.', 'what_to_do': 'Expect late impressions or invalid clicks; their CTR means nothing.'},
      {'check_name': 'conversions_within_clicks', 'severity': 'warning', 'value': a.none + coalesce(o.conversions_over, 0), 'threshold': 0, 'unit': 'rows', 'meaning': 'Rows with more conversions than clicks.', 'what_to_do': 'See whether a conversion is reported more than once a click.'},
      {'check_name': 'campaigns_convert', 'severity': 'warning', 'value': a.unconverted, 'threshold': 0, 'unit': 'campaigns', 'meaning': 'Campaigns with spend for 3 conversions (at their target CPA, else the account''s CPA) and none at all.', 'what_to_do': 'See whether their conversions reach the service, before blocking sources.'},
      {'check_name': 'campaigns_unbroken', 'severity': 'warning', 'value': a.none + coalesce(b.campaigns, 0), 'threshold': 0, 'unit': 'campaigns', 'meaning': 'Active campaigns whose conversions, spend, CTR or delivery broke lately.', 'what_to_do': 'See mart.breaks before following any advice about them.'},
      {'check_name': 'restated_share', 'severity': 'warning', 'value': a.none + coalesce(r.spend, 0)::DOUBLE / nullif(a.spend, 0)::DOUBLE, 'threshold': l.restated_share_max, 'unit': 'share of spend', 'meaning': 'Spend that was restated after its day was over, up or down, as a share of all spend.', 'what_to_do': 'Wait longer before deciding on young days; see spendsync query spend_by_day.'},
      {'check_name': 'days_missing', 'severity': 'error', 'value': g.missing, 'threshold': 0, 'unit': 'days', 'meaning': 'Days that were never proven and can still be read.', 'what_to_do': 'Run spendsync sync; spendsync status shows by when.'},
      {'check_name': 'days_lost', 'severity': 'warning', 'value': g.lost, 'threshold': 0, 'unit': 'days', 'meaning': 'Days that were never proven complete and can no longer be read.', 'what_to_do': 'They cannot be read again; leave them out of averages.'},
      {'check_name': 'days_partial', 'severity': 'warning', 'value': g.partial, 'threshold': 0, 'unit': 'days', 'meaning': 'Days of which only a part is stored, and which can still be read.', 'what_to_do': 'Run spendsync sync; see partial_why in mart.coverage.'},
      {'check_name': 'days_doubted', 'severity': 'warning', 'value': g.doubted, 'threshold': 0, 'unit': 'days', 'meaning': 'Days that are stored though something speaks against them, such as the service''s own sum.', 'what_to_do': 'See partial_why in mart.coverage; runs read them again, and spendsync repair accept DATE accepts one.'},
      {'check_name': 'control_totals_known', 'severity': 'warning', 'value': g.unknown_totals, 'threshold': 0, 'unit': 'days', 'meaning': 'Days proven complete for which the service could not be asked for its own total.', 'what_to_do': 'Run spendsync sync --from --to for these days while they can be read.'},
      {'check_name': 'report_fresh', 'severity': 'error', 'value': g.hours, 'threshold': l.stale_hours, 'unit': 'hours', 'meaning': 'Time since a day was last read.', 'what_to_do': 'Find out why no run succeeded: spendsync status.'},
      {'check_name': 'settings_fresh', 'severity': 'warning', 'value': m.hours, 'threshold': l.stale_hours, 'unit': 'hours', 'meaning': 'Time since the campaign that waits longest was confirmed, archived ones aside.', 'what_to_do': 'See ops.entity_read for what cannot be read.'},
      {'check_name': 'bids_fresh', 'severity': 'warning', 'value': m.bids_hours, 'threshold': l.bids_stale_hours, 'unit': 'hours', 'meaning': 'Time since the campaign that waits longest had its bids per source read, archived ones aside.', 'what_to_do': 'Do not rely on bid_override of these campaigns; see source_mode.'},
      {'check_name': 'bids_read', 'severity': 'warning', 'value': m.bids_unread, 'threshold': 0, 'unit': 'campaigns', 'meaning': 'Campaigns whose bids per source were never readable, archived ones aside.', 'what_to_do': 'Their bids per source are unknown; look at the dashboard.'},
      {'check_name': 'settings_known', 'severity': 'warning', 'value': k.unread, 'threshold': 0, 'unit': 'campaigns and creatives', 'meaning': 'Campaigns and creatives with settings that were never readable, or that only the report knows.', 'what_to_do': 'Their settings are unknown; look at the dashboard.'},
      {'check_name': 'entities_read', 'severity': 'warning', 'value': u.reads, 'threshold': 0, 'unit': 'reads', 'meaning': 'Settings that could not be read when they were last asked for.', 'what_to_do': 'See ops.entity_read; the next sync tries again.'},
      {'check_name': 'values_known', 'severity': 'warning', 'value': k.unnamed, 'threshold': 0, 'unit': 'campaigns, creatives and sources', 'meaning': 'Statuses and modes now in force that the service''s description does not name.', 'what_to_do': 'Look them up with the service; filters on status may leave them out.'},
      {'check_name': 'fields_known', 'severity': 'info', 'value': coalesce(f.fields, 0), 'threshold': 0, 'unit': 'fields', 'meaning': 'Keys in the replies that the service''s description does not name.', 'what_to_do': 'Nothing is lost, they are in raw; report them to the maintainers.'},
      {'check_name': 'notes_standing', 'severity': 'info', 'value': coalesce(s.notes, 0), 'threshold': 0, 'unit': 'notes', 'meaning': 'Differences of which the data is stored, and that end no run with exit 4.', 'what_to_do': 'See ops.note for each; spendsync repair accept --undo makes one end runs again.'},
      {'check_name': 'last_run_succeeded', 'severity': 'error', 'value': u.exit_code, 'threshold': 0, 'unit': 'exit code', 'meaning': 'Exit code of the last run; it is 0 when everything planned was published.', 'what_to_do': 'See ops.run for its message; spendsync help config lists the exit codes.'}
    ], recursive := true)
  FROM accounts AS v
  LEFT JOIN day_sums AS d ON d.account_id = v.account_id
  LEFT JOIN by_account AS a ON a.account_id = v.account_id
  LEFT JOIN odd_of AS o ON o.account_id = v.account_id
  LEFT JOIN creativeless AS x ON x.account_id = v.account_id
  LEFT JOIN sourceless AS z ON z.account_id = v.account_id
  LEFT JOIN restated AS r ON r.account_id = v.account_id
  LEFT JOIN coverage AS g ON g.account_id = v.account_id
  LEFT JOIN campaigns AS m ON m.account_id = v.account_id
  LEFT JOIN known_of AS k ON k.account_id = v.account_id
  LEFT JOIN unread AS u ON u.account_id = v.account_id
  LEFT JOIN broken AS b ON b.account_id = v.account_id
  LEFT JOIN fields AS f ON f.account_id = v.account_id
  LEFT JOIN standing AS s ON s.account_id = v.account_id
  CROSS JOIN level AS l
)
SELECT
  c.account_id, c.check_name, c.severity, c.value <= c.threshold AS passed, c.value, c.threshold::DOUBLE AS threshold, c.unit, c.meaning,
  CASE WHEN c.value <= c.threshold THEN 'passed' WHEN c.value > c.threshold THEN 'failed' ELSE 'unknown' END AS verdict,
  c.meaning AS reason, CASE WHEN c.value > c.threshold THEN c.what_to_do END AS action
FROM checked AS c
