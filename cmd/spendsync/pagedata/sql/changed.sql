-- What changed, and what came of it?
-- Block say
SELECT 'plain' AS tone, 'Spend of the week to ' || on_day(w.window_to) || ' is ' || moved(w.spend_a_day::DOUBLE / nullif(w.spend_a_day_before, 0) - 1) || ' a day on the week before'
  || coalesce(', CPA ' || moved(w.cpa_change) || ' at equal age', '') || '. Below: what people changed and what broke in the 14 days before the last read and on its day, the largest effect in dollars first, then the newest; reviews of creatives are left out.' AS text
FROM page.last_week AS w WHERE w.is_total
-- Block table
WITH since AS (SELECT t.today - 14 AS day FROM main.today AS t),
event AS (
  SELECT
    k.report_date AS day, l.campaign_id, replace(l.field, '_', ' ') || ' ' || coalesce(plain_value(l.old_value), 'none') || ' → ' || coalesce(plain_value(l.new_value), 'none') AS what,
    i.spend_per_day_before, i.spend_per_day_after, i.cpa_change, i.verdict, i.at_stake
  FROM mart.change_log AS l
  JOIN main.calendar AS k ON k.starts_at <= l.seen_at AND l.seen_at < k.ends_at
  LEFT JOIN mart.change_impact AS i ON i.campaign_id = l.campaign_id AND i.version_no = l.version_no
  WHERE l.kind = 'campaign' AND l.change_type = 'changed'
  UNION ALL
  SELECT DISTINCT b.since_date, b.campaign_id, b.reason, NULL, NULL, NULL, b.verdict, b.at_stake FROM int.break_day AS b
  UNION ALL
  SELECT k.report_date, l.campaign_id, CASE WHEN l.rule IS NULL THEN 'campaign' ELSE many(count(*), 'source') || ' ' || replace(l.rule, '_', ' ') END || CASE l.change_type WHEN 'first_seen' THEN CASE WHEN l.rule IS NULL THEN ' is new' ELSE '' END ELSE ', ' || replace(l.change_type, '_', ' ') END, NULL, NULL, NULL, NULL, NULL
  FROM mart.change_log AS l JOIN main.calendar AS k ON k.starts_at <= l.seen_at AND l.seen_at < k.ends_at
  WHERE l.kind = 'source_rule' OR (l.kind = 'campaign' AND l.change_type <> 'changed') GROUP BY k.report_date, l.campaign_id, l.kind, l.rule, l.change_type
)
SELECT on_day(e.day) AS "Seen|day", label(e.campaign_id) AS "Campaign|name", e.what AS "What|text", e.spend_per_day_before AS "Spend a day before|money", e.spend_per_day_after AS "after|money", e.cpa_change AS "CPA|change",
  CASE e.verdict WHEN 'unclear' THEN 'too few conversions' WHEN 'unknown' THEN 'not comparable yet' ELSE e.verdict END AS "Effect|chip", CASE e.verdict WHEN 'cheaper' THEN e.at_stake ELSE -e.at_stake END AS "Effect a day|money", e.campaign_id || e.day || e.what AS key
FROM event AS e CROSS JOIN since AS s WHERE e.day >= s.day ORDER BY e.at_stake DESC NULLS LAST, e.verdict IN ('dearer', 'cheaper') DESC NULLS LAST, e.day DESC, e.spend_per_day_before DESC NULLS LAST, e.what, e.campaign_id LIMIT 12
-- Block table: Campaigns that moved, week on week
SELECT label(w.campaign_id) AS "Campaign|name", w.spend_before AS "Week before|money", w.spend AS "Last week|money", w.spend_a_day_change AS "Spend|change", w.cpa_change AS "CPA at equal age|change", w.verdict AS "Verdict|chip", w.reason AS "Why|text",
  coalesce((SELECT string_agg(DISTINCT replace(l.field, '_', ' ') || ' changed', ', ') FROM mart.change_log AS l WHERE l.campaign_id = w.campaign_id AND l.kind = 'campaign' AND l.change_type = 'changed'
    AND l.seen_at >= (SELECT k.starts_at FROM main.calendar AS k WHERE k.report_date = w.before_from)), 'no setting changed') AS "In these weeks|text", w.campaign_id AS key
FROM page.last_week AS w WHERE NOT w.is_total ORDER BY w.verdict IN ('broken_before', 'dearer', 'cheaper') DESC, abs(w.spend - w.spend_before) DESC LIMIT 4
