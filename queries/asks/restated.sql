-- Which finished days did the service restate, and by how much?
-- Trap: last_seen_at is when we saw it; a change lies between that and the read before. Late conversions are restatements too, and most restatements are late conversions.
-- Parameter days: 33, days to look back from the newest day.
-- Shown: report_date, spend_before, spend_change, spend_change_share, conversions_change, clicks_change, times, last_seen_at
-- Column rows_inserted: Rows that appeared.
-- Column rows_updated: Rows whose numbers changed.
-- Column rows_deleted: Rows that vanished.
-- Column spend_before: US dollars of the day as it was known until then. NULL: the day is not covered.
-- Column spend_change: US dollars by which the day's spend changed.
-- Column spend_change_share: That change as a share of spend_before: -0.1 is a tenth less. NULL: there was no spend.
-- Column clicks_change: Clicks by which the day changed; a number that was not reported counts as 0.
-- Column conversions_change: Conversions by which the day changed; a number that was not reported counts as 0.
WITH
-- Part: restatements
newest AS (
  SELECT c.account_id, max(c.report_date) AS report_date
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
),
changed AS (
  SELECT
    r.account_id, r.report_date, count(*) AS times, max(r.seen_at) AS last_seen_at,
    sum(r.rows_inserted) AS rows_inserted, sum(r.rows_updated) AS rows_updated, sum(r.rows_deleted) AS rows_deleted,
    arg_min_null(r.spend_before, r.seen_at) AS spend_before, sum(r.spend_change) AS spend_change,
    sum(r.clicks_change) AS clicks_change, sum(r.conversions_change) AS conversions_change
  FROM restatements AS r
  JOIN newest AS n ON n.account_id = r.account_id AND r.report_date > n.report_date - $days::INTEGER
  GROUP BY r.account_id, r.report_date
)
SELECT
  c.account_id, c.report_date, c.times, c.last_seen_at, c.rows_inserted, c.rows_updated, c.rows_deleted,
  c.spend_before, c.spend_change,
  (c.spend_change::DOUBLE / nullif(c.spend_before, 0)::DOUBLE)::DECIMAL(18,4) AS spend_change_share,
  c.clicks_change, c.conversions_change
FROM changed AS c
ORDER BY c.account_id, c.report_date DESC
