-- Which share of a day's spend has an account usually spent by each hour?
-- Trap: it is the curve of the last four weeks, of campaigns that nothing held back: days that ended at their limit, were stopped or changed, and parts of days that were not read closely (mart.intraday_hourly) are left out. From fewer than seven days nothing follows.
WITH whole AS (
  SELECT d.account_id, d.report_date, d.campaign_id, d.starts_at, d.ends_at, d.spend::DOUBLE AS spend, d.clicks
  FROM int.paced_day AS d
  WHERE d.is_over AND d.coverage_state IN ('complete', 'final') AND d.spend > 0
    AND coalesce(d.status = 'active' AND NOT d.is_deleted, true) AND NOT d.settings_changed
    AND coalesce(d.utilization < (0.95::DOUBLE /* pacing_limited */), true)
),
-- The spend from midnight in Chicago to the end of each hour.
hourly AS (
  SELECT
    w.*, epoch(h.hour_from) AS hour_from, h.spend_so_far::DOUBLE AS spend_so_far,
    -- The clocks change at 2 a.m.: count earlier hours from the start of the day, and later ones back from its end.
    CASE
      WHEN epoch(h.hour_from) - epoch(w.starts_at) < 7200 THEN (epoch(h.hour_from) - epoch(w.starts_at)) / 3600
      ELSE 24 - (epoch(w.ends_at) - epoch(h.hour_from)) / 3600
    END::INTEGER AS hour
  FROM mart.intraday_hourly AS h
  JOIN whole AS w ON w.account_id = h.account_id AND w.report_date = h.report_date AND w.campaign_id = h.campaign_id
  WHERE h.hour IS NOT NULL
),
ended AS (
  SELECT
    r.account_id, r.report_date, r.campaign_id, r.hour, any_value(r.spend) AS spend, any_value(r.clicks) AS clicks, max(r.spend_so_far) AS spend_so_far,
    -- When the clocks are set back, an hour comes twice. Its share is the share at the end of the second time.
    count(r.spend_so_far) = count(*) AS is_known
  FROM hourly AS r
  GROUP BY r.account_id, r.report_date, r.campaign_id, r.hour
),
shared AS (
  SELECT e.account_id, e.report_date, e.hour, e.spend_so_far, e.spend, CASE WHEN e.clicks >= 30 THEN e.spend_so_far / e.spend END AS share
  FROM ended AS e
  JOIN (
    SELECT o.account_id, max(o.report_date) AS last_date FROM int.whole_day AS o GROUP BY o.account_id
  ) AS l ON l.account_id = e.account_id AND e.report_date > l.last_date - 28
  WHERE e.is_known
)
SELECT
  s.account_id, s.hour, sum(s.spend_so_far) / nullif(sum(s.spend), 0) AS share,
  quantile_cont(s.share, 0.05) AS share_low, quantile_cont(s.share, 0.95) AS share_high,
  count(DISTINCT s.report_date) AS days, count(s.share) AS campaign_days,
  -- curve_min_days: From fewer days that were read by the hour no curve of the day is drawn, and nothing is said of how a day will end.
  count(DISTINCT s.report_date) >= (7::DOUBLE /* curve_min_days */) AS is_enough
FROM shared AS s
GROUP BY s.account_id, s.hour
