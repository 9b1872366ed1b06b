-- How does each campaign choose its sources now?
-- Trap: bids_last_read_at NULL means that its bids per source were never readable.
SELECT
  m.account_id, m.campaign_id, m.source_mode, m.bids_last_read_at, m.version_no, m.valid_from, m.last_confirmed_at, m.read_state, u.unread_fields, u.unread_since
FROM main.source_mode_versions AS m
LEFT JOIN int.unconfirmed_settings AS u ON u.account_id = m.account_id AND u.entity_type = 'source settings' AND u.entity_id = m.campaign_id
WHERE m.is_current AND NOT m.is_deleted
