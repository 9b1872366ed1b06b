-- Which rules about sources did each campaign have, and until when was each confirmed?
-- Trap: a rule that ended has a version with is_deleted.
SELECT
  v.* REPLACE (
    CASE WHEN v.is_current THEN greatest(v.last_confirmed_at, coalesce(e.read_at, r.read_at)) ELSE v.last_confirmed_at END AS last_confirmed_at
  )
FROM main.source_rule_history AS v
LEFT JOIN main.reading AS r
  ON r.account_id = v.account_id AND r.campaign_id = v.campaign_id AND r.part = v.rule AND r.entity_id = ''
LEFT JOIN main.reading AS e
  ON e.account_id = v.account_id AND e.campaign_id = v.campaign_id AND e.part = v.rule AND e.entity_id = v.source_id
