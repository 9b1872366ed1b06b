-- Which sources did each campaign block, allow or bid for separately at an instant?
-- Trap: a rule counts from the read that first saw it, and the lists count only as the campaign's source_mode of then says (campaigns_asof). Before the first read of a campaign's sources the rules that it found are given, marked is_assumed.
-- Shown: campaign_id, source_id, rule, bid, is_assumed, valid_from, valid_to
-- Column is_assumed: Whether no run had read the campaign's sources yet at the instant; the rule is then one that the first read found.
-- Parameters: instant
SELECT
  h.*, h.valid_from > instant AS is_assumed
FROM main.source_rule_history AS h
LEFT JOIN (
  SELECT m.account_id, m.campaign_id, min(m.valid_from) AS first_look_at
  FROM main.source_mode_history AS m
  GROUP BY m.account_id, m.campaign_id
) AS f ON f.account_id = h.account_id AND f.campaign_id = h.campaign_id
WHERE NOT h.is_deleted
  AND ((h.valid_from <= instant AND h.valid_to > instant) OR (h.version_no = 1 AND h.valid_from > instant AND h.valid_from <= f.first_look_at))
