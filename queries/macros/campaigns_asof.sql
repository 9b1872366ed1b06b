-- What were the campaigns' settings at an instant?
-- Trap: before the first read of a campaign its first known settings are given, marked is_assumed.
-- Shown: campaign_id, name, status, default_bid, daily_spend_limit, target_cpa, country, source_mode, is_assumed, valid_from
-- Column is_assumed: Whether no run had read the campaign yet at the instant; the settings are then the first known ones.
-- Parameters: instant
SELECT
  h.*, h.valid_from > instant AS is_assumed
FROM main.campaign_history AS h
WHERE (h.valid_from <= instant AND h.valid_to > instant) OR (h.version_no = 1 AND h.valid_from > instant)
