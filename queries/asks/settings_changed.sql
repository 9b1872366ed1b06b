-- What changed in the settings, from what to what, and did it help?
-- Trap: before and after is not proof; several changes between two reads appear as one; and a CPA of few days after is too high, for conversions still arrive: cpa_change compares at equal age, and verdict says whether chance explains it.
-- Parameter days: 14, days to look back from now.
-- Parameter rows: 30, changes to show, the newest first.
-- Shown: verdict, campaign_name, change_type, field, old_value, new_value, seen_at, cpa_before, cpa_after, cpa_change
SELECT
  c.account_id, c.seen_at, c.not_before, c.kind, c.campaign_id, c.campaign_name, c.creative_id, c.source_id, c.rule,
  c.change_type, c.field, c.old_value, c.new_value,
  i.days_before, i.cpa_before::DECIMAL(18,2) AS cpa_before, i.days_after, i.cpa_after::DECIMAL(18,2) AS cpa_after,
  i.spend_per_day_change::DECIMAL(18,3) AS spend_per_day_change, i.other_changes,
  i.cpa_change::DECIMAL(18,3) AS cpa_change, i.compared_by, i.control_campaigns, i.control_cpa_change::DECIMAL(18,3) AS control_cpa_change, i.verdict
FROM mart.change_log AS c
LEFT JOIN mart.change_impact AS i
  ON c.kind = 'campaign' AND i.account_id = c.account_id AND i.campaign_id = c.campaign_id AND i.version_no = c.version_no
WHERE c.kind <> 'delivery' AND epoch(c.seen_at) > epoch(now()) - 86400 * $days::INTEGER
ORDER BY c.seen_at DESC, c.account_id, c.kind, c.campaign_id, c.creative_id, c.source_id, c.rule, c.field
LIMIT $rows::BIGINT
