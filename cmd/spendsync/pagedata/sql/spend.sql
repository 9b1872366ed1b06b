-- What did each day cost, and what came of it?
-- Block stack: Spend by day. Changes of settings: ▲ bid, ■ limit, ● status
WITH top AS (
  SELECT d.campaign_id, row_number() OVER (ORDER BY sum(d.spend) DESC, d.campaign_id) AS place
  FROM mart.campaign_day AS d JOIN page.day AS k ON k.report_date = d.report_date GROUP BY d.campaign_id HAVING sum(d.spend) > 0
)
SELECT k.report_date AS x, k.state, coalesce(least(t.place, 7), 7) - 1 AS place, CASE WHEN t.place <= 6 THEN label(any_value(t.campaign_id)) ELSE 'other campaigns' END AS series, sum(d.spend) AS "value|money", NULL AS mark, NULL AS title
FROM page.day AS k LEFT JOIN mart.campaign_day AS d ON d.report_date = k.report_date AND d.spend <> 0 LEFT JOIN top AS t ON t.campaign_id = d.campaign_id
GROUP BY k.report_date, k.state, least(t.place, 7), CASE WHEN t.place <= 6 THEN t.place END, t.place <= 6
UNION ALL
SELECT k.report_date, NULL, NULL, NULL, NULL, CASE l.field WHEN 'default_bid' THEN '▲' WHEN 'daily_spend_limit' THEN '■' ELSE '●' END,
  string_agg(replace(l.field, '_', ' ') || ' of ' || label(l.campaign_id) || ': ' || coalesce(plain_value(l.old_value), 'none') || ' → ' || coalesce(plain_value(l.new_value), 'none'), '; ' ORDER BY l.campaign_id)
FROM mart.change_log AS l JOIN main.calendar AS k ON k.starts_at <= l.seen_at AND l.seen_at < k.ends_at JOIN page.day AS p ON p.report_date = k.report_date
WHERE l.kind = 'campaign' AND l.field IN ('default_bid', 'daily_spend_limit', 'status') AND l.change_type = 'changed' GROUP BY k.report_date, 6
ORDER BY x, place
-- Block line: Of the 7 days up to each day; dotted while many conversions are still to come
WITH paid AS (SELECT count(d.roi) > 0 AS is_paid FROM page.day AS d)
SELECT d.report_date AS x, CASE WHEN p.is_paid THEN 'ROI' ELSE 'CPA' END AS series, 0 AS place, CASE WHEN p.is_paid THEN d.roi ELSE d.cpa END AS value, CASE WHEN p.is_paid THEN 'percent' ELSE 'money' END AS unit,
  CASE WHEN d.is_young THEN 'dotted' ELSE 'solid' END AS style
FROM page.day AS d CROSS JOIN paid AS p
UNION ALL
SELECT d.report_date, 'what the targets allow', 1, CASE WHEN d.allowed_cpa <= 2 * (SELECT max(o.cpa) FROM page.day AS o) THEN d.allowed_cpa END, 'money', 'dashed' FROM page.day AS d CROSS JOIN paid AS p WHERE NOT p.is_paid
ORDER BY place, x
-- Block table: The days in numbers
SELECT d.report_date AS key, on_day(d.report_date) AS "Day|day", d.state AS "State|chip", d.spend AS "Spend|money", d.conversions AS "Conversions so far|count", d.cpa AS "CPA of 7 days|price",
  d.profit_a_day AS "Profit a day of 7|money", d.roi AS "ROI of 7 days|percent"
FROM page.day AS d ORDER BY d.report_date DESC
