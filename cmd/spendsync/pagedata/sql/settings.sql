-- What changed in the settings?
-- Folded.
-- Block say
SELECT 'plain' AS tone, coalesce((SELECT tally(CASE WHEN c.is_review THEN 'steps of reviews' WHEN c.change_type = 'first_seen' THEN 'first seen' ELSE c.kind || ' settings' END) FROM mart.change_log AS c
    WHERE c.kind <> 'delivery' AND c.seen_at >= (SELECT k.starts_at FROM main.calendar AS k WHERE k.report_date = (SELECT max(o.report_date) - 29 FROM ops.day_coverage AS o))), 'Nothing') || ' in 30 days.'
  || CASE WHEN (SELECT count(*) FROM int.unconfirmed_settings) > 0 THEN ' The last sync could not confirm ' || many((SELECT count(*) FROM int.unconfirmed_settings), 'setting') || ': spendsync query int.unconfirmed_settings.' ELSE '' END AS text
-- Block table: Newest first; reviews of creatives in one row a day
SELECT epoch_us(max(c.seen_at)) AS "Seen|time", label(c.campaign_id) AS "Campaign|name",
  CASE WHEN c.kind = 'creative' THEN many(count(*), 'change') || ' of creatives' ELSE replace(coalesce(any_value(c.rule), c.kind), '_', ' ') END AS "Of|text", replace(any_value(c.change_type), '_', ' ') AS "Kind|text",
  CASE WHEN c.kind = 'creative' AND count(*) > 3 THEN string_agg(DISTINCT replace(c.field, '_', ' '), ', ') ELSE string_agg(coalesce(replace(c.field, '_', ' '), c.source_id, c.creative_id, '') || coalesce(' ' || plain_value(c.old_value), '') || coalesce(' → ' || plain_value(c.new_value), ''), '; ' ORDER BY c.field, c.creative_id, c.source_id) END AS "From → to|text",
  max(c.seen_at) || c.campaign_id || c.kind AS key
FROM mart.change_log AS c WHERE c.kind <> 'delivery' GROUP BY CASE WHEN c.kind = 'creative' THEN date_trunc('day', c.seen_at) ELSE c.seen_at END, c.campaign_id, c.kind
ORDER BY max(c.seen_at) DESC, c.kind, label(c.campaign_id) LIMIT 40
