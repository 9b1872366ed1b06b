-- What does each campaign lose by not blocking the sources that should be blocked?
-- Trap: it is what was lost in the window, at the bids and sources of then; blocked sources free their budget for others.
-- Column sources_to_block: Sources of the campaign in source_block_candidates that lose (is_losing).
-- Column spend_on_them: US dollars that these sources cost.
-- Column excess_spend: US dollars that these sources cost beyond what their conversions were worth at judged_cpa.
-- Column excess_share: excess_spend divided by spend: the share of the campaign's money that bought nothing. NULL without spend.
-- Column excess_per_day: US dollars: excess_spend divided by days_known.
WITH
-- Part: source_sums
-- Part: source_campaigns
blocked AS (
  SELECT b.account_id, b.campaign_id, count(*) AS sources_to_block, sum(b.spend)::DECIMAL(18, 6) AS spend_on_them, sum(b.excess_spend)::DECIMAL(18, 6) AS excess_spend
  FROM mart.source_block_candidates AS b
  WHERE b.is_losing
  GROUP BY b.account_id, b.campaign_id
)
SELECT
  c.account_id, c.campaign_id, c.campaign_name, c.campaign_status, c.window_from, c.window_to, c.days_known, c.judged_cpa, c.target_origin, c.campaign_spend::DECIMAL(18, 6) AS spend,
  coalesce(b.sources_to_block, 0) AS sources_to_block,
  coalesce(b.spend_on_them, 0) AS spend_on_them,
  coalesce(b.excess_spend, 0) AS excess_spend,
  coalesce(b.excess_spend, 0)::DOUBLE / nullif(c.campaign_spend, 0)::DOUBLE AS excess_share,
  coalesce(b.excess_spend, 0)::DOUBLE / nullif(c.days_known, 0) AS excess_per_day
FROM campaigns AS c
LEFT JOIN blocked AS b ON b.account_id = c.account_id AND b.campaign_id = c.campaign_id
WHERE c.has_sources
