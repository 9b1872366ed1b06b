-- What changed in the settings?
-- Folded.
-- Block say
SELECT 'plain' AS tone, coalesce((SELECT tally(CASE WHEN c.is_review THEN 'steps of reviews' WHEN c.change_type = 'first_seen' THEN 'first seen' ELSE c.kind || ' settings' END) FROM mart.change_log AS c
    WHERE c.kind <> 'delivery' AND c.seen_at >= (SELECT k.starts_at FROM main.calendar AS k WHERE k.report_date = (SELECT max(o.report_date) - 29 FROM ops.day_coverage AS o))), 'Nothing') || ' in 30 days.'
  || CASE WHEN (SELECT count(*) FROM mart.unconfirmed_settings) > 0 THEN ' The last sync could not confirm ' || many((SELECT count(*) FROM mart.unconfirmed_settings), 'setting') || ': spendsync query mart.unconfirmed_settings.' ELSE '' END AS text
-- Block lanes: Green: active, yellow: paused, gray: over; paler: before the settings were first seen. ▲ bid, ■ limit, ● anything else
WITH since AS (SELECT max(c.report_date) - 29 AS first, max(c.report_date) + 1 AS last FROM ops.day_coverage AS c),
lane AS (
  SELECT d.campaign_id, row_number() OVER (ORDER BY max(c.seen_at) DESC NULLS LAST, sum(d.spend) DESC NULLS LAST, d.campaign_id) AS place
  FROM mart.campaign_day AS d CROSS JOIN since AS s
  LEFT JOIN (SELECT l.campaign_id, max(l.seen_at) AS seen_at FROM mart.change_log AS l WHERE l.kind = 'campaign' AND l.change_type = 'changed' GROUP BY l.campaign_id) AS c ON c.campaign_id = d.campaign_id
  WHERE d.report_date >= s.first AND d.settings_version IS NOT NULL GROUP BY d.campaign_id
),
state AS (
  SELECT l.place, d.campaign_id, d.report_date, CASE WHEN d.is_deleted THEN 'deleted' ELSE coalesce(d.status, 'unknown') END AS state, coalesce(d.is_assumed, true) AS is_assumed
  FROM mart.campaign_day AS d JOIN lane AS l ON l.campaign_id = d.campaign_id AND l.place <= 10 CROSS JOIN since AS s WHERE d.report_date >= s.first
),
run AS (SELECT t.*, t.report_date - DATE '2000-01-01' - row_number() OVER (PARTITION BY t.campaign_id, t.state, t.is_assumed ORDER BY t.report_date) AS part FROM state AS t)
SELECT r.place, label(r.campaign_id) AS lane, s.first, s.last, min(r.report_date) AS "from", max(r.report_date) + 1 AS "to", r.state, r.is_assumed, NULL AS mark, r.state || ' from ' || on_day(min(r.report_date)) || ' to ' || on_day(max(r.report_date)) AS title
FROM run AS r CROSS JOIN since AS s GROUP BY r.place, r.campaign_id, s.first, s.last, r.state, r.is_assumed, r.part
UNION ALL
SELECT l.place, label(l.campaign_id), s.first, s.last, k.report_date, NULL, NULL, NULL, CASE c.field WHEN 'default_bid' THEN '▲' WHEN 'daily_spend_limit' THEN '■' ELSE '●' END, on_day(k.report_date) || ': ' || replace(coalesce(c.field, c.kind), '_', ' ') || coalesce(' ' || plain_value(c.old_value), '') || coalesce(' → ' || plain_value(c.new_value), '')
FROM mart.change_log AS c JOIN lane AS l ON l.campaign_id = c.campaign_id AND l.place <= 10 CROSS JOIN since AS s
JOIN main.calendar AS k ON k.starts_at <= c.seen_at AND c.seen_at < k.ends_at AND k.report_date >= s.first
WHERE c.kind = 'campaign' AND c.change_type = 'changed'
ORDER BY 1, 5, 9, 10
-- Block table: Newest first; reviews of creatives in one row a day
SELECT epoch_us(max(c.seen_at)) AS "Seen|time", label(c.campaign_id) AS "Campaign|name",
  CASE WHEN c.kind = 'creative' THEN many(count(*), 'change') || ' of creatives' ELSE replace(coalesce(any_value(c.rule), c.kind), '_', ' ') END AS "Of|text", replace(any_value(c.change_type), '_', ' ') AS "Kind|text",
  CASE WHEN c.kind = 'creative' AND count(*) > 3 THEN string_agg(DISTINCT replace(c.field, '_', ' '), ', ') ELSE string_agg(coalesce(replace(c.field, '_', ' '), c.source_id, c.creative_id, '') || coalesce(' ' || plain_value(c.old_value), '') || coalesce(' → ' || plain_value(c.new_value), ''), '; ' ORDER BY c.field, c.creative_id, c.source_id) END AS "From → to|text",
  max(c.seen_at) || c.campaign_id || c.kind AS key
FROM mart.change_log AS c WHERE c.kind <> 'delivery' GROUP BY CASE WHEN c.kind = 'creative' THEN date_trunc('day', c.seen_at) ELSE c.seen_at END, c.campaign_id, c.kind
ORDER BY max(c.seen_at) DESC, c.kind, label(c.campaign_id) LIMIT 40
