-- Which sources should be blocked, and what does each lose a day?
-- Trap: loss_per_day is what going on is expected to lose, by all that is known of the source, here and in your other campaigns; some of those named are just on target: look at those at the top, which lose most, and leave those near the line. Of crowds_out it is what the campaign, at its daily limit, would earn more at its other sources. A campaign of which most sources are named loses as a whole.
-- Calls: block_lists
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, sources to show, the most expensive first.
-- Parameter min_spend: 0.00, US dollars that a source must have cost in the window.
-- Shown: verdict, source_id, loss_per_day, spend, conversions, cpa, judged_cpa, campaign_name, campaign_id, action
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id, b.action, b.verdict, b.spend, b.clicks, b.conversions,
  b.cpa::DECIMAL(18,2) AS cpa, b.cpa_best_case::DECIMAL(18,2) AS cpa_best_case, b.judged_cpa::DECIMAL(18,2) AS judged_cpa,
  b.loss_per_day::DECIMAL(18,2) AS loss_per_day, b.loss_probability::DECIMAL(18,3) AS loss_probability, b.expected_return::DECIMAL(18,2) AS expected_return,
  b.excess_spend, b.reason, b.at_stake::DECIMAL(18,2) AS at_stake, b.sources, b.campaigns, b.window_from, b.window_to, b.days_known
FROM mart.source_block_candidates AS b
WHERE b.spend >= $min_spend::DECIMAL(18,6) AND ($campaign::VARCHAR = '' OR b.campaign_id = $campaign::VARCHAR)
ORDER BY b.loss_per_day DESC NULLS LAST, b.excess_spend DESC NULLS LAST, b.account_id, b.campaign_id, b.source_id
LIMIT $rows::BIGINT
