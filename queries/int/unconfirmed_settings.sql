-- Which settings shown as current could the last sync not confirm, and how old may they be?
-- Trap: what is shown is what was last read; it may be otherwise by now. An archived campaign that was read is not read again, and a stub was never read: neither counts as unconfirmed.
-- Column entity_type: campaign, creative, source settings or balance.
-- Column entity_id: The campaign or creative. Empty text: the account's balance.
-- Column unread_fields: Columns that could not be read, sorted, comma-joined; blocked, allowed, optimized and bid_overrides are the rules of that kind; everything: it was not read.
-- Column unread_since: All that is shown was read at or after this instant: it may be as old as that. NULL: nothing was ever read.
-- Column message: Why, where the service or the reading said it.
WITH unlisted AS (
  -- Joins instead of subqueries: otherwise a reader's correlated subquery over this view fails in DuckDB.
  SELECT l.account_id, l._run_id AS run_id
  FROM ops.entity_read AS l
  WHERE l.entity_type = 'listing' AND l.entity_id = 'campaigns'
  GROUP BY ALL
),
tried AS (
  SELECT r.account_id, max(r.started_at) AS started_at, arg_max(r._run_id, r.started_at) AS run_id
  FROM ops.run AS r
  LEFT JOIN unlisted AS l ON l.account_id = r.account_id AND l.run_id = r._run_id
  WHERE r.command = 'sync' AND r.published AND (r.campaigns_read > 0 OR l.run_id IS NOT NULL)
  GROUP BY r.account_id
),
-- The parts of each entity that a run could not read.
missed AS (
  SELECT
    e.account_id,
    CASE WHEN e.entity_type = 'account' AND e.entity_id = 'balance' THEN 'balance' WHEN e.entity_type = 'source settings of' THEN 'source settings' ELSE e.entity_type END AS entity_type,
    CASE WHEN e.entity_type = 'account' THEN '' ELSE e.entity_id END AS entity_id,
    e._run_id AS run_id, max(e.last_seen_at) AS last_seen_at,
    CASE WHEN bool_or(e.field = '') THEN 'everything' ELSE string_agg(DISTINCT e.field, ',' ORDER BY e.field) END AS fields,
    min(e.message) AS message
  FROM ops.entity_read AS e
  WHERE e.entity_type IN ('campaign', 'creative', 'source settings', 'source settings of') OR (e.entity_type = 'account' AND e.entity_id = 'balance')
  GROUP BY ALL
),
newest AS (
  SELECT m.*
  FROM missed AS m
  QUALIFY row_number() OVER (PARTITION BY m.account_id, m.entity_type, m.entity_id ORDER BY m.last_seen_at DESC) = 1
),
balance_read AS (
  SELECT r.account_id, max(r.started_at) AS started_at
  FROM ops.run AS r
  LEFT JOIN missed AS b ON b.account_id = r.account_id AND b.entity_type = 'balance' AND b.run_id = r._run_id
  WHERE r.command = 'sync' AND r.published AND r.campaigns_read > 0 AND b.run_id IS NULL
  GROUP BY r.account_id
),
entities AS (
  SELECT
    c.account_id, 'campaign' AS entity_type, c.campaign_id AS entity_id, c.campaign_id, c.read_state, c.last_confirmed_at, c.last_confirmed_at AS bids_at,
    d.last_confirmed_at AS delivery_at
  FROM main.campaign_versions AS c
  LEFT JOIN main.campaign_delivery_versions AS d ON d.account_id = c.account_id AND d.campaign_id = c.campaign_id AND d.is_current
  WHERE c.is_current AND NOT c.is_deleted
  UNION ALL
  SELECT k.account_id, 'creative', k.creative_id, k.campaign_id, k.read_state, k.last_confirmed_at, k.last_confirmed_at, k.last_confirmed_at
  FROM main.creative_versions AS k
  WHERE k.is_current AND NOT k.is_deleted
  UNION ALL
  SELECT m.account_id, 'source settings', m.campaign_id, m.campaign_id, m.read_state, m.last_confirmed_at, m.bids_last_read_at, m.last_confirmed_at
  FROM main.source_mode_versions AS m
  WHERE m.is_current AND NOT m.is_deleted
),
judged AS (
  SELECT
    e.account_id, e.entity_type, e.entity_id, n.message,
    CASE
      WHEN n.run_id = t.run_id THEN n.fields
      WHEN c.status = 'archived' THEN CASE WHEN n.last_seen_at > e.last_confirmed_at THEN n.fields END
      WHEN e.last_confirmed_at < t.started_at THEN 'everything'
    END AS unread_fields,
    CASE
      WHEN e.read_state = 'unreadable' THEN NULL
      WHEN n.fields = 'delivery_status' THEN e.delivery_at
      WHEN n.fields = 'bid_overrides' THEN e.bids_at
      ELSE e.last_confirmed_at
    END AS unread_since
  FROM entities AS e
  LEFT JOIN tried AS t ON t.account_id = e.account_id
  LEFT JOIN newest AS n ON n.account_id = e.account_id AND n.entity_type = e.entity_type AND n.entity_id = e.entity_id
  LEFT JOIN main.campaign_history AS c ON c.account_id = e.account_id AND c.campaign_id = e.campaign_id AND c.is_current
  WHERE e.read_state <> 'stub'
  UNION ALL
  SELECT n.account_id, n.entity_type, n.entity_id, n.message, n.fields, r.started_at
  FROM newest AS n
  JOIN tried AS t ON t.account_id = n.account_id AND t.run_id = n.run_id
  LEFT JOIN balance_read AS r ON r.account_id = n.account_id
  WHERE n.entity_type = 'balance'
)
SELECT
  j.account_id, j.entity_type, j.entity_id, j.unread_fields, j.unread_since, j.message
FROM judged AS j
WHERE j.unread_fields IS NOT NULL
