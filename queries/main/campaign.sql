-- What are the campaigns' settings now?
-- Trap: a NULL with read_state partial or unreadable was never readable; with ok it is not set.
SELECT
  c.account_id, c.campaign_id, c.name, c.status, d.delivery_status, c.default_bid, c.daily_spend_limit, c.target_cpa,
  c.start_at, c.end_at, c.country, c.states, c.platforms,
  c.subscribed_more_than_minutes_ago, c.subscribed_less_than_minutes_ago, c.min_age, c.max_age, c.gender,
  c.source_mode, c.unsupported_targeting, c.version_no, c.valid_from, c.last_confirmed_at, c.read_state, u.unread_fields, u.unread_since
FROM main.campaign_versions AS c
LEFT JOIN main.campaign_delivery_history AS d
  ON d.account_id = c.account_id AND d.campaign_id = c.campaign_id AND d.is_current
LEFT JOIN int.unconfirmed_settings AS u ON u.account_id = c.account_id AND u.entity_type = 'campaign' AND u.entity_id = c.campaign_id
WHERE c.is_current AND NOT c.is_deleted
