-- How does each campaign choose its sources now?
-- Trap: bids_last_read_at NULL means that its bids per source were never readable.
-- Column unread_fields: Columns that the last sync could not read, sorted, comma-joined: the values shown are those last read; everything: it was not read. NULL: all is as it was read.
-- Column unread_since: What is shown was read at or after this instant, where unread_fields says that it could not be confirmed since. NULL: all is confirmed, or nothing was ever read.
SELECT
  m.account_id, m.campaign_id, m.source_mode, m.bids_last_read_at, m.version_no, m.valid_from, m.last_confirmed_at, m.read_state, u.unread_fields, u.unread_since
FROM main.source_mode_history AS m
LEFT JOIN mart.unconfirmed_settings AS u ON u.account_id = m.account_id AND u.entity_type = 'source settings' AND u.entity_id = m.campaign_id
WHERE m.is_current AND NOT m.is_deleted
