known AS (
  SELECT w.account_id, w.report_date
  FROM mart.performance_window AS w
),
spans AS (
  SELECT DISTINCT w.account_id, w.window_from, w.window_to, w.days_known
  FROM mart.performance_window AS w
),
measured AS (
  SELECT w.account_id, w.campaign_id, w.source_id, w.spend, w.clicks, w.impressions, w.conversions, w.counted_spend, w.counted_conversions, w.conversions_expected
  FROM mart.source_window AS w
  WHERE w.spend IS NOT NULL
),
