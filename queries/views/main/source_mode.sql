-- How does each campaign choose its sources now?
-- Trap: bids_last_read_at NULL means that its bids per source were never readable.
SELECT
  m.account_id, m.campaign_id, m.source_mode, m.bids_last_read_at, m.version_no, m.valid_from, m.last_confirmed_at, m.read_state
FROM main.source_mode_history AS m
WHERE m.is_current AND NOT m.is_deleted
