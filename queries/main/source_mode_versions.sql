-- How did each campaign choose its sources, and until when was that confirmed?
-- Trap: bids_last_read_at NULL means that the bids per source were never readable.
SELECT
  v.* REPLACE (
    CASE WHEN v.is_current THEN greatest(v.last_confirmed_at, r.read_at) ELSE v.last_confirmed_at END AS last_confirmed_at,
    CASE WHEN v.is_current THEN greatest(v.bids_last_read_at, b.read_at) ELSE v.bids_last_read_at END AS bids_last_read_at
  )
FROM main.source_mode_history AS v
LEFT JOIN main.reading AS r
  ON r.account_id = v.account_id AND r.campaign_id = v.campaign_id AND r.part = 'source_mode' AND r.entity_id = ''
LEFT JOIN main.reading AS b
  ON b.account_id = v.account_id AND b.campaign_id = v.campaign_id AND b.part = 'bid_override' AND b.entity_id = ''
