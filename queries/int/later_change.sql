-- What did each campaign's days of the week before gain since they were as old as the last week is now?
-- Trap: it is to be taken away from the numbers of now; a day that gained nothing has no row.
-- Column conversions: Conversions.
SELECT
  s.account_id, s.campaign_id, s.report_date,
  sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0)) AS spend, sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0)) AS conversions
FROM main.spend_change AS s
JOIN int.young_before AS y ON y.account_id = s.account_id AND y.report_date = s.report_date AND s.seen_at > y.known_at
-- The same bound again as a constant, so that DuckDB does not read earlier days.
WHERE s.report_date >= (SELECT min(y.report_date) FROM int.young_before AS y)
GROUP BY s.account_id, s.campaign_id, s.report_date
