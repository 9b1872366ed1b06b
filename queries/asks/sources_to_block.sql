-- Which sources should be blocked, and what did each cost beyond its worth?
-- Trap: among many sources, a few are named by chance; look at those at the top, which cost most, and leave those near the line.
-- Calls: block_lists
-- Parameter rows: 20, sources to show, the most expensive first.
-- Parameter min_spend: 0.00, US dollars that a source must have cost in the window.
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id, b.action, b.verdict, b.spend, b.clicks, b.conversions,
  b.cpa::DECIMAL(18,2) AS cpa, b.cpa_best_case::DECIMAL(18,2) AS cpa_best_case, b.judged_cpa::DECIMAL(18,2) AS judged_cpa,
  b.excess_spend, b.window_from, b.window_to, b.days_known
FROM mart.source_block_candidates AS b
WHERE b.spend >= $min_spend::DECIMAL(18,6)
ORDER BY b.excess_spend DESC NULLS LAST, b.account_id, b.campaign_id, b.source_id
LIMIT $rows::BIGINT
