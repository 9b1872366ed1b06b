-- What do the rows of each source of each campaign add up to over the performance window?
-- Trap: ask source_performance and bid_vs_cpc for rates, bounds and settings.
-- Column counted_spend: US dollars of the rows whose conversions are known, days of a break (mart.break_day) left out.
-- Column counted_clicks: Clicks of the rows that tell them, in the same way. NULL: none does.
-- Column counted_conversions: Conversions so far of the rows that tell them, in the same way. NULL: none does.
-- Column arrived_spend: US dollars of counted_spend, each day's by the share of its conversions that has arrived by its age (mart.window_share): the spend whose conversions are there. NULL: conversions are known of no row.
-- Of whole days.
WITH share AS (
  SELECT
    s.account_id,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_1') AS due_1,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_2') AS due_2,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_3') AS due_3,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_4_5') AS due_5,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_6_8') AS due_8,
    max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_9_14') AS due_14,
    coalesce(max(1 - s.conversions_share) FILTER (WHERE s.days = 'spend_day_15'), 0) AS due_15
  FROM mart.window_share AS s
  GROUP BY s.account_id
),
arrived AS (
  SELECT
    e.*,
    (e.counted_spend - coalesce(b.spend, 0))::DOUBLE * (1 - h.due_15)
      - coalesce((e.spend_day_1 - coalesce(b.spend_day_1, 0))::DOUBLE * (h.due_1 - h.due_15), 0)
      - coalesce((e.spend_day_2 - coalesce(b.spend_day_2, 0))::DOUBLE * (h.due_2 - h.due_15), 0)
      - coalesce((e.spend_day_3 - coalesce(b.spend_day_3, 0))::DOUBLE * (h.due_3 - h.due_15), 0)
      - coalesce((e.spend_day_4_5 - coalesce(b.spend_day_4_5, 0))::DOUBLE * (h.due_5 - h.due_15), 0)
      - coalesce((e.spend_day_6_8 - coalesce(b.spend_day_6_8, 0))::DOUBLE * (h.due_8 - h.due_15), 0)
      - coalesce((e.spend_day_9_14 - coalesce(b.spend_day_9_14, 0))::DOUBLE * (h.due_14 - h.due_15), 0)
      AS arrived_spend,
    coalesce(b.spend, 0) AS broken_spend, coalesce(b.clicks, 0) AS broken_clicks, coalesce(b.conversions, 0) AS broken_conversions
  FROM mart.source_evidence AS e
  JOIN share AS h ON h.account_id = e.account_id
  LEFT JOIN mart.source_break AS b ON b.account_id = e.account_id AND b.campaign_id = e.campaign_id AND b.source_id = e.source_id
  WHERE e.spend IS NOT NULL
)
SELECT
  a.account_id, a.campaign_id, a.source_id, a.spend, a.clicks, a.impressions, a.conversions, (a.counted_spend - a.broken_spend)::DECIMAL(18,6) AS counted_spend,
  a.counted_clicks - a.broken_clicks AS counted_clicks, a.counted_conversions - a.broken_conversions AS counted_conversions,
  round(a.arrived_spend, 6) AS arrived_spend,
  CASE
    WHEN a.conversions = 0 THEN 0
    -- Where all days are broken nothing else is known.
    WHEN a.conversions > 0 AND a.counted_spend = a.broken_spend THEN a.conversions
    ELSE (a.conversions - a.broken_conversions) * a.counted_spend::DOUBLE / nullif(a.arrived_spend, 0)
  END AS conversions_expected
FROM arrived AS a
