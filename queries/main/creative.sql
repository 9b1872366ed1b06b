-- What are the creatives now?
-- Trap: archived ones are listed too; filter on status.
-- Column status: active, paused, pending_review, rejected, draft or archived.
SELECT
  c.account_id, c.creative_id, c.campaign_id, c.title, c.message, c.link, c.image_id, c.icon_id, c.button1, c.button2,
  c.status, c.rejection_reasons, c.rejection_comment, c.image_url, c.icon_url,
  c.version_no, c.valid_from, c.last_confirmed_at, c.read_state, u.unread_fields, u.unread_since
FROM main.creative_versions AS c
LEFT JOIN int.unconfirmed_settings AS u ON u.account_id = c.account_id AND u.entity_type = 'creative' AND u.entity_id = c.creative_id
WHERE c.is_current AND NOT c.is_deleted
