-- What were the campaigns' settings at the end of a Chicago day?
-- Trap: one row a campaign, so that it may be joined with that day's spend. Before the first read of a campaign its first known settings are given, marked is_assumed; on the open day, those of now. A campaign that was deleted by the end of the day has no row.
-- Shown: campaign_id, name, status, default_bid, daily_spend_limit, target_cpa, country, source_mode, is_assumed, valid_from
-- Column is_assumed: Whether the settings were first read after the day.
-- Parameters: day
SELECT
  h.*, h.valid_from >= k.ends_at AS is_assumed
FROM main.campaign_history AS h
JOIN main.calendar AS k ON k.account_id = h.account_id AND k.report_date = day::DATE
WHERE (h.valid_from < k.ends_at OR h.version_no = 1) AND h.valid_to >= k.ends_at AND NOT h.is_deleted
