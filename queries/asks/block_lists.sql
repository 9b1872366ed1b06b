-- Which calls would block the sources that should be blocked, ready to paste?
-- Trap: nothing is sent. Every source of a call counts against the day's budget of source changes; the service takes 50 a call. Sources to disallow are taken off an allow list, and the service keeps its last one.
-- Hidden.
-- Calls: block_lists
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter rows: 200, sources to take in, the dearest first.
-- Parameter min_spend: 0.00, US dollars that a source must have cost in the window.
-- Shown: action, campaign_name, sources, excess_spend, spend, changes, changes_left, source_ids
WITH chosen AS (
  SELECT b.*
  FROM mart.source_block_candidates AS b
  WHERE b.spend >= $min_spend::DECIMAL(18,6) AND ($campaign::VARCHAR = '' OR b.campaign_id = $campaign::VARCHAR)
  ORDER BY b.excess_spend DESC NULLS LAST, b.account_id, b.campaign_id, b.source_id
  LIMIT $rows::BIGINT
),
placed AS (
  SELECT
    c.*, (row_number() OVER (PARTITION BY c.account_id, c.campaign_id, c.action ORDER BY c.excess_spend DESC NULLS LAST, c.source_id) - 1) // 50 + 1 AS call_no
  FROM chosen AS c
),
called AS (
  SELECT
    p.account_id, p.campaign_id, any_value(p.campaign_name) AS campaign_name, p.action, p.call_no, count(*) AS sources,
    string_agg(p.source_id, ',' ORDER BY p.excess_spend DESC NULLS LAST, p.source_id) AS source_ids,
    '{"source_ids":' || to_json(list(p.source_id ORDER BY p.excess_spend DESC NULLS LAST, p.source_id))::VARCHAR || '}' AS body,
    sum(p.spend) AS spend, sum(p.excess_spend) AS excess_spend
  FROM placed AS p
  GROUP BY p.account_id, p.campaign_id, p.action, p.call_no
),
budget AS (
  SELECT l.account_id, min(CASE WHEN coalesce(l.is_over, false) THEN l.allowed ELSE l.remaining END) AS changes_left
  FROM (
    SELECT n.account_id, n.kind, n.allowed, n.allowed - n.used AS remaining, n.resets_at <= now() AS is_over
    FROM main.account_limit AS n
    QUALIFY row_number() OVER (PARTITION BY n.account_id, n.kind ORDER BY n.seen_at DESC) = 1
  ) AS l
  WHERE l.kind ILIKE '%source%'
  GROUP BY l.account_id
)
SELECT
  c.account_id, c.campaign_id, c.campaign_name, c.action, c.call_no, c.sources, c.source_ids,
  'POST' AS method, '/v1/campaigns/' || c.campaign_id || '/sources/' || c.action AS path, c.body,
  c.sources AS changes, sum(c.sources) OVER (PARTITION BY c.account_id ORDER BY c.excess_spend DESC NULLS LAST, c.campaign_id, c.action, c.call_no) AS changes_so_far,
  g.changes_left, c.spend, c.excess_spend
FROM called AS c
LEFT JOIN budget AS g ON g.account_id = c.account_id
ORDER BY c.account_id, c.excess_spend DESC NULLS LAST, c.campaign_id, c.action, c.call_no
