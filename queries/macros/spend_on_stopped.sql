-- Which money went to something that had been stopped for the whole Chicago day, on the days of a span?
-- Trap: clicks that were on their way when something stopped are billed later and are not a leak (is_leak says which are); a stop counts from when we saw it until it was last confirmed, so what was seen resumed may have been resumed right after the read before, and is left out; what was resumed and stopped again between two reads leaves no trace (is_assumed marks long gaps between reads). Every amount stands once, under the broadest stop: campaign, then creative, then source.
-- Shown: report_date, kind, reason, campaign_name, creative_id, source_id, spend, is_leak, stopped_since, hours_stopped, campaign_id
-- Parameters: from_date, to_date
-- Column report_date: Chicago calendar day of the span, of those that are known at all.
-- Column kind: What had been stopped: campaign, creative or source.
-- Column reason: campaign: paused, archived, rejected, deleted, ended (past its end) or not_started; creative: paused, archived, rejected or deleted; source: blocked, or not_allowed where the campaign buys from an allow list.
-- Column campaign_name: Name of the campaign now. NULL: never readable.
-- Column creative_id: Creative that had been stopped. NULL: a campaign or a source had been.
-- Column source_id: Source that had been stopped. NULL: a campaign or a creative had been.
-- Column stopped_since: Since when every read found it stopped, or the campaign's own end where that is later than when we first saw that setting.
-- Column hours_stopped: Hours from then to the beginning of the day.
-- Column is_leak: Whether that is at least a day, so that no late click explains it, and the stop is not merely assumed.
-- Column is_assumed: Whether the settings were not read for longer than 26 hours around the day: it may have been resumed and stopped again meanwhile. What is archived cannot be.
-- Column spend: US dollars spent on the day in spite of the stop.
-- Column coverage_state: How well the day is known: open, complete, final or partial, as in ops.day_coverage.
WITH span AS (
  -- ends_at: the time up to which the day's numbers are known. For an open or partial day, this is its last read.
  SELECT
    c.account_id, c.report_date, c.state, k.starts_at,
    CASE WHEN c.state IN ('complete', 'final') THEN k.ends_at ELSE least(k.ends_at, coalesce(c.last_read_at, k.ends_at)) END AS ends_at
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('open', 'complete', 'final', 'partial') AND c.report_date BETWEEN from_date::DATE AND to_date::DATE
),
version AS (
  SELECT
    h.account_id, 'campaign' AS kind, h.campaign_id AS id, h.version_no, h.valid_from, h.valid_to, h.changed_after, h.last_confirmed_at, h.start_at, h.end_at,
    CASE WHEN h.is_deleted THEN 'deleted' WHEN h.status IN ('paused', 'archived', 'rejected') THEN h.status END AS reason
  FROM main.campaign_versions AS h
  UNION ALL
  SELECT
    h.account_id, 'creative', h.creative_id, h.version_no, h.valid_from, h.valid_to, h.changed_after, h.last_confirmed_at, NULL, NULL,
    CASE WHEN h.is_deleted THEN 'deleted' WHEN h.status IN ('paused', 'archived', 'rejected') THEN h.status END
  FROM main.creative_versions AS h
),
held AS (
  -- A value counts until the last read that confirmed it. Archived entities are not read again, since they stay
  -- archived.
  SELECT
    v.account_id, v.kind, v.id, v.reason, v.valid_from, v.start_at, v.end_at,
    CASE
      WHEN lead(v.reason) OVER versions IS NOT NULL OR v.reason = 'archived' THEN v.valid_to
      ELSE least(v.valid_to, coalesce(lead(v.changed_after) OVER versions, v.last_confirmed_at))
    END AS valid_to,
    count(*) FILTER (WHERE v.reason IS NULL) OVER (PARTITION BY v.account_id, v.kind, v.id ORDER BY v.version_no) AS lives
  FROM version AS v
  WINDOW versions AS (PARTITION BY v.account_id, v.kind, v.id ORDER BY v.version_no)
),
stop AS (
  SELECT
    h.account_id, h.kind, h.id, h.reason, h.valid_from, h.valid_to,
    min(h.valid_from) FILTER (WHERE h.reason IS NOT NULL) OVER (PARTITION BY h.account_id, h.kind, h.id, h.lives) AS since
  FROM held AS h
  QUALIFY h.reason IS NOT NULL
  UNION ALL
  SELECT h.account_id, h.kind, h.id, 'ended' AS reason, h.valid_from, h.valid_to, greatest(h.valid_from, h.end_at) AS since
  FROM held AS h
  WHERE h.reason IS NULL AND h.end_at < h.valid_to
  UNION ALL
  SELECT h.account_id, h.kind, h.id, 'not_started' AS reason, h.valid_from, least(h.valid_to, h.start_at) AS valid_to, h.valid_from AS since
  FROM held AS h
  WHERE h.reason IS NULL AND h.start_at > h.valid_from
),
mode AS (
  SELECT
    m.account_id, m.campaign_id, m.source_mode, m.is_deleted, m.valid_from,
    least(m.valid_to, coalesce(lead(m.changed_after) OVER versions, m.last_confirmed_at)) AS valid_to
  FROM main.source_mode_versions AS m
  WINDOW versions AS (PARTITION BY m.account_id, m.campaign_id ORDER BY m.version_no)
  QUALIFY NOT m.is_deleted
),
rule_known AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, r.rule, r.is_deleted, r.valid_from, r.valid_to, r.changed_after,
    least(r.valid_to, coalesce(lead(r.changed_after) OVER versions, r.last_confirmed_at)) AS confirmed_until
  FROM main.source_rule_versions AS r
  WHERE r.rule IN ('blocked', 'allowed')
  WINDOW versions AS (PARTITION BY r.account_id, r.campaign_id, r.source_id, r.rule ORDER BY r.version_no)
),
blocked AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id,
    greatest(r.valid_from, m.valid_from) AS since, least(r.confirmed_until, m.valid_to) AS until
  FROM rule_known AS r
  JOIN mode AS m
    ON m.account_id = r.account_id AND m.campaign_id = r.campaign_id AND m.source_mode = 'block_list'
    AND m.valid_from < r.confirmed_until AND m.valid_to > r.valid_from
  WHERE r.rule = 'blocked' AND NOT r.is_deleted
),
sync AS (
  SELECT r.account_id, r.started_at, lag(r.started_at) OVER (PARTITION BY r.account_id ORDER BY r.started_at) AS before
  FROM ops.run AS r
  WHERE r.campaigns_read > 0
),
allowed AS (
  -- A source may have been added to the list at any time after the last read that did not find it there.
  SELECT r.account_id, r.campaign_id, r.source_id, coalesce(r.changed_after, s.before, r.valid_from) AS valid_from, r.valid_to
  FROM rule_known AS r
  ASOF LEFT JOIN sync AS s ON s.account_id = r.account_id AND r.valid_from > s.started_at
  WHERE r.rule = 'allowed' AND NOT r.is_deleted
),
blocked_source AS (
  SELECT DISTINCT b.account_id, b.campaign_id, b.source_id, true AS is_blocked
  FROM blocked AS b
),
-- Go on only with rows of entities that were stopped at some time. Most rows are not.
candidate AS (
  SELECT s.account_id, s.report_date, s.campaign_id, s.creative_id, s.source_id, s.spend, s.clicks
  FROM main.spend_daily AS s
  LEFT JOIN blocked_source AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.source_id = s.source_id
  WHERE s.spend > 0 AND s.report_date >= (SELECT min(d.report_date) FROM span AS d)
    AND (b.is_blocked
      OR s.campaign_id IN (
        SELECT p.id FROM stop AS p WHERE p.kind = 'campaign'
        UNION
        SELECT m.campaign_id FROM mode AS m WHERE m.source_mode = 'allow_list')
      OR s.creative_id IN (SELECT p.id FROM stop AS p WHERE p.kind = 'creative'))
),
spent AS (
  SELECT s.*, d.state, d.starts_at, d.ends_at
  FROM candidate AS s
  JOIN span AS d ON d.account_id = s.account_id AND d.report_date = s.report_date
),
outside AS (
  -- Sources that were not on the allow list at any time of the day.
  SELECT s.*, m.valid_from AS since
  FROM spent AS s
  JOIN mode AS m
    ON m.account_id = s.account_id AND m.campaign_id = s.campaign_id AND m.source_mode = 'allow_list'
    AND m.valid_from <= s.starts_at AND m.valid_to >= s.ends_at
  WHERE s.source_id <> '' AND NOT EXISTS (
    SELECT 1 AS one FROM allowed AS a
    WHERE a.account_id = s.account_id AND a.campaign_id = s.campaign_id AND a.source_id = s.source_id
      AND a.valid_from < s.ends_at AND a.valid_to > s.starts_at)
),
flagged AS (
  SELECT s.*, 1 AS rank, p.kind, p.reason, p.since
  FROM spent AS s
  JOIN stop AS p
    ON p.account_id = s.account_id AND p.kind = 'campaign' AND p.id = s.campaign_id
    AND p.since <= s.starts_at AND p.valid_from < s.ends_at AND p.valid_to >= s.ends_at
  UNION ALL
  SELECT s.*, 2 AS rank, p.kind, p.reason, p.since
  FROM spent AS s
  JOIN stop AS p
    ON p.account_id = s.account_id AND p.kind = 'creative' AND p.id = s.creative_id
    AND p.since <= s.starts_at AND p.valid_from < s.ends_at AND p.valid_to >= s.ends_at
  WHERE s.creative_id <> ''
  UNION ALL
  SELECT s.*, 3 AS rank, 'source' AS kind, 'blocked' AS reason, p.since
  FROM spent AS s
  JOIN blocked AS p
    ON p.account_id = s.account_id AND p.campaign_id = s.campaign_id AND p.source_id = s.source_id
    AND p.since <= s.starts_at AND p.until >= s.ends_at
  UNION ALL
  SELECT
    s.* EXCLUDE (since), 3 AS rank, 'source' AS kind, 'not_allowed' AS reason,
    greatest(min(s.since), max(a.valid_to)) AS since
  FROM outside AS s
  LEFT JOIN allowed AS a
    ON a.account_id = s.account_id AND a.campaign_id = s.campaign_id AND a.source_id = s.source_id AND a.valid_to <= s.starts_at
  GROUP BY ALL
),
gap AS (
  -- Gaps between reads.
  SELECT s.account_id, s.before AS from_at, s.started_at AS to_at
  FROM sync AS s
  -- stop_gap_hours: Where nobody looked at the settings for longer than this, what was stopped before and after may have run in between.
  WHERE epoch(s.started_at) - epoch(s.before) > 3600 * (26::DOUBLE /* stop_gap_hours */)
),
unwatched AS (
  SELECT DISTINCT d.account_id, d.report_date
  FROM span AS d
  JOIN gap AS g ON g.account_id = d.account_id AND g.from_at < d.ends_at AND g.to_at > d.starts_at
),
counted AS (
  SELECT f.*, u.report_date IS NOT NULL AND f.reason <> 'archived' AS is_assumed
  FROM flagged AS f
  LEFT JOIN unwatched AS u ON u.account_id = f.account_id AND u.report_date = f.report_date
  QUALIFY row_number() OVER (
    PARTITION BY f.account_id, f.report_date, f.campaign_id, f.creative_id, f.source_id ORDER BY f.rank, f.since, f.reason) = 1
),
summed AS (
  SELECT
    c.account_id, c.report_date, c.state, c.starts_at, c.kind, c.reason, c.since, c.campaign_id, c.is_assumed,
    CASE WHEN c.kind = 'creative' THEN c.creative_id END AS creative_id,
    CASE WHEN c.kind = 'source' THEN c.source_id END AS source_id,
    sum(c.spend)::DECIMAL(18,6) AS spend,
    CASE WHEN count(c.clicks) = count(*) THEN sum(c.clicks)::BIGINT END AS clicks
  FROM counted AS c
  GROUP BY ALL
)
SELECT
  s.account_id, s.report_date, s.kind, s.reason, s.campaign_id, n.name AS campaign_name, s.creative_id, s.source_id,
  s.since AS stopped_since,
  (epoch(s.starts_at) - epoch(s.since)) / 3600 AS hours_stopped,
  -- stopped_grace_hours: Clicks that were on their way may be billed this long after a stop.
  epoch(s.starts_at) - epoch(s.since) >= 3600 * (24::DOUBLE /* stopped_grace_hours */)
    AND NOT s.is_assumed AS is_leak,
  s.spend, s.clicks, s.state AS coverage_state, s.is_assumed
FROM summed AS s
LEFT JOIN main.campaign_history AS n ON n.account_id = s.account_id AND n.campaign_id = s.campaign_id AND n.is_current
