-- Are the bids per source of each campaign known?
-- Trap: a campaign whose settings were never listed has no row: its bids are unread.
-- Column bid_state: read; stale: not read for longer than bids_stale_hours before the account's last read; unread: never.
WITH level AS (
  -- bids_stale_hours: Bids that were last read longer ago than this are not to be relied on.
  SELECT (36::DOUBLE /* bids_stale_hours */) AS stale_hours
),
read AS (
  SELECT c.account_id, max(c.last_read_at) AS as_of_at
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
)
SELECT
  m.account_id, m.campaign_id,
  CASE
    WHEN m.bids_last_read_at IS NULL THEN 'unread'
    WHEN epoch(r.as_of_at) - epoch(m.bids_last_read_at) > l.stale_hours * 3600 THEN 'stale'
    ELSE 'read'
  END AS bid_state
FROM main.source_mode_versions AS m
CROSS JOIN level AS l
LEFT JOIN read AS r ON r.account_id = m.account_id
WHERE m.is_current
