-- Which settings of campaigns and creatives changed lately, and between which two reads?
-- Trap: a change happened after changed_after and not after seen_at; several between two reads show as one.
WITH changed AS (
  SELECT account_id, 'campaign' AS kind, campaign_id AS id, change_type, changed_columns, changed_after, valid_from, version_no FROM campaign_history
  UNION ALL
  SELECT account_id, 'creative' AS kind, creative_id AS id, change_type, changed_columns, changed_after, valid_from, version_no FROM creative_history
)
SELECT
  c.kind, c.id, c.change_type, c.changed_columns,
  date_trunc('second', c.changed_after) AS changed_after,
  date_trunc('second', c.valid_from) AS seen_at
FROM changed AS c
WHERE c.version_no > 1
ORDER BY c.valid_from DESC, c.id
LIMIT 10
