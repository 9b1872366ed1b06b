-- Which sources are blocked although what is known of them now acquits them?
-- Trap: those of a campaign at its daily limit that earn less than the campaign (required_return of mart.source_judgement) are left out. Most are acquitted by conversions that came after the block, or by what the source does in other campaigns: let one run for a while and look again. It says nothing of sources that were never paid.
-- Column action: unblock: take it off the block list; allow: put it on the allow list.
-- Column expected_return: US dollars that a dollar spent there is expected to bring back.
-- Column loss_probability: Probability, 0 to 1, that a dollar spent there brings back less than a dollar.
SELECT
  j.account_id, j.campaign_id, h.name AS campaign_name, j.source_id,
  CASE WHEN r.rule = 'blocked' THEN 'unblock' ELSE 'allow' END AS action,
  j.window_from, j.window_to, j.worth, j.worth_origin, j.cpa_expected, j.expected_return, j.loss_probability,
  j.evidence_spend, j.evidence_conversions, j.evidence_spend_elsewhere, j.evidence_conversions_elsewhere
FROM mart.source_judgement AS j
JOIN main.campaign_history AS h ON h.account_id = j.account_id AND h.campaign_id = j.campaign_id AND h.is_current AND NOT h.is_deleted AND h.status = 'active'
LEFT JOIN main.source_mode AS m ON m.account_id = j.account_id AND m.campaign_id = j.campaign_id
LEFT JOIN main.source_rule AS r
  ON r.account_id = j.account_id AND r.campaign_id = j.campaign_id AND r.source_id = j.source_id
  AND r.rule = CASE WHEN coalesce(m.source_mode, h.source_mode) = 'allow_list' THEN 'allowed' ELSE 'blocked' END
WHERE j.worth_origin <> 'campaign_cpa' AND j.expected_return > j.required_return
  AND j.loss_probability < 1 - (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'block_probability')
  AND CASE WHEN coalesce(m.source_mode, h.source_mode) = 'allow_list' THEN r.rule IS NULL ELSE r.rule = 'blocked' END
  AND j.evidence_spend + j.evidence_spend_elsewhere >= j.worth * (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'block_min_worths')
