-- What was spent at each source of each campaign, and what did it bring, over the performance window and the 90 days before it?
-- Trap: ask source_performance and bid_vs_cpc for rates, bounds and settings. Sources that spent only in the 90 days before the window are here too: their sums are NULL.
-- Column spend: US dollars in the window. NULL: no row of the window has the source.
-- Column counted_spend: US dollars of the window's rows whose conversions are known, days on which conversions had stopped (int.break_day) left out. NULL: there are none.
-- Column counted_clicks: Clicks of the window's rows that tell them, in the same way. NULL: none does.
-- Column counted_conversions: Conversions so far of the same rows. NULL: there are none.
-- Column arrived_spend: US dollars of counted_spend, each day's by the share of its conversions that has arrived by its age (int.day_maturity): the spend whose conversions are there. NULL: there are none, or how many of one of the source's days are still to come is not known yet.
-- Column earlier_spend: US dollars of the 90 days before the window whose conversions are known: half of those of the 30 days next to it, a quarter of the others. NULL: there are none.
-- Column earlier_conversions: Conversions of the same rows, counted in the same way. NULL: there are none.
-- Column spend_lately: US dollars of the last 8 days of the window, days on which conversions had stopped included.
WITH span AS (
  SELECT DISTINCT w.account_id, w.window_from, w.window_to
  FROM int.performance_window AS w
),
day AS (
  SELECT
    c.account_id, c.report_date, m.conversions_share AS share, c.report_date >= p.window_from AS is_recent, c.report_date > p.window_to - 8 AS is_late,
    CASE WHEN c.report_date < p.window_from - 30 THEN 1 ELSE 2 END AS quarters
  FROM int.whole_day AS c
  JOIN span AS p ON p.account_id = c.account_id AND c.report_date BETWEEN p.window_from - 90 AND p.window_to
  LEFT JOIN int.day_maturity AS m ON m.account_id = c.account_id AND m.report_date = c.report_date
),
-- Days on which conversions fell but did not stop stay in: a source may be the reason.
told AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, s.spend, s.clicks, s.impressions, s.conversions, d.share, d.is_recent, d.is_late, d.quarters,
    s.conversions IS NOT NULL AS is_told, b.account_id IS NULL AND s.conversions IS NOT NULL AS is_counted, b.account_id IS NULL AS is_usual
  FROM main.spend_daily AS s
  JOIN day AS d ON d.account_id = s.account_id AND d.report_date = s.report_date
  LEFT JOIN int.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date AND b.kind = 'conversions_stopped'
  -- The same days again as a constant, so that DuckDB does not read earlier ones.
  WHERE s.report_date >= (SELECT min(d.report_date) FROM day AS d) AND s.report_date <= (SELECT max(d.report_date) FROM day AS d)
)
-- Add up exactly: a sum of floats would depend on the order of the rows.
SELECT
  t.account_id, t.campaign_id, t.source_id,
  sum(t.spend) FILTER (WHERE t.is_recent)::DECIMAL(18, 6) AS spend,
  CASE WHEN NOT bool_or(t.is_recent AND t.clicks IS NULL) THEN sum(t.clicks) FILTER (WHERE t.is_recent)::BIGINT END AS clicks,
  CASE WHEN NOT bool_or(t.is_recent AND t.impressions IS NULL) THEN sum(t.impressions) FILTER (WHERE t.is_recent)::BIGINT END AS impressions,
  CASE WHEN NOT bool_or(t.is_recent AND NOT t.is_told) THEN sum(t.conversions) FILTER (WHERE t.is_recent)::BIGINT END AS conversions,
  sum(t.spend) FILTER (WHERE t.is_recent AND t.is_counted)::DECIMAL(18, 6) AS counted_spend,
  sum(CASE WHEN t.is_usual THEN t.clicks WHEN t.clicks IS NOT NULL THEN 0 END) FILTER (WHERE t.is_recent)::BIGINT AS counted_clicks,
  sum(t.conversions) FILTER (WHERE t.is_recent AND t.is_counted)::BIGINT AS counted_conversions,
  CASE WHEN NOT bool_or(t.is_recent AND t.share IS NULL) THEN
    sum((1e6 * t.spend::DOUBLE * t.share)::BIGINT) FILTER (WHERE t.is_recent AND t.is_counted)::DOUBLE / 1e6
  END AS arrived_spend,
  (sum(t.spend * t.quarters) FILTER (WHERE NOT t.is_recent AND t.is_counted)::DOUBLE / 4)::DECIMAL(18, 6) AS earlier_spend,
  sum(t.conversions * t.quarters) FILTER (WHERE NOT t.is_recent AND t.is_counted)::DOUBLE / 4 AS earlier_conversions,
  coalesce(sum(t.spend) FILTER (WHERE t.is_late AND t.is_told), 0)::DECIMAL(18, 6) AS spend_lately
FROM told AS t
GROUP BY t.account_id, t.campaign_id, t.source_id
HAVING bool_or(t.is_recent OR t.is_told)
