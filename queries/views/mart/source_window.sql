-- What do the rows of each source of each campaign add up to over the performance window?
-- Trap: ask source_performance and bid_vs_cpc for rates, bounds and settings.
-- Column counted_spend: US dollars of the rows whose conversions are known.
-- Column counted_clicks: Clicks of the rows that tell them. NULL: none does.
-- Column counted_conversions: Conversions so far of the rows that tell them. NULL: none does.
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
    e.counted_spend::DOUBLE * (1 - h.due_15)
      - coalesce(e.spend_day_1::DOUBLE * (h.due_1 - h.due_15), 0) - coalesce(e.spend_day_2::DOUBLE * (h.due_2 - h.due_15), 0)
      - coalesce(e.spend_day_3::DOUBLE * (h.due_3 - h.due_15), 0) - coalesce(e.spend_day_4_5::DOUBLE * (h.due_5 - h.due_15), 0)
      - coalesce(e.spend_day_6_8::DOUBLE * (h.due_8 - h.due_15), 0) - coalesce(e.spend_day_9_14::DOUBLE * (h.due_14 - h.due_15), 0) AS arrived_spend
  FROM mart.source_evidence AS e
  JOIN share AS h ON h.account_id = e.account_id
  WHERE e.spend IS NOT NULL
)
SELECT
  a.account_id, a.campaign_id, a.source_id, a.spend, a.clicks, a.impressions, a.conversions, a.counted_spend, a.counted_clicks, a.counted_conversions,
  round(a.arrived_spend, 6) AS arrived_spend,
  CASE WHEN a.conversions = 0 THEN 0 ELSE a.conversions * a.counted_spend::DOUBLE / nullif(a.arrived_spend, 0) END AS conversions_expected
FROM arrived AS a
