-- Which share of a day's spend has an account usually spent by each hour?
-- Trap: it is the curve of the last four weeks, of campaigns that nothing held back: days that ended at their limit, were stopped or changed, and parts of days that were not read closely (mart.intraday_hourly) are left out. From fewer than curve_min_days days nothing follows.
-- Column hour: Hour on the clock in Chicago at whose end the share was reached, 0 to 23.
-- Column share: Share of the day's spend by the end of that hour, 0 to 1: sum by sum over the account's campaigns and days.
-- Column share_low: The share that one of twenty campaign days stayed below.
-- Column share_high: The share that one of twenty campaign days was above.
-- Column days: Days behind it.
-- Column campaign_days: Days of single campaigns behind it, with 30 clicks or more each.
-- Column is_enough: Whether these are curve_min_days days or more, so that mart.daily_pacing follows it.
WITH ended AS (
  SELECT
    h.account_id, h.report_date, h.campaign_id, h.hour, max(h.hour_from) AS hour_from, max(h.spend_so_far)::DOUBLE AS spend_so_far,
    -- Where an hour came twice, its share was reached at the end of the second.
    count(h.spend_so_far) = count(*) AS is_known
  FROM mart.intraday_hourly AS h
  GROUP BY h.account_id, h.report_date, h.campaign_id, h.hour
),
whole AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.spend::DOUBLE AS spend, s.clicks
  FROM mart.campaign_spend AS s
  JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date = s.report_date AND c.state IN ('complete', 'final')
  JOIN main.calendar AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  LEFT JOIN main.campaign_history AS h
    ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.valid_from < k.ends_at AND h.valid_to >= k.ends_at
  WHERE s.spend > 0 AND s.report_date >= (SELECT min(e.report_date) FROM ended AS e)
    AND coalesce(h.status = 'active' AND NOT h.is_deleted, true)
    AND coalesce(h.version_no = 1 OR h.valid_from < k.starts_at, true)
    AND coalesce(s.spend::DOUBLE < h.daily_spend_limit::DOUBLE * (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'pacing_limited'), true)
),
shared AS (
  SELECT
    e.account_id, e.report_date, e.hour, e.spend_so_far, w.spend,
    CASE WHEN w.clicks >= 30 THEN e.spend_so_far / w.spend END AS share
  FROM ended AS e
  JOIN whole AS w ON w.account_id = e.account_id AND w.report_date = e.report_date AND w.campaign_id = e.campaign_id
  JOIN (
    SELECT o.account_id, max(o.report_date) AS last_date FROM ops.day_coverage AS o WHERE o.state IN ('complete', 'final') GROUP BY o.account_id
  ) AS l ON l.account_id = e.account_id AND e.report_date > l.last_date - 28
  WHERE e.is_known
)
SELECT
  s.account_id, s.hour, sum(s.spend_so_far) / nullif(sum(s.spend), 0) AS share,
  quantile_cont(s.share, 0.05) AS share_low, quantile_cont(s.share, 0.95) AS share_high,
  count(DISTINCT s.report_date) AS days, count(s.share) AS campaign_days,
  count(DISTINCT s.report_date) >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'curve_min_days') AS is_enough
FROM shared AS s
GROUP BY s.account_id, s.hour
