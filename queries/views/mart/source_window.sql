-- What do the rows of each source of each campaign add up to over the performance window?
-- Trap: ask source_performance and bid_vs_cpc for rates, bounds and settings. Sources that spent only in the 90 days before the window are here too: their sums are NULL.
-- Column counted_spend: US dollars of the rows whose conversions are known, days on which conversions had stopped (mart.break_day) left out.
-- Column counted_clicks: Clicks of the rows that tell them, in the same way. NULL: none does.
-- Column counted_conversions: Conversions so far of the rows that tell them, in the same way. NULL: none does.
-- Column arrived_spend: US dollars of counted_spend, each day's by the share of its conversions that has arrived by its age (mart.day_maturity): the spend whose conversions are there. NULL: conversions are known of no row.
-- Column earlier_spend: US dollars of the 90 days before the window, as in source_evidence, such days left out. NULL: there are none.
-- Column earlier_conversions: Conversions of the same rows, counted in the same way.
-- Column spend_lately: US dollars of the last 8 days of the window, broken ones included.
-- Of whole days.
WITH maturity AS (
  SELECT m.* FROM mart.day_maturity AS m
),
break_day AS (
  WITH
-- Part: break_day
),
-- Part: window_share
span AS (
  SELECT DISTINCT w.account_id, w.window_from, w.window_to
  FROM mart.performance_window AS w
),
share AS (
  SELECT
    s.account_id,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_1') AS due_1,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_2') AS due_2,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_3') AS due_3,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_4_5') AS due_5,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_6_8') AS due_8,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_9_14') AS due_14,
    coalesce(max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_15'), 0) AS due_15
  FROM window_share AS s
  GROUP BY s.account_id
),
-- Rows of days on which conversions had stopped: what only fell may be the fault of a source. age is the days to the last of the window, NULL before the window.
lost AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, s.spend, s.clicks, s.conversions,
    CASE WHEN s.report_date >= p.window_from THEN p.window_to - s.report_date END AS age,
    CASE WHEN s.report_date >= p.window_from - 30 THEN 2 ELSE 1 END AS quarters
  FROM main.spend_daily AS s
  JOIN break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date AND b.kind = 'conversions_stopped'
  JOIN span AS p ON p.account_id = s.account_id AND s.report_date BETWEEN p.window_from - 90 AND p.window_to
  WHERE s.conversions IS NOT NULL
),
broken AS (
  SELECT
    l.account_id, l.campaign_id, l.source_id,
    sum(l.spend) FILTER (WHERE l.age IS NOT NULL) AS spend, sum(l.clicks) FILTER (WHERE l.age IS NOT NULL)::BIGINT AS clicks,
    sum(l.conversions) FILTER (WHERE l.age IS NOT NULL)::BIGINT AS conversions,
    sum(l.spend) FILTER (WHERE l.age = 0) AS spend_day_1,
    sum(l.spend) FILTER (WHERE l.age = 1) AS spend_day_2,
    sum(l.spend) FILTER (WHERE l.age = 2) AS spend_day_3,
    sum(l.spend) FILTER (WHERE l.age BETWEEN 3 AND 4) AS spend_day_4_5,
    sum(l.spend) FILTER (WHERE l.age BETWEEN 5 AND 7) AS spend_day_6_8,
    sum(l.spend) FILTER (WHERE l.age BETWEEN 8 AND 13) AS spend_day_9_14,
    (sum(l.spend * l.quarters) FILTER (WHERE l.age IS NULL)::DOUBLE / 4)::DECIMAL(18, 6) AS earlier_spend, sum(l.conversions * l.quarters) FILTER (WHERE l.age IS NULL)::DOUBLE / 4 AS earlier_conversions
  FROM lost AS l
  GROUP BY l.account_id, l.campaign_id, l.source_id
),
kept AS (
  SELECT
    e.account_id, e.campaign_id, e.source_id, e.spend, e.clicks, e.impressions, e.conversions, e.counted_spend AS all_spend,
    (e.counted_spend - coalesce(b.spend, 0))::DECIMAL(18, 6) AS counted_spend, e.counted_clicks - coalesce(b.clicks, 0) AS counted_clicks,
    e.counted_conversions - coalesce(b.conversions, 0) AS counted_conversions,
    (e.spend_day_1 - coalesce(b.spend_day_1, 0))::DOUBLE AS spend_day_1,
    (e.spend_day_2 - coalesce(b.spend_day_2, 0))::DOUBLE AS spend_day_2,
    (e.spend_day_3 - coalesce(b.spend_day_3, 0))::DOUBLE AS spend_day_3,
    (e.spend_day_4_5 - coalesce(b.spend_day_4_5, 0))::DOUBLE AS spend_day_4_5,
    (e.spend_day_6_8 - coalesce(b.spend_day_6_8, 0))::DOUBLE AS spend_day_6_8,
    (e.spend_day_9_14 - coalesce(b.spend_day_9_14, 0))::DOUBLE AS spend_day_9_14,
    (e.earlier_spend - coalesce(b.earlier_spend, 0))::DECIMAL(18, 6) AS earlier_spend, e.earlier_conversions - coalesce(b.earlier_conversions, 0) AS earlier_conversions,
    coalesce(e.spend_day_1, 0) + coalesce(e.spend_day_2, 0) + coalesce(e.spend_day_3, 0) + coalesce(e.spend_day_4_5, 0) + coalesce(e.spend_day_6_8, 0) AS spend_lately
  FROM mart.source_evidence AS e
  LEFT JOIN broken AS b ON b.account_id = e.account_id AND b.campaign_id = e.campaign_id AND b.source_id = e.source_id
),
arrived AS (
  SELECT
    k.*,
    k.counted_spend::DOUBLE * (1 - h.due_15)
      - coalesce(k.spend_day_1 * (h.due_1 - h.due_15), 0) - coalesce(k.spend_day_2 * (h.due_2 - h.due_15), 0)
      - coalesce(k.spend_day_3 * (h.due_3 - h.due_15), 0) - coalesce(k.spend_day_4_5 * (h.due_5 - h.due_15), 0)
      - coalesce(k.spend_day_6_8 * (h.due_8 - h.due_15), 0) - coalesce(k.spend_day_9_14 * (h.due_14 - h.due_15), 0) AS arrived_spend
  FROM kept AS k
  JOIN share AS h ON h.account_id = k.account_id
)
SELECT
  a.account_id, a.campaign_id, a.source_id, a.spend, a.clicks, a.impressions, a.conversions, a.counted_spend, a.counted_clicks, a.counted_conversions,
  round(a.arrived_spend, 6) AS arrived_spend,
  CASE
    WHEN a.conversions = 0 THEN 0
    -- Where all days are broken nothing else is known.
    WHEN a.conversions > 0 AND a.counted_spend = 0 THEN a.conversions
    WHEN a.conversions > 0 THEN a.counted_conversions * a.all_spend::DOUBLE / nullif(a.arrived_spend, 0)
  END AS conversions_expected,
  a.earlier_spend, a.earlier_conversions, a.spend_lately
FROM arrived AS a
