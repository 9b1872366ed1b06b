-- What did each campaign spend and bring in the days before and after a change of its settings?
-- Trap: before and after is no proof: other changes lie in the same days (other_changes), and conversions of days that are not final still arrive. The days in which the change may have fallen are left out.
-- Column campaign_name: Name of the campaign now. NULL: never readable.
-- Column version_no: Version of the campaign's settings that the change made, as in campaign_history.
-- Column seen_at: When the change was first seen.
-- Column not_before: When the settings before were last confirmed: the change came later.
-- Column changed_columns: Settings that changed, sorted, comma-joined. A mere change of the name is left out.
-- Column default_bid_before: US dollars per click before the change.
-- Column default_bid_after: US dollars per click after the change.
-- Column days_before: Days known whole among the days before (threshold impact_days).
-- Column spend_before: US dollars in those days. NULL: there is none.
-- Column clicks_before: Clicks in those days. NULL: not known.
-- Column conversions_before: Conversions in those days. NULL: not known.
-- Column spend_per_day_before: US dollars a day. NULL: no such day.
-- Column cpc_before: US dollars per click. NULL without clicks.
-- Column cpa_before: US dollars per conversion. NULL without conversions.
-- Column days_after: Days known whole among the days after (threshold impact_days).
-- Column spend_after: US dollars in those days. NULL: there is none.
-- Column clicks_after: Clicks in those days. NULL: not known.
-- Column conversions_after: Conversions in those days so far. NULL: not known.
-- Column spend_per_day_after: US dollars a day. NULL: no such day.
-- Column cpc_after: US dollars per click. NULL without clicks.
-- Column cpa_after: US dollars per conversion. NULL without conversions.
-- Column spend_per_day_change: Change of the spend a day as a share of that before: 0.1 is a tenth more.
-- Column cpc_change: Change of the CPC as a share of that before.
-- Column cpa_change: Change of the CPA as a share of that before. Below 0: conversions became cheaper.
-- Column days_not_final: Days among both that the service may still restate.
-- Column other_changes: Other versions of this campaign's settings that began within the days compared or left out.
WITH level AS (
  SELECT t.value::INTEGER AS days FROM mart.threshold AS t WHERE t.name = 'impact_days'
),
change AS (
  SELECT
    h.account_id, h.campaign_id, h.version_no, h.valid_from, h.changed_after, h.changed_columns, h.change_type, h.default_bid,
    lag(h.default_bid) OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.version_no) AS old_bid
  FROM main.campaign_history AS h
),
placed AS (
  SELECT c.*, a.report_date AS first_date, z.report_date AS last_date, l.days
  FROM change AS c
  CROSS JOIN level AS l
  JOIN main.calendar AS a
    ON a.account_id = c.account_id AND a.starts_at <= coalesce(c.changed_after, c.valid_from) AND coalesce(c.changed_after, c.valid_from) < a.ends_at
  JOIN main.calendar AS z ON z.account_id = c.account_id AND z.starts_at <= c.valid_from AND c.valid_from < z.ends_at
  WHERE c.version_no > 1
),
compared AS (
  SELECT p.* FROM placed AS p WHERE p.change_type = 'changed' AND coalesce(p.changed_columns <> 'name', false)
),
others AS (
  SELECT c.account_id, c.campaign_id, c.version_no, count(o.version_no) AS changes
  FROM compared AS c
  LEFT JOIN placed AS o
    ON o.account_id = c.account_id AND o.campaign_id = c.campaign_id AND o.version_no <> c.version_no
    AND o.last_date >= c.first_date - c.days AND o.last_date <= c.last_date + c.days
  GROUP BY c.account_id, c.campaign_id, c.version_no
),
day AS (
  SELECT d.account_id, d.campaign_id, d.report_date, d.coverage_state, d.spend, d.clicks, d.conversions
  FROM mart.campaign_day AS d
  WHERE d.coverage_state IN ('complete', 'final')
),
summed AS (
  SELECT
    c.account_id, c.campaign_id, c.version_no,
    count(d.report_date) FILTER (WHERE d.report_date < c.first_date) AS days_before,
    sum(d.spend) FILTER (WHERE d.report_date < c.first_date)::DECIMAL(18,6) AS spend_before,
    CASE WHEN count(*) FILTER (WHERE d.clicks IS NULL AND d.report_date < c.first_date) = 0 THEN sum(d.clicks) FILTER (WHERE d.report_date < c.first_date)::BIGINT END AS clicks_before,
    CASE WHEN count(*) FILTER (WHERE d.conversions IS NULL AND d.report_date < c.first_date) = 0 THEN sum(d.conversions) FILTER (WHERE d.report_date < c.first_date)::BIGINT END AS conversions_before,
    count(d.report_date) FILTER (WHERE d.report_date > c.last_date) AS days_after,
    sum(d.spend) FILTER (WHERE d.report_date > c.last_date)::DECIMAL(18,6) AS spend_after,
    CASE WHEN count(*) FILTER (WHERE d.clicks IS NULL AND d.report_date > c.last_date) = 0 THEN sum(d.clicks) FILTER (WHERE d.report_date > c.last_date)::BIGINT END AS clicks_after,
    CASE WHEN count(*) FILTER (WHERE d.conversions IS NULL AND d.report_date > c.last_date) = 0 THEN sum(d.conversions) FILTER (WHERE d.report_date > c.last_date)::BIGINT END AS conversions_after,
    count(*) FILTER (WHERE d.coverage_state = 'complete' AND (d.report_date < c.first_date OR d.report_date > c.last_date)) AS days_not_final
  FROM compared AS c
  LEFT JOIN day AS d
    ON d.account_id = c.account_id AND d.campaign_id = c.campaign_id
    AND d.report_date >= c.first_date - c.days AND d.report_date <= c.last_date + c.days
  GROUP BY c.account_id, c.campaign_id, c.version_no
),
rated AS (
  SELECT
    s.*,
    s.spend_before::DOUBLE / nullif(s.days_before, 0) AS spend_per_day_before,
    s.spend_before::DOUBLE / nullif(s.clicks_before, 0) AS cpc_before,
    s.spend_before::DOUBLE / nullif(s.conversions_before, 0) AS cpa_before,
    s.spend_after::DOUBLE / nullif(s.days_after, 0) AS spend_per_day_after,
    s.spend_after::DOUBLE / nullif(s.clicks_after, 0) AS cpc_after,
    s.spend_after::DOUBLE / nullif(s.conversions_after, 0) AS cpa_after
  FROM summed AS s
)
SELECT
  c.account_id, c.campaign_id, n.name AS campaign_name, c.version_no, c.valid_from AS seen_at, c.changed_after AS not_before,
  c.changed_columns, c.old_bid AS default_bid_before, c.default_bid AS default_bid_after,
  r.days_before, r.spend_before, r.clicks_before, r.conversions_before, r.spend_per_day_before, r.cpc_before, r.cpa_before,
  r.days_after, r.spend_after, r.clicks_after, r.conversions_after, r.spend_per_day_after, r.cpc_after, r.cpa_after,
  r.spend_per_day_after / nullif(r.spend_per_day_before, 0) - 1 AS spend_per_day_change,
  r.cpc_after / nullif(r.cpc_before, 0) - 1 AS cpc_change,
  r.cpa_after / nullif(r.cpa_before, 0) - 1 AS cpa_change,
  r.days_not_final, o.changes AS other_changes
FROM compared AS c
JOIN rated AS r ON r.account_id = c.account_id AND r.campaign_id = c.campaign_id AND r.version_no = c.version_no
JOIN others AS o ON o.account_id = c.account_id AND o.campaign_id = c.campaign_id AND o.version_no = c.version_no
LEFT JOIN main.campaign_history AS n ON n.account_id = c.account_id AND n.campaign_id = c.campaign_id AND n.is_current
