-- What did each campaign spend on each Chicago day, and under which settings at the end of that day?
-- Trap: settings before the first read are those first read (is_assumed); settings_changed says that the day had several.
WITH spend AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id,
    sum(s.spend) AS spend, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, sum(s.conversions) AS conversions
  FROM main.spend_daily AS s
  GROUP BY s.account_id, s.report_date, s.campaign_id
),
bounded AS (
  SELECT s.*, k.starts_at, k.ends_at
  FROM spend AS s
  JOIN main.calendar AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
),
changes AS (
  SELECT b.account_id, b.report_date, b.campaign_id, count(*) AS versions
  FROM bounded AS b
  JOIN main.campaign_history AS h
    ON h.account_id = b.account_id AND h.campaign_id = b.campaign_id
    AND h.version_no > 1 AND h.valid_from > b.starts_at AND h.valid_from < b.ends_at
  GROUP BY b.account_id, b.report_date, b.campaign_id
)
SELECT
  b.account_id, b.report_date, b.campaign_id, b.spend, b.clicks, b.impressions, b.conversions,
  h.name, h.status, h.default_bid, h.daily_spend_limit, h.target_cpa, h.country, h.source_mode,
  h.version_no AS settings_version, h.read_state AS settings_read_state,
  h.valid_from >= b.ends_at AS is_assumed,
  coalesce(c.versions, 0) > 0 AS settings_changed
FROM bounded AS b
LEFT JOIN main.campaign_history AS h
  ON h.account_id = b.account_id AND h.campaign_id = b.campaign_id
  AND ((h.valid_from < b.ends_at AND h.valid_to >= b.ends_at) OR (h.version_no = 1 AND h.valid_from >= b.ends_at))
LEFT JOIN changes AS c
  ON c.account_id = b.account_id AND c.report_date = b.report_date AND c.campaign_id = b.campaign_id
