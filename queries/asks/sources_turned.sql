-- Which sources turned: much better or worse than they were, beyond chance?
-- Trap: a source is held to its own past, by as much as its whole campaign changed. It may have been good or bad before: what to do is in sources_to_block and sources_to_scale.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, sources to show, those that it costs most first.
-- Shown: verdict, source_id, cpa_before, cpa, spend, conversions, conversions_usual, campaign_name, campaign_id
-- Column verdict: worse, better: z_score is beyond threshold turn_min_z.
-- Column spend: US dollars in the performance window.
-- Column conversions: Conversions in the window, those still to come included.
-- Column conversions_usual: Conversions that the same spend would have brought before, by as much as the campaign changed since.
-- Column cpa_before: US dollars per conversion in the 90 days before the window, of which the older weigh less. NULL: it had none.
-- Column cpa: US dollars per conversion in the window, conversions still to come included. NULL: it has none.
-- Column z_score: How far conversions are from the usual, in standard deviations.
WITH moved AS (
  SELECT
    w.*, sum((1e6 * w.arrived_spend)::BIGINT) OVER of_campaign / 1e6::DOUBLE AS campaign_spend, sum(w.counted_conversions) OVER of_campaign AS campaign_conversions,
    sum(w.earlier_spend) OVER of_campaign::DOUBLE AS campaign_earlier_spend, sum(w.earlier_conversions) OVER of_campaign AS campaign_earlier_conversions
  FROM mart.source_window AS w
  WHERE w.source_id <> '' AND ($campaign::VARCHAR = '' OR w.campaign_id = $campaign::VARCHAR)
  WINDOW of_campaign AS (PARTITION BY w.account_id, w.campaign_id)
),
-- The spend before, in dollars of which each is worth as many conversions as one is now.
counted AS (
  SELECT
    m.*, m.earlier_spend::DOUBLE * (m.campaign_earlier_conversions / nullif(m.campaign_earlier_spend, 0)) / nullif(m.campaign_conversions / nullif(m.campaign_spend, 0), 0) AS before_spend
  FROM moved AS m
  WHERE m.arrived_spend > 0 AND m.earlier_spend > 0 AND m.counted_conversions + m.earlier_conversions > 0
),
-- The root of the likelihood ratio of two Poisson counts.
tested AS (
  SELECT
    c.*, c.arrived_spend * c.earlier_conversions / c.before_spend AS usual,
    sqrt(greatest(0, 2 * (
      CASE WHEN c.counted_conversions > 0 THEN
        c.counted_conversions * ln(c.counted_conversions / (c.arrived_spend * (c.counted_conversions + c.earlier_conversions) / (c.arrived_spend + c.before_spend))) ELSE 0 END
      + CASE WHEN c.earlier_conversions > 0 THEN
        c.earlier_conversions * ln(c.earlier_conversions / (c.before_spend * (c.counted_conversions + c.earlier_conversions) / (c.arrived_spend + c.before_spend))) ELSE 0 END))) AS z_score
  FROM counted AS c
  WHERE c.before_spend > 0
)
SELECT
  t.account_id, t.campaign_id, n.name AS campaign_name, t.source_id, CASE WHEN t.counted_conversions < t.usual THEN 'worse' ELSE 'better' END AS verdict,
  t.spend, t.conversions_expected::DECIMAL(18,1) AS conversions, (t.usual * t.counted_spend::DOUBLE / t.arrived_spend)::DECIMAL(18,1) AS conversions_usual,
  (t.earlier_spend::DOUBLE / nullif(t.earlier_conversions, 0))::DECIMAL(18,2) AS cpa_before, (t.arrived_spend / nullif(t.counted_conversions, 0))::DECIMAL(18,2) AS cpa,
  t.z_score
FROM tested AS t
LEFT JOIN main.campaign_history AS n ON n.account_id = t.account_id AND n.campaign_id = t.campaign_id AND n.is_current
WHERE t.z_score >= (SELECT h.value FROM mart.threshold AS h WHERE h.name = 'turn_min_z')
ORDER BY t.spend * CASE WHEN t.counted_conversions < t.usual THEN 1 ELSE 0 END DESC, t.spend DESC, t.account_id, t.campaign_id, t.source_id
LIMIT $rows::BIGINT
