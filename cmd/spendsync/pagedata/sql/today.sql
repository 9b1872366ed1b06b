-- How does the day go?
-- Folded.
-- Block say
WITH now AS (SELECT c.report_date, coalesce((SELECT sum(s.spend) FROM int.campaign_spend AS s WHERE s.report_date = c.report_date), 0) AS spend,
  least(1, (epoch(c.last_read_at) - epoch(k.starts_at)) / (epoch(k.ends_at) - epoch(k.starts_at))) AS elapsed,
  (SELECT CASE WHEN count(p.projected_spend) = count(*) FILTER (WHERE p.spend > 0) THEN sum(p.projected_spend) END FROM mart.daily_pacing AS p WHERE p.report_date = c.report_date) AS projected
  FROM ops.day_coverage AS c JOIN main.calendar AS k ON k.report_date = c.report_date WHERE c.state = 'open' ORDER BY c.report_date DESC LIMIT 1)
SELECT 'plain' AS tone, coalesce((SELECT on_day(n.report_date) || ': ' || usd(n.spend) || ' so far, ' || share(n.elapsed) || ' of the day over' || coalesce('; ' || usd(n.projected) || ' by its end, as your days go', '') || '. It is not over, so no average includes it.' FROM now AS n), 'No day is open.')
  || CASE count(*) WHEN 0 THEN ' No campaign was held back by its limit in the last 7 known days.' ELSE ' Held back by their limits in the last 7 known days: ' || string_agg('“' || label(l.campaign_id) || '” on ' || l.days_limited, ', ' ORDER BY l.days_limited DESC, l.campaign_id) || '.' END AS text
FROM int.campaign_limit AS l WHERE l.days_limited > 0
-- Block line: Spend by hour today, and as usual
SELECT h.hour AS "x|hour", 'today' AS series, 0 AS place, sum(h.spend) AS "value|money", 'solid' AS style FROM mart.intraday_hourly AS h WHERE h.report_date = (SELECT max(c.report_date) FROM ops.day_coverage AS c WHERE c.state = 'open') AND h.hour IS NOT NULL GROUP BY h.hour
UNION ALL
SELECT h.hour, 'usual', 1, sum(h.usual_spend), 'dashed' FROM mart.intraday_hourly AS h WHERE h.report_date = (SELECT max(c.report_date) FROM ops.day_coverage AS c WHERE c.state = 'open') AND h.hour IS NOT NULL GROUP BY h.hour
ORDER BY 3, 1
-- Block table: Limits
SELECT p.campaign_id AS key, label(p.campaign_id) AS "Campaign|name", on_day(p.report_date) AS "Day|day", p.spend AS "Spend|money", p.daily_spend_limit AS "Limit|money", p.utilization AS "Used|percent", p.day_elapsed AS "Of the day gone|percent",
  p.projected_spend AS "Expected|money", p.verdict AS "Today|chip", p.action AS "What to do today|text", l.verdict AS "In 7 days|chip", l.reason AS "Why|text", l.at_stake AS "At stake a day|money"
FROM mart.daily_pacing AS p LEFT JOIN int.campaign_limit AS l ON l.campaign_id = p.campaign_id AND l.days_limited > 0
WHERE p.spend > 0 AND p.daily_spend_limit > 0 AND p.report_date = (SELECT max(o.report_date) FROM mart.daily_pacing AS o WHERE o.spend > 0)
ORDER BY l.days_limited DESC NULLS LAST, p.spend DESC, p.campaign_id LIMIT 15
