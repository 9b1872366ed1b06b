-- Which sources should be blocked, and what does each lose a day?
-- Trap: loss_per_day is what going on is expected to lose, by all that is known of the source, here and in your other campaigns; some of those named are just on target: look at those at the top, which lose most, and leave those near the line. Of crowds_out it is what the campaign, at its daily limit, would earn more at its other sources. A campaign of which most sources are named loses as a whole.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, sources to show, those that lose most a day first; --format ids and request make their calls of these.
-- Parameter min_spend: 0.00, US dollars that a source must have cost in the window.
-- Column changes_left: Changes of sources that the day's budget had left when it was last read. NULL: not known.
-- Shown: verdict, source_id, campaign_name, loss_per_day, spend, conversions, cpa, judged_cpa, campaign_id, action
WITH budget AS (
  SELECT l.account_id, min(CASE WHEN coalesce(l.is_over, false) THEN l.allowed ELSE l.remaining END) AS changes_left
  FROM (
    SELECT n.account_id, n.kind, n.allowed, n.allowed - n.used AS remaining, n.resets_at <= now() AS is_over
    FROM main.account_limit AS n
    QUALIFY row_number() OVER (PARTITION BY n.account_id, n.kind ORDER BY n.seen_at DESC) = 1
  ) AS l
  WHERE l.kind ILIKE '%source%'
  GROUP BY l.account_id
)
SELECT
  b.account_id, b.campaign_id, b.campaign_name, b.source_id, b.action, b.verdict, b.spend, b.clicks, b.conversions,
  b.cpa::DECIMAL(18,2) AS cpa, b.cpa_best_case::DECIMAL(18,2) AS cpa_best_case, b.judged_cpa::DECIMAL(18,2) AS judged_cpa,
  b.loss_per_day::DECIMAL(18,2) AS loss_per_day, b.loss_probability::DECIMAL(18,3) AS loss_probability, b.expected_return::DECIMAL(18,2) AS expected_return,
  b.excess_spend, b.reason, b.at_stake::DECIMAL(18,2) AS at_stake, b.sources, b.campaigns, b.window_from, b.window_to, b.days_known, g.changes_left,
  count(*) OVER () AS all_rows
FROM mart.source_block_candidates AS b
LEFT JOIN budget AS g ON g.account_id = b.account_id
WHERE b.spend >= $min_spend::DECIMAL(18,6) AND ($campaign::VARCHAR = '' OR b.campaign_id = $campaign::VARCHAR)
ORDER BY b.loss_per_day DESC NULLS LAST, b.excess_spend DESC NULLS LAST, b.account_id, b.campaign_id, b.source_id
LIMIT $rows::BIGINT
