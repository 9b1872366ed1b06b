-- Which sources earn their money and can take more of it, and at which bid do they earn most?
-- Trap: a higher bid buys more expensive clicks, and not always more of them: best_bid rests on how clicks follow bids (read from its own changes of bids; until there are some, 1 is assumed), safe_cpc only says what you can pay at most. A source with a lucky month looks better than it is: int.source_judgement allows for that. In a campaign that spends all of its daily limit a higher bid only moves money from the other sources: a dollar has to bring back what the campaign does (required_return of int.source_judgement), and best_bid is the bid that earns most beyond that.
-- Column verdict: below_target: it surely brings back more than it costs; below_campaign: nobody said what a conversion is worth, and it is cheaper than its campaign; acquitted: it is blocked, and what is known now, by conversions that came after the block or from other campaigns, acquits it: its numbers of the window are NULL.
-- Column safe_cpc: The most you can pay: US dollars per click at which even its low conversion rate (cvr_low) costs just what a conversion is worth (the campaign's own CPA where nobody said); never more than bid_cap. There nothing is earned.
-- Column headroom: US dollars per click from its CPC up to safe_cpc.
-- Column cvr_low: Conversions per click that it surely reaches: its CPC by the highest CPA that chance leaves likely (cpa_expected_high of int.source_judgement).
-- Column bid_now: US dollars per click that are bid for it now, as last readable. Sources whose bid is at the best, or at safe_cpc, already are left out.
-- Column bid_headroom: US dollars per click from bid_now up to safe_cpc.
-- Column bid_cap: US dollars per click that the service takes at most for a source: 3 times the campaign's default bid, and no more than 25.
-- Column is_optimized: Whether the campaign has a target CPA, with which the service moves bids by itself: a bid of your own ends that for the source.
-- Column best_bid: US dollars per click to bid to earn most: more clicks at a price that still leaves the most over, no more than half as much again as now, bid_cap and safe_cpc. NULL: the service moves its bid, or nobody said what a conversion is worth.
-- Column best_bid_gain: US dollars a day that best_bid is expected to earn beyond the bid of now. NULL: see best_bid.
-- Column at_stake: US dollars a day that best_bid is expected to earn beyond the bid of now. NULL: see best_bid.
-- Column action: What to bid, or unblock (take it off the block list) or allow (put it on the allow list). NULL: the service moves the bid.
WITH judged AS (
  SELECT
    p.*, j.reason, j.worth, j.worth_origin, j.expected_return, j.required_return, j.spend_per_day, p.cpc / j.cpa_expected_high AS cvr_low,
    coalesce(p.bid_override, p.default_bid) AS bid_now, least(3 * p.default_bid::DOUBLE, 25) AS bid_cap, e.elasticity
  FROM int.source_judgement AS j
  JOIN mart.source_performance AS p ON p.account_id = j.account_id AND p.campaign_id = j.campaign_id AND p.source_id = j.source_id
  JOIN int.bid_elasticity AS e ON e.account_id = j.account_id
  -- Among many small sources, a few have a conversion by luck.
  WHERE j.verdict = 'earns' AND j.expected_return >= j.required_return AND p.clicks > 0 AND p.conversions >= (3::DOUBLE /* scale_min_conversions */)
),
bounded AS (
  SELECT j.*, least(j.cvr_low * j.worth, coalesce(j.bid_cap, j.cvr_low * j.worth)) AS safe_cpc
  FROM judged AS j
),
moved AS (
  SELECT
    b.*,
    CASE WHEN b.target_cpa IS NULL AND b.worth_origin = 'payout' AND b.bid_now > 0 THEN
      least(1.5, b.expected_return / b.required_return * b.elasticity / (1 + b.elasticity), b.bid_cap / b.bid_now::DOUBLE, b.safe_cpc / nullif(b.cpc, 0))
    END AS times
  FROM bounded AS b
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.source_id,
  CASE WHEN j.worth_origin = 'campaign_cpa' THEN 'below_campaign' ELSE 'below_target' END AS verdict,
  j.window_from, j.window_to, j.days_known, j.spend, j.clicks, j.conversions, j.cpc, j.cvr, j.cpa, j.cpa_worst_case,
  j.target_cpa, j.campaign_cpa, j.share_of_campaign, j.default_bid, j.bid_override,
  j.safe_cpc, j.safe_cpc - j.cpc AS headroom,
  j.cvr_low, j.bid_now, j.safe_cpc - j.bid_now::DOUBLE AS bid_headroom, j.bid_cap, j.target_cpa IS NOT NULL AS is_optimized,
  j.worth, j.expected_return, j.times * j.bid_now::DOUBLE AS best_bid,
  j.spend_per_day * (pow(j.times, j.elasticity) * (j.expected_return - j.required_return * j.times) - (j.expected_return - j.required_return)) AS best_bid_gain,
  j.reason, j.spend_per_day * (pow(j.times, j.elasticity) * (j.expected_return - j.required_return * j.times) - (j.expected_return - j.required_return)) AS at_stake,
  CASE
    WHEN j.times IS NOT NULL THEN format('bid ${:.3f} a click', j.times * j.bid_now::DOUBLE)
    WHEN j.target_cpa IS NULL THEN format('bid more, at most ${:.3f} a click', j.safe_cpc)
  END AS action
FROM moved AS j
WHERE j.safe_cpc > j.cpc
  AND CASE
    WHEN j.times IS NULL THEN coalesce(j.safe_cpc > j.bid_now, true)
    ELSE j.times >= 1 + (0.1::DOUBLE /* bid_min_change */)
  END
  -- scale_max_share: A source with a larger share of its campaign's spend has little room to grow.
  AND j.share_of_campaign <= (0.2::DOUBLE /* scale_max_share */)
  AND j.campaign_status = 'active'
  AND CASE WHEN j.source_mode = 'allow_list' THEN j.list_rule = 'allowed' ELSE j.list_rule IS DISTINCT FROM 'blocked' END
  AND NOT EXISTS (SELECT 1 AS one FROM int.stopped AS b WHERE b.account_id = j.account_id AND b.campaign_id = j.campaign_id)
UNION ALL BY NAME
-- Leave out sources of a campaign at its limit that earn less than the campaign.
SELECT
  j.account_id, j.campaign_id, c.campaign_name, j.source_id, 'acquitted' AS verdict,
  CASE WHEN c.source_mode = 'allow_list' THEN 'allow' ELSE 'unblock' END AS action,
  j.window_from, j.window_to, j.worth, j.expected_return, j.reason
FROM int.source_judgement AS j
JOIN int.campaign_now AS c ON c.account_id = j.account_id AND c.campaign_id = j.campaign_id AND c.campaign_status = 'active'
LEFT JOIN main.source_rule_history AS rb
  ON rb.account_id = j.account_id AND rb.campaign_id = j.campaign_id AND rb.source_id = j.source_id
  AND rb.rule = 'blocked' AND rb.is_current AND NOT rb.is_deleted
LEFT JOIN main.source_rule_history AS ra
  ON ra.account_id = j.account_id AND ra.campaign_id = j.campaign_id AND ra.source_id = j.source_id
  AND ra.rule = 'allowed' AND ra.is_current AND NOT ra.is_deleted
WHERE j.verdict <> 'unknown' AND j.worth_origin <> 'campaign_cpa' AND j.expected_return > j.required_return
  AND j.loss_probability < 1 - (SELECT t.value FROM int.threshold AS t WHERE t.name = 'block_probability')
  AND CASE WHEN c.source_mode = 'allow_list' THEN ra.rule IS NULL OR rb.rule IS NOT NULL ELSE rb.rule IS NOT NULL END
  AND j.evidence_spend + j.evidence_spend_elsewhere >= j.worth * (0.5::DOUBLE /* block_min_worths */)
