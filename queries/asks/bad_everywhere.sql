-- Which sources lose in several campaigns, so that one list serves all?
-- Trap: a source is listed for what it is expected to lose in the campaigns that name it (mart.source_block_candidates); in others of yours it may earn: campaigns_earning counts them.
-- Parameter campaigns: 2, campaigns that must name it.
-- Parameter rows: 50, sources to show, those that lose most a day first.
-- Shown: source_id, loss_per_day, spend, conversions, campaigns, campaigns_earning
WITH judged AS (
  SELECT j.account_id, j.source_id, count(*) FILTER (WHERE j.judgement = 'earns') AS campaigns_earning
  FROM mart.source_judgement AS j
  GROUP BY j.account_id, j.source_id
)
SELECT
  b.account_id, b.source_id, count(*) AS campaigns, any_value(j.campaigns_earning) AS campaigns_earning,
  string_agg(b.campaign_id, ', ' ORDER BY b.campaign_id) AS campaign_ids,
  sum(b.spend) AS spend, sum(b.conversions) AS conversions, (sum((1e6 * b.loss_per_day)::BIGINT)::DOUBLE / 1e6)::DECIMAL(18,2) AS loss_per_day, sum(b.excess_spend) AS excess_spend
FROM mart.source_block_candidates AS b
JOIN judged AS j ON j.account_id = b.account_id AND j.source_id = b.source_id
WHERE b.is_losing
GROUP BY b.account_id, b.source_id
HAVING count(*) >= $campaigns::BIGINT
ORDER BY sum((1e6 * b.loss_per_day)::BIGINT) DESC, b.account_id, b.source_id
LIMIT $rows::BIGINT
