-- How much of each campaign's Chicago day had passed when it was last read?
-- Trap: as_of_at is NULL for a day that is not covered.
SELECT
  c.account_id, c.report_date, c.campaign_id, c.campaign_name, c.status, c.is_deleted, c.delivery_status, c.daily_spend_limit, c.is_assumed,
  c.settings_changed, c.settings_read_state, c.coverage_state, c.is_covered, c.starts_at, c.ends_at, c.is_over,
  CASE WHEN c.is_covered THEN c.last_read_at END AS as_of_at,
  CASE
    WHEN NOT c.is_covered THEN NULL
    WHEN c.is_over THEN 1.0::DOUBLE
    ELSE greatest(0, least(1, (epoch(c.last_read_at) - epoch(c.starts_at)) / (epoch(c.ends_at) - epoch(c.starts_at))))
  END AS day_elapsed,
  CASE WHEN c.is_covered THEN greatest(0, coalesce(c.spend, 0))::DECIMAL(18, 6) END AS spend,
  CASE WHEN c.is_covered THEN CASE WHEN c.clicks < 0 THEN 0 ELSE c.clicks END END AS clicks,
  CASE WHEN c.is_covered THEN greatest(0, coalesce(c.spend, 0))::DOUBLE / nullif(c.daily_spend_limit, 0)::DOUBLE END AS utilization
FROM (
  SELECT c.*, k.starts_at, k.ends_at, f.last_read_at, coalesce(f.state IN ('complete', 'final') OR f.last_read_at >= k.ends_at, false) AS is_over
  FROM mart.campaign_day AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN ops.day_coverage AS f ON f.account_id = c.account_id AND f.report_date = c.report_date
) AS c
