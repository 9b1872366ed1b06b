-- Of measured, the sums of each source of each campaign over the days known in spans.
-- Joined, not a window: that would take each source's row through memory twice.
whole AS (
  SELECT
    m.account_id, m.campaign_id, sum(m.spend) AS campaign_spend,
    sum(m.counted_spend)::DOUBLE / nullif(sum(m.counted_conversions), 0) AS campaign_cpa,
    bool_or(m.source_id <> '' OR m.spend <> 0) AS has_sources
  FROM measured AS m
  GROUP BY m.account_id, m.campaign_id
),
named AS (
  SELECT s.account_id, s.campaign_id, arg_max(s.campaign_name, s.report_date) AS reported_name
  FROM mart.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id
),
paid AS (
  SELECT DISTINCT p.account_id
  FROM main.payout AS p
),
-- All that is the same of a campaign's sources, in one row: of half a million sources, one join
-- instead of five. From the histories of settings, not the views of now: DuckDB plans an inlined
-- query again for each that surrounds it, which took longer than the answer. (AS MATERIALIZED would
-- prevent that, but a file that DuckDB 1.4 can read does not keep the word.)
campaigns AS (
  SELECT
    w.account_id, w.campaign_id, w.campaign_spend, w.campaign_cpa, w.has_sources, p.window_from, p.window_to, p.days_known,
    coalesce(h.name, n.reported_name) AS campaign_name,
    CASE WHEN h.is_deleted THEN 'deleted' ELSE h.status END AS campaign_status,
    coalesce(o.source_mode, h.source_mode) AS source_mode,
    h.default_bid, h.target_cpa,
    coalesce(v.worth, w.campaign_cpa) AS judged_cpa,
    CASE WHEN v.worth IS NOT NULL THEN v.worth_origin WHEN w.campaign_cpa IS NOT NULL THEN 'campaign_cpa' END AS target_origin,
    y.account_id IS NOT NULL AS is_paid
  FROM whole AS w
  JOIN spans AS p ON p.account_id = w.account_id
  LEFT JOIN named AS n ON n.account_id = w.account_id AND n.campaign_id = w.campaign_id
  LEFT JOIN main.campaign_history AS h
    ON h.account_id = w.account_id AND h.campaign_id = w.campaign_id AND h.is_current
  LEFT JOIN mart.conversion_worth AS v ON v.account_id = w.account_id AND v.campaign_id = w.campaign_id AND v.source_id = ''
  LEFT JOIN main.source_mode_history AS o
    ON o.account_id = w.account_id AND o.campaign_id = w.campaign_id AND o.is_current AND NOT o.is_deleted
  LEFT JOIN paid AS y ON y.account_id = w.account_id
),
