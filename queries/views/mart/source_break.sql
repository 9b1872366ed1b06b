-- What did each source of each campaign spend and bring on days of a break, which count for no judgement of it?
-- Trap: the money was spent all the same: spend of other views includes it. Days of a break are those of mart.break_day.
-- Column spend: US dollars on such days of the performance window, of rows whose conversions are known.
-- Column clicks: Clicks of the same rows.
-- Column conversions: Conversions of the same rows so far.
-- Column spend_day_1: Of spend, that of the days that have this name in source_evidence.
-- Column spend_day_2: Of spend, that of the days that have this name in source_evidence.
-- Column spend_day_3: Of spend, that of the days that have this name in source_evidence.
-- Column spend_day_4_5: Of spend, that of the days that have this name in source_evidence.
-- Column spend_day_6_8: Of spend, that of the days that have this name in source_evidence.
-- Column spend_day_9_14: Of spend, that of the days that have this name in source_evidence.
-- Column earlier_spend: US dollars on such days of the 90 days before the window: half of those of the 30 days next to it, a quarter of the others, as in source_evidence.
-- Column earlier_conversions: Conversions of the same rows, counted in the same way.
WITH span AS (
  SELECT DISTINCT w.account_id, w.window_from, w.window_to
  FROM mart.performance_window AS w
)
SELECT
  s.account_id, s.campaign_id, s.source_id,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date >= p.window_from), 0)::DECIMAL(18,6) AS spend,
  coalesce(sum(s.clicks) FILTER (WHERE s.report_date >= p.window_from), 0)::BIGINT AS clicks,
  coalesce(sum(s.conversions) FILTER (WHERE s.report_date >= p.window_from), 0)::BIGINT AS conversions,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date = p.window_to), 0)::DECIMAL(18,6) AS spend_day_1,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date = p.window_to - 1), 0)::DECIMAL(18,6) AS spend_day_2,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date = p.window_to - 2), 0)::DECIMAL(18,6) AS spend_day_3,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date BETWEEN p.window_to - 4 AND p.window_to - 3), 0)::DECIMAL(18,6) AS spend_day_4_5,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date BETWEEN p.window_to - 7 AND p.window_to - 5), 0)::DECIMAL(18,6) AS spend_day_6_8,
  coalesce(sum(s.spend) FILTER (WHERE s.report_date BETWEEN p.window_to - 13 AND p.window_to - 8), 0)::DECIMAL(18,6) AS spend_day_9_14,
  (coalesce(sum(s.spend * CASE WHEN s.report_date >= p.window_from - 30 THEN 2 ELSE 1 END) FILTER (WHERE s.report_date < p.window_from), 0)::DOUBLE / 4)::DECIMAL(18,6) AS earlier_spend,
  coalesce(sum(s.conversions * CASE WHEN s.report_date >= p.window_from - 30 THEN 2 ELSE 1 END) FILTER (WHERE s.report_date < p.window_from), 0)::DOUBLE / 4 AS earlier_conversions
FROM main.spend_daily AS s
JOIN mart.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date
JOIN span AS p ON p.account_id = s.account_id AND s.report_date BETWEEN p.window_from - 90 AND p.window_to
WHERE s.conversions IS NOT NULL
GROUP BY s.account_id, s.campaign_id, s.source_id
