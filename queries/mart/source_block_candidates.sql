-- Which sources should be blocked, because going on is expected to lose money, and how much a day?
-- Trap: of sources that are just on target some are named: blocking them costs next to nothing. Those whose conversions were not all reported, of a campaign whose conversions stopped as a whole (mart.breaks), and of a paused campaign, which cost nothing while it is, are left out. Where every source of a campaign is named, it is the campaign that loses.
-- Shown: verdict, source_id, campaign_name, loss_per_day, spend, conversions, cpa, judged_cpa, campaign_id, action
-- Column verdict: By int.source_judgement, where it says loses, but for crowds_out. no_conversions: none so far; too_costly: a conversion is expected to cost more than it is worth; worse_than_campaign: nobody said what a conversion is worth, and it is dearer than its campaign; crowds_out: it may earn, but its campaign spends all of its daily limit, and a dollar is expected to bring more at the campaign's other sources (required_return of int.source_judgement): the worst of them, up to 10 % of the campaign's spend at once. Before November 2026 it was a test of three targets of spend.
-- Column is_losing: Whether going on is expected to lose money (verdict loses of int.source_judgement). False: crowds_out, which may earn, but takes the place of better sources.
-- Column action: block: put it on the block list; disallow: take it off the allow list.
-- Column excess_spend: US dollars spent in the window beyond what its conversions, with those still to come, were worth at judged_cpa. NULL: it is not losing; its loss is what the others would have brought.
-- Column loss_probability: Probability, 0 to 1, that a dollar spent there brings back less than a dollar.
-- Column required_return: US dollars that a dollar has to bring back there: 1; in a campaign at its daily limit what the campaign brings back, if that is more.
-- Column loss_per_day: US dollars that going on is expected to lose a day; of one that is not losing what its spend would earn more at the campaign's other sources.
-- Column at_stake: US dollars a day, as in loss_per_day.
-- Column sources: Different sources that are named of the account, each counted once however many of its campaigns it is named of.
-- Column campaigns: Campaigns of the account of which a source is named.
WITH level AS (
  -- limited_share: Of a campaign at its daily limit no more of its spend than this is named to be moved to its better sources at once: whether there is more to buy there shows on the next days.
  SELECT max(t.value) FILTER (WHERE t.name = 'block_loss') AS loss, (0.1::DOUBLE /* limited_share */) AS limited_share
  FROM int.threshold AS t
),
named AS (
  SELECT
    p.account_id, p.campaign_id, p.campaign_name, p.campaign_status, p.source_id,
    CASE
      WHEN NOT j.is_losing THEN 'crowds_out'
      WHEN j.worth_origin = 'campaign_cpa' THEN 'worse_than_campaign'
      WHEN j.evidence_conversions = 0 THEN 'no_conversions'
      ELSE 'too_costly'
    END AS verdict,
    j.is_losing,
    CASE WHEN p.source_mode = 'allow_list' THEN 'disallow' ELSE 'block' END AS action,
    p.window_from, p.window_to, p.days_known, p.spend, p.clicks, p.conversions, p.cpc, p.cvr, p.cpa, p.cpa_best_case,
    p.judged_cpa, p.target_origin, p.spend_in_targets, p.share_of_campaign,
    CASE WHEN j.is_losing THEN p.spend::DOUBLE - p.conversions_expected * p.judged_cpa END::DECIMAL(18, 6) AS excess_spend,
    p.cvr * p.judged_cpa AS break_even_cpc,
    j.expected_return, j.loss_probability, j.required_return,
    CASE WHEN j.is_losing THEN j.loss_per_day ELSE j.spend_per_day * (j.required_return - j.expected_return) END AS loss_per_day, j.spend_per_day, j.evidence_spend, j.evidence_conversions,
    j.evidence_spend_elsewhere, j.evidence_conversions_elsewhere, j.reason
  FROM (SELECT j.*, j.verdict = 'loses' AS is_losing FROM int.source_judgement AS j) AS j
  JOIN mart.source_performance AS p ON p.account_id = j.account_id AND p.campaign_id = j.campaign_id AND p.source_id = j.source_id
  CROSS JOIN level AS l
  WHERE p.spend > 0
    AND (j.is_losing OR (j.required_return > 1 AND j.verdict <> 'unknown' AND j.expected_return < j.required_return * (1 - l.loss)))
    AND NOT EXISTS (SELECT 1 AS one FROM int.stopped AS b WHERE b.account_id = p.account_id AND b.campaign_id = p.campaign_id)
    AND coalesce(p.campaign_status, '') NOT IN ('archived', 'deleted', 'rejected', 'paused')
    AND CASE WHEN p.source_mode = 'allow_list' THEN p.list_rule = 'allowed' ELSE p.list_rule IS DISTINCT FROM 'blocked' END
  QUALIFY j.is_losing OR sum(p.share_of_campaign) OVER (PARTITION BY p.account_id, p.campaign_id ORDER BY j.expected_return, p.source_id) <= l.limited_share
)
SELECT
  n.* EXCLUDE (reason),
  CASE n.verdict WHEN 'crowds_out' THEN format('its campaign spends all of its daily limit, and a dollar brings back ${:.2f} there, ${:.2f} here', n.required_return, n.expected_return) ELSE n.reason END AS reason,
  n.loss_per_day AS at_stake, count(DISTINCT n.source_id) OVER (PARTITION BY n.account_id) AS sources, count(DISTINCT n.campaign_id) OVER (PARTITION BY n.account_id) AS campaigns
FROM named AS n
