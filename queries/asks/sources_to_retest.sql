-- Which blocked sources are acquitted by what is known of them now?
-- Trap: nothing is sent. Let one run for a while and look again: what acquits it are conversions that came after the block, and what it does in your other campaigns.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, sources to show, the surest first.
-- Shown: action, source_id, worth, cpa_expected, expected_return, loss_probability, campaign_name, campaign_id
SELECT
  r.account_id, r.campaign_id, r.campaign_name, r.source_id, r.action, r.worth::DECIMAL(18,2) AS worth, r.worth_origin,
  r.cpa_expected::DECIMAL(18,2) AS cpa_expected, r.expected_return::DECIMAL(18,2) AS expected_return, r.loss_probability::DECIMAL(18,3) AS loss_probability,
  r.evidence_spend::DECIMAL(18,2) AS evidence_spend, r.evidence_conversions::DECIMAL(18,1) AS evidence_conversions,
  r.evidence_spend_elsewhere::DECIMAL(18,2) AS evidence_spend_elsewhere, r.evidence_conversions_elsewhere::DECIMAL(18,1) AS evidence_conversions_elsewhere
FROM mart.source_retest_candidates AS r
WHERE $campaign::VARCHAR = '' OR r.campaign_id = $campaign::VARCHAR
ORDER BY r.loss_probability, r.account_id, r.campaign_id, r.source_id
LIMIT $rows::BIGINT
