-- What did each campaign spend and bring on each Chicago day, and under which settings did the day end?
-- Trap: settings are those at the end of the day, though the day may have had several (settings_changed); before the first read of a campaign they are those first seen, and between two reads those of the first of the two (is_assumed).
-- Shown: report_date, campaign_name, spend, conversions, daily_spend_limit, default_bid, target_cpa, settings_changed, clicks, impressions, status, campaign_id
-- Column campaign_name: Name at the end of the day; where it was never readable, the report's name on that day.
-- Column status: Status at the end of the day: active, paused, archived or rejected. A deleted campaign keeps its last one; see is_deleted.
-- Column is_deleted: Whether the campaign was found to be gone by the end of the day. NULL: never seen.
-- Column delivery_status: Why the campaign delivered or did not at the end of the day, in the service's words. NULL: not known; it is never assumed.
-- Column default_bid: US dollars per click at the end of the day.
-- Column daily_spend_limit: US dollars per day at the end of the day. NULL: no limit, or never readable (settings_read_state).
-- Column target_cpa: US dollars per conversion at the end of the day. NULL: none set, or never readable (settings_read_state).
-- Column country: Country of the audience at the end of the day. NULL: everywhere, or never readable (settings_read_state).
-- Column source_mode: block_list or allow_list at the end of the day. NULL: never readable.
-- Column settings_version: Version of the campaign's settings at the end of the day, as in campaign_history. NULL: never seen.
-- Column settings_read_state: How well that version could be read: ok, partial, unreadable or stub. NULL: never seen.
-- Column is_assumed: Whether the settings at the end of the day are only assumed: they were first seen after it, or it ended between the last read that confirmed them and the read that found others. What was changed and changed back between two reads leaves no trace. NULL: never seen.
-- Column changes: Versions of the settings that began within the day, the first one not counted. Delivery and bids per source are not among them.
-- Column is_covered: Whether the day was read: then no row means 0, as of its last read. An open or partial day was last read before it was over.
-- Column spend: US dollars. NULL: the day is not covered.
-- Column clicks: Clicks. NULL: the day is not covered, or some row lacks the number.
-- Column impressions: Impressions. NULL: the day is not covered, or some row lacks the number.
-- Column conversions: Conversions so far. NULL: the day is not covered, or some row lacks the number.
WITH flagged AS (
  -- The first version counts from the beginning of time: its settings are assumed to have applied before the first
  -- read.
  SELECT
    h.*,
    lead(h.changed_after) OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.version_no) AS confirmed_until,
    CASE WHEN h.version_no = 1 THEN to_timestamp(0) ELSE h.valid_from END AS counts_from,
    h.is_deleted OR coalesce(h.status = 'archived', false) AS is_over,
    count(*) FILTER (WHERE NOT (h.is_deleted OR coalesce(h.status = 'archived', false))) OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.version_no) AS lives
  FROM main.campaign_history AS h
),
version AS (
  SELECT
    f.*,
    CASE WHEN f.is_over THEN
      min(f.counts_from) FILTER (WHERE f.is_over) OVER (PARTITION BY f.account_id, f.campaign_id, f.lives)
    END AS over_since
  FROM flagged AS f
),
seen AS (
  SELECT h.account_id, h.campaign_id, min(h.valid_from) AS seen_at
  FROM main.campaign_history AS h
  GROUP BY h.account_id, h.campaign_id
),
begun AS (
  SELECT s.account_id, s.campaign_id, k.report_date
  FROM seen AS s
  ASOF JOIN main.calendar AS k ON k.account_id = s.account_id AND s.seen_at >= k.starts_at
  UNION ALL
  SELECT s.account_id, s.campaign_id, min(s.report_date) AS report_date
  FROM int.campaign_spend AS s
  GROUP BY s.account_id, s.campaign_id
),
campaign AS (
  SELECT b.account_id, b.campaign_id, min(b.report_date) AS first_date
  FROM begun AS b
  GROUP BY b.account_id, b.campaign_id
),
covered AS (
  SELECT c.account_id, max(c.report_date) AS last_date
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
),
spine AS (
  SELECT c.account_id, c.campaign_id, k.report_date, k.starts_at, k.ends_at
  FROM campaign AS c
  JOIN covered AS v ON v.account_id = c.account_id
  JOIN main.calendar AS k
    ON k.account_id = c.account_id AND k.report_date >= c.first_date AND k.report_date <= v.last_date
),
delivery AS (
  -- The delivery status changes many times a day, and only the last value of a day can be the one at its end.
  SELECT h.account_id, h.campaign_id, h.delivery_status, h.valid_from, h.valid_to
  FROM main.campaign_delivery_history AS h
  ASOF JOIN main.calendar AS k ON k.account_id = h.account_id AND h.valid_from >= k.starts_at
  WHERE h.valid_to >= k.ends_at
),
settled AS (
  SELECT
    d.*, e.delivery_status,
    h.name, h.status, h.is_deleted, h.default_bid, h.daily_spend_limit, h.target_cpa, h.country, h.source_mode,
    h.version_no, h.read_state, h.valid_from, h.confirmed_until, h.over_since
  FROM spine AS d
  -- No ASOF join: if DuckDB estimates that the left side is short, it compares every pair of rows.
  LEFT JOIN version AS h
    ON h.account_id = d.account_id AND h.campaign_id = d.campaign_id AND h.counts_from < d.ends_at AND h.valid_to >= d.ends_at
  LEFT JOIN delivery AS e
    ON e.account_id = d.account_id AND e.campaign_id = d.campaign_id AND e.valid_from < d.ends_at AND e.valid_to >= d.ends_at
),
changed AS (
  SELECT h.account_id, h.campaign_id, k.report_date, count(*) AS versions
  FROM main.campaign_history AS h
  ASOF JOIN main.calendar AS k ON k.account_id = h.account_id AND h.valid_from >= k.starts_at
  WHERE h.version_no > 1
  GROUP BY h.account_id, h.campaign_id, k.report_date
),
known AS (
  SELECT
    d.*,
    s.report_date IS NOT NULL AS has_rows,
    s.campaign_name AS report_name, s.spend,
    -- A sum with an unknown part is unknown, not smaller.
    CASE WHEN s.rows_with_clicks = s.rows THEN s.clicks END AS clicks,
    CASE WHEN s.rows_with_impressions = s.rows THEN s.impressions END AS impressions,
    CASE WHEN s.rows_with_conversions = s.rows THEN s.conversions END AS conversions,
    coalesce(n.versions, 0) AS changes,
    coalesce(c.state, 'missing') AS coverage_state,
    coalesce(c.state IN ('open', 'complete', 'final', 'partial'), false) AS is_covered
  FROM settled AS d
  LEFT JOIN int.campaign_spend AS s ON s.account_id = d.account_id AND s.campaign_id = d.campaign_id AND s.report_date = d.report_date
  LEFT JOIN changed AS n ON n.account_id = d.account_id AND n.campaign_id = d.campaign_id AND n.report_date = d.report_date
  LEFT JOIN ops.day_coverage AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
)
SELECT
  d.account_id, d.report_date, d.campaign_id,
  coalesce(d.name, d.report_name) AS campaign_name,
  d.status, d.is_deleted, d.delivery_status, d.default_bid, d.daily_spend_limit, d.target_cpa, d.country, d.source_mode,
  d.version_no AS settings_version, d.read_state AS settings_read_state,
  d.valid_from >= d.ends_at OR coalesce(d.confirmed_until < d.ends_at, false) AS is_assumed,
  d.changes > 0 AS settings_changed, d.changes,
  d.coverage_state, d.is_covered, d.coverage_state = 'final' AS is_final,
  -- If there is a row, its NULLs stay NULL.
  CASE WHEN d.has_rows THEN d.spend WHEN d.is_covered THEN 0 END AS spend,
  CASE WHEN d.has_rows THEN d.clicks WHEN d.is_covered THEN 0 END AS clicks,
  CASE WHEN d.has_rows THEN d.impressions WHEN d.is_covered THEN 0 END AS impressions,
  CASE WHEN d.has_rows THEN d.conversions WHEN d.is_covered THEN 0 END AS conversions
FROM known AS d
-- A campaign that was over before the day began is included only if it still spent something.
WHERE d.has_rows OR d.over_since IS NULL OR d.over_since > d.starts_at
