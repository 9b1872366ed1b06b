-- Which sources are blocked, allowed or bid for separately now?
-- Trap: bids may be older than the lists; source_mode says when they were last readable.
SELECT
  r.account_id, r.campaign_id, r.source_id, r.rule, r.bid, r.version_no, r.valid_from, r.last_confirmed_at
FROM main.source_rule_history AS r
WHERE r.is_current AND NOT r.is_deleted
