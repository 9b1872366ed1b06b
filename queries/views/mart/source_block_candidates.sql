-- Which sources should be blocked, because chance alone does not explain how little they bring?
-- Trap: among many sources, a few are named by chance (fewer than 5 % of those that are on target); sources whose conversions were not all reported, those of a campaign whose conversions stopped as a whole (mart.breaks), and those of a paused campaign, which cost nothing while it is, are left out.
-- Column verdict: no_conversions: none for block_spend_in_targets targets of spend; too_costly: even with the most conversions that block_z leaves likely its CPA is above judged_cpa, or block_times_campaign times that where judged_cpa is the campaign's own.
-- Column action: block: put it on the block list; disallow: take it off the allow list.
WITH judged AS (
  SELECT
    p.*,
    CASE
      WHEN p.conversions = 0 AND p.spend_in_targets >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'block_spend_in_targets')
        THEN 'no_conversions'
      -- Byar's bound, as in source_performance, but of block_z.
      WHEN p.conversions > 0
        AND p.spend::DOUBLE / ((p.conversions + 1) * pow(1 - 1 / (9.0 * (p.conversions + 1)) + z.value / (3 * sqrt(p.conversions + 1)), 3)) > p.judged_cpa
        * CASE WHEN p.target_origin = 'target_cpa' THEN 1 ELSE (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'block_times_campaign') END
        THEN 'too_costly'
    END AS verdict
  FROM mart.source_performance AS p
  CROSS JOIN (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'block_z') AS z
  WHERE p.source_id <> '' AND p.spend > 0
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.campaign_status, j.source_id, j.verdict,
  CASE WHEN j.source_mode = 'allow_list' THEN 'disallow' ELSE 'block' END AS action,
  j.window_from, j.window_to, j.days_known, j.spend, j.clicks, j.conversions, j.cpc, j.cvr, j.cpa, j.cpa_best_case,
  j.judged_cpa, j.target_origin, j.spend_in_targets, j.share_of_campaign,
  (j.spend::DOUBLE - j.conversions * j.judged_cpa)::DECIMAL(18, 6) AS excess_spend,
  j.cvr * j.judged_cpa AS break_even_cpc
FROM judged AS j
WHERE j.verdict IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 AS one FROM mart.breaks AS b
    WHERE b.account_id = j.account_id AND b.campaign_id = j.campaign_id AND b.kind = 'conversions_stopped')
  AND coalesce(j.campaign_status, '') NOT IN ('archived', 'deleted', 'rejected', 'paused')
  AND CASE WHEN j.source_mode = 'allow_list' THEN j.list_rule = 'allowed' ELSE j.list_rule IS DISTINCT FROM 'blocked' END
