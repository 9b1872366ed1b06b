-- Which settings did each campaign have, and until when was each version confirmed?
-- Trap: one row a version: a join with spend counts the spend once for each version.
SELECT
  v.* REPLACE (CASE WHEN v.is_current THEN greatest(v.last_confirmed_at, r.read_at) ELSE v.last_confirmed_at END AS last_confirmed_at)
FROM main.campaign_history AS v
LEFT JOIN main.reading AS r
  ON r.account_id = v.account_id AND r.campaign_id = v.campaign_id AND r.part = 'campaign' AND r.entity_id = ''
