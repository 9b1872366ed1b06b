-- What did each of the last days cost, what did it bring, and by how much did the service restate it?
-- Trap: a day that is not covered is NULL, not 0; an open day is not over; conversions of young days still arrive: cpa_expected counts those to come, cpa does not, and most restatements are late conversions. last_seen_at is when a change was seen; it lies between that and the read before.
-- Parameter days: 7, days to show, and the day of the last read beside them while it is open.
-- Shown: report_date, state, spend, conversions, cpa_expected, conversions_change, spend_change, clicks, cpc, times
-- Column conversions_expected: Conversions of the day with those still to come. NULL: not known, or the day is open.
-- Column cpa_expected: US dollars per conversion, with those still to come: spend divided by conversions_expected. NULL: no conversion, not known, or the day is open.
-- Column times: Reads that saw a change after the day was over. NULL: none did.
-- Column last_seen_at: When the last change was seen.
-- Column rows_inserted: Rows that appeared.
-- Column rows_updated: Rows whose numbers changed.
-- Column rows_deleted: Rows that vanished.
-- Column spend_before: US dollars of the day as it was known until then. NULL: the day is not covered.
-- Column spend_change: US dollars by which the day's spend changed.
-- Column spend_change_share: That change as a share of spend_before: -0.1 is a tenth less. NULL: there was no spend.
-- Column clicks_change: Clicks by which the day changed; a number that was not reported counts as 0.
-- Column conversions_change: Conversions by which the day changed; a number that was not reported counts as 0.
WITH day AS (
  SELECT c.account_id, c.report_date, c.state, c.spend AS stored_spend, c.state IN ('open', 'complete', 'final') AS is_covered
  FROM ops.day_coverage AS c
  WINDOW newest AS (PARTITION BY c.account_id ORDER BY c.report_date DESC)
  QUALIFY row_number() OVER newest <= $days::INTEGER + (first_value(c.state) OVER newest = 'open')::INTEGER
),
summed AS (
  SELECT
    s.account_id, s.report_date, sum(s.spend) AS spend,
    CASE WHEN sum(s.rows_with_clicks) = sum(s.rows) THEN sum(s.clicks) END AS clicks,
    CASE WHEN sum(s.rows_with_conversions) = sum(s.rows) THEN sum(s.conversions) END AS conversions
  FROM int.campaign_spend AS s
  GROUP BY s.account_id, s.report_date
),
changed AS (
  SELECT
    s.account_id, s.report_date, count(DISTINCT s.seen_at) AS times, max(s.seen_at) AS last_seen_at,
    count(*) FILTER (WHERE s.op = 'insert') AS rows_inserted, count(*) FILTER (WHERE s.op = 'update') AS rows_updated,
    count(*) FILTER (WHERE s.op = 'delete') AS rows_deleted,
    sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0))::DECIMAL(18,6) AS spend_change,
    sum(coalesce(s.new_clicks, 0) - coalesce(s.old_clicks, 0))::BIGINT AS clicks_change,
    sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0))::BIGINT AS conversions_change
  FROM main.spend_change AS s
  GROUP BY s.account_id, s.report_date
),
expected AS (
  SELECT m.account_id, m.report_date, CASE WHEN s.account_id IS NULL THEN 0 ELSE s.conversions END / nullif(m.conversions_share, 0) AS conversions_expected
  FROM int.day_maturity AS m
  LEFT JOIN summed AS s ON s.account_id = m.account_id AND s.report_date = m.report_date
)
SELECT
  d.account_id, d.report_date, d.state,
  CASE WHEN s.account_id IS NOT NULL THEN s.spend WHEN d.is_covered THEN 0 END AS spend,
  CASE WHEN s.account_id IS NOT NULL THEN s.clicks WHEN d.is_covered THEN 0 END AS clicks,
  CASE WHEN s.account_id IS NOT NULL THEN s.conversions WHEN d.is_covered THEN 0 END AS conversions,
  (s.spend::DOUBLE / nullif(s.clicks, 0))::DECIMAL(18,3) AS cpc,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa,
  e.conversions_expected::DECIMAL(18,1) AS conversions_expected, (s.spend::DOUBLE / nullif(e.conversions_expected, 0))::DECIMAL(18,2) AS cpa_expected,
  c.times, c.last_seen_at, c.rows_inserted, c.rows_updated, c.rows_deleted, (d.stored_spend - c.spend_change)::DECIMAL(18,6) AS spend_before, c.spend_change,
  (c.spend_change::DOUBLE / nullif(d.stored_spend - c.spend_change, 0)::DOUBLE)::DECIMAL(18,4) AS spend_change_share, c.clicks_change, c.conversions_change
FROM day AS d
LEFT JOIN changed AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
LEFT JOIN summed AS s ON s.account_id = d.account_id AND s.report_date = d.report_date
LEFT JOIN expected AS e ON e.account_id = d.account_id AND e.report_date = d.report_date
ORDER BY d.account_id, d.report_date DESC
