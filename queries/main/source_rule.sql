-- Which sources are blocked, allowed or bid for separately now?
-- Trap: bids may be older than the lists: see unread_since.
-- Column unread_since: Where the last sync could not read the rules of this kind of the campaign: the rule was read at or after this instant, and may be otherwise by now. NULL: it is confirmed.
SELECT
  r.account_id, r.campaign_id, r.source_id, r.rule, r.bid, r.version_no, r.valid_from, r.last_confirmed_at,
  CASE WHEN u.unread_fields = 'everything' OR contains(u.unread_fields, r.rule) THEN r.last_confirmed_at END AS unread_since
FROM main.source_rule_versions AS r
LEFT JOIN int.unconfirmed_settings AS u ON u.account_id = r.account_id AND u.entity_type = 'source settings' AND u.entity_id = r.campaign_id
WHERE r.is_current AND NOT r.is_deleted
