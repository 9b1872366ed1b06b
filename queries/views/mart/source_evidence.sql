-- What was spent at each source of each campaign, and what did it bring, over the performance window and the 90 days before it?
-- Trap: this is the one sum of spend_daily that the answers about sources rest on; ask source_performance for rates and bounds, source_judgement for what follows.
-- Column spend: US dollars in the window. NULL: no row of the window has the source.
-- Column clicks: Clicks in the window. NULL: some row lacks the number, or no row of the window has the source.
-- Column impressions: Impressions in the window. NULL: some row lacks the number, or no row of the window has the source.
-- Column conversions: Conversions in the window so far. NULL: some row lacks the number, or no row of the window has the source.
-- Column counted_spend: US dollars of the window's rows whose conversions are known. NULL: none is.
-- Column counted_clicks: Clicks of the window's rows that tell them. NULL: none does.
-- Column counted_conversions: Conversions so far of the window's rows that tell them. NULL: none does.
-- Column spend_day_1: Of counted_spend, that of the window's last day. NULL: there is none.
-- Column spend_day_2: Of counted_spend, that of the day before.
-- Column spend_day_3: Of counted_spend, that of the third day counted back.
-- Column spend_day_4_5: Of counted_spend, that of the fourth and fifth day counted back.
-- Column spend_day_6_8: Of counted_spend, that of the sixth to eighth day counted back.
-- Column spend_day_9_14: Of counted_spend, that of the ninth to 14th day counted back.
-- Column earlier_spend: US dollars of the 90 days before the window whose conversions are known: half of those of the 30 days next to it, a quarter of the others. NULL: there are none.
-- Column earlier_conversions: Conversions of the same rows, counted in the same way. NULL: there are none.
-- Stored by campaign_id, source_id.
WITH span AS (
  SELECT DISTINCT w.account_id, w.window_from
  FROM mart.performance_window AS w
),
recent AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL))::DECIMAL(18, 6) AS counted_spend,
    sum(s.clicks)::BIGINT AS counted_clicks, sum(s.conversions)::BIGINT AS counted_conversions,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date = w.window_to))::DECIMAL(18, 6) AS spend_day_1,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date = w.window_to - 1))::DECIMAL(18, 6) AS spend_day_2,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date = w.window_to - 2))::DECIMAL(18, 6) AS spend_day_3,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date BETWEEN w.window_to - 4 AND w.window_to - 3))::DECIMAL(18, 6) AS spend_day_4_5,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date BETWEEN w.window_to - 7 AND w.window_to - 5))::DECIMAL(18, 6) AS spend_day_6_8,
    (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL AND s.report_date BETWEEN w.window_to - 13 AND w.window_to - 8))::DECIMAL(18, 6) AS spend_day_9_14
  FROM main.spend_daily AS s
  JOIN mart.performance_window AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
  -- The window once more, as a constant: what lies before it is not even read.
  WHERE s.report_date >= (SELECT min(w.report_date) FROM mart.performance_window AS w)
  GROUP BY s.account_id, s.campaign_id, s.source_id
),
earlier AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, sum(s.spend)::DECIMAL(18, 6) AS spend, sum(s.conversions)::BIGINT AS conversions,
    coalesce(sum(s.spend) FILTER (WHERE s.report_date >= p.window_from - 30), 0)::DECIMAL(18, 6) AS near_spend,
    coalesce(sum(s.conversions) FILTER (WHERE s.report_date >= p.window_from - 30), 0)::BIGINT AS near_conversions
  FROM main.spend_daily AS s
  JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date = s.report_date AND c.state IN ('complete', 'final')
  JOIN span AS p ON p.account_id = s.account_id AND s.report_date >= p.window_from - 90 AND s.report_date < p.window_from
  WHERE s.conversions IS NOT NULL
    AND s.report_date >= (SELECT min(p.window_from) - 90 FROM span AS p) AND s.report_date < (SELECT max(p.window_from) FROM span AS p)
  GROUP BY s.account_id, s.campaign_id, s.source_id
)
SELECT
  account_id, campaign_id, source_id, r.spend, r.clicks, r.impressions, r.conversions, r.counted_spend, r.counted_clicks, r.counted_conversions,
  r.spend_day_1, r.spend_day_2, r.spend_day_3, r.spend_day_4_5, r.spend_day_6_8, r.spend_day_9_14,
  ((e.spend + e.near_spend)::DOUBLE / 4)::DECIMAL(18, 6) AS earlier_spend, (e.conversions + e.near_conversions)::DOUBLE / 4 AS earlier_conversions
FROM recent AS r
FULL JOIN earlier AS e USING (account_id, campaign_id, source_id)
