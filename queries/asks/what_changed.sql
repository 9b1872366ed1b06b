-- Which finished days did the service restate, and by how much?
-- Trap: seen_at is when we saw it; the change lies between that and the read before.
SELECT
  s.report_date,
  count(*) AS rows_changed,
  coalesce(sum(s.new_spend), 0) - coalesce(sum(s.old_spend), 0) AS spend_change,
  coalesce(sum(s.new_conversions), 0) - coalesce(sum(s.old_conversions), 0) AS conversions_change,
  count(*) FILTER (WHERE s.op = 'delete') AS rows_vanished
FROM spend_change AS s
GROUP BY s.account_id, s.report_date
ORDER BY s.account_id, s.report_date DESC
LIMIT 8
