-- How does this month go, against the last one by the same day, and where will it end?
-- Trap: the month is that of the last day that is proven complete, and both are counted to the same day of the month, of days proven complete (days_known, days_known_before). Conversions are those expected, with those still to come. The end is the pace of the last 14 such days for the days that are left, with what chance and the change since the fortnight before make of it: a limit or a stop of tomorrow is not in it.
-- Days: s.report_date >= t.month_from AND s.report_date <= t.month_to
-- Shown: spend, spend_before, spend_change, spend_at_end, spend_at_end_low, spend_at_end_high, conversions_expected, cpa_expected, cpa_before_expected
-- Column spend_change: Change of the spend as a share of spend_before.
-- Column cpa_before_expected: US dollars per conversion of the month before, with those still to come.
-- Column spend_at_end: US dollars that the whole month will cost at this pace.
-- Column spend_at_end_low: US dollars at the low end of what the days vary and of how the pace moved.
-- Column spend_at_end_high: US dollars at the high end of it.
WITH last AS (
  SELECT m.account_id, max(m.report_date) AS report_date
  FROM mart.day_maturity AS m
  GROUP BY m.account_id
),
day AS (
  SELECT
    d.account_id, l.report_date AS last_date, d.report_date, date_trunc('month', l.report_date)::DATE AS month, (date_trunc('month', l.report_date) + INTERVAL 1 MONTH)::DATE AS month_end,
    sum(d.spend) AS spend, CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions) END AS conversions, any_value(m.conversions_share) AS conversions_share
  FROM mart.campaign_day AS d
  JOIN last AS l ON l.account_id = d.account_id
  JOIN mart.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
  GROUP BY d.account_id, l.report_date, d.report_date
),
placed AS (
  SELECT
    d.*, (1e6 * d.spend::DOUBLE * coalesce(d.conversions_share, 1))::BIGINT AS arrived, d.report_date >= d.month AS is_now,
    d.report_date >= (d.month - INTERVAL 1 MONTH)::DATE AND d.report_date < d.month AND day(d.report_date) <= day(d.last_date) AS is_before, d.report_date > d.last_date - 14 AS is_pace, d.report_date BETWEEN d.last_date - 27 AND d.last_date - 14 AS is_pace_before
  FROM day AS d
),
summed AS (
  SELECT
    p.account_id, any_value(p.month) AS month, any_value(p.last_date) AS last_date, any_value(p.month_end - p.last_date - 1) AS days_left,
    count(*) FILTER (WHERE p.is_now) AS days_known, count(*) FILTER (WHERE p.is_before) AS days_known_before,
    sum(p.spend) FILTER (WHERE p.is_now) AS spend, sum(p.spend) FILTER (WHERE p.is_before) AS spend_before,
    CASE WHEN count(*) FILTER (WHERE p.is_now AND p.conversions IS NULL) = 0 THEN sum(p.conversions) FILTER (WHERE p.is_now) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE p.is_before AND p.conversions IS NULL) = 0 THEN sum(p.conversions) FILTER (WHERE p.is_before) END AS conversions_before,
    sum(p.arrived) FILTER (WHERE p.is_now) / 1e6 AS arrived, sum(p.arrived) FILTER (WHERE p.is_before) / 1e6 AS arrived_before,
    sum(p.spend) FILTER (WHERE p.is_pace)::DOUBLE / nullif(count(*) FILTER (WHERE p.is_pace), 0) AS pace, count(*) FILTER (WHERE p.is_pace) AS days_of_pace,
    sum(p.spend) FILTER (WHERE p.is_pace_before)::DOUBLE / nullif(count(*) FILTER (WHERE p.is_pace_before), 0) AS pace_before,
    stddev_samp(round(p.spend, 2)::DOUBLE ORDER BY p.report_date) FILTER (WHERE p.is_pace) AS spread
  FROM placed AS p
  GROUP BY p.account_id
),
ended AS (
  SELECT
    s.*, s.spend::DOUBLE + s.pace * s.days_left AS spend_end,
    -- The days to come vary, the mean of these days varies, and the pace may move on as it did between the two fortnights:
    -- from the middle of the last one to the middle of the days left.
    1.645 * sqrt(pow(s.spread, 2) * (s.days_left + s.days_left * s.days_left / s.days_of_pace::DOUBLE)
      + coalesce(pow(s.days_left * (s.pace - s.pace_before) * (s.days_left + 14) / 28, 2), 0)) AS chance
  FROM summed AS s
)
SELECT
  e.account_id, e.month, e.last_date, e.days_known, e.days_known_before, e.days_left, e.spend, e.spend_before,
  (e.spend::DOUBLE / nullif(e.days_known, 0) / nullif(e.spend_before::DOUBLE / nullif(e.days_known_before, 0), 0) - 1)::DECIMAL(18,3) AS spend_change,
  e.conversions, (e.conversions * e.spend::DOUBLE / nullif(e.arrived, 0))::DECIMAL(18,1) AS conversions_expected,
  (e.conversions_before * e.spend_before::DOUBLE / nullif(e.arrived_before, 0))::DECIMAL(18,1) AS conversions_before_expected,
  (e.arrived / nullif(e.conversions, 0))::DECIMAL(18,2) AS cpa_expected, (e.arrived_before / nullif(e.conversions_before, 0))::DECIMAL(18,2) AS cpa_before_expected,
  e.spend_end::DECIMAL(18,2) AS spend_at_end, greatest(e.spend::DOUBLE, e.spend_end - e.chance)::DECIMAL(18,2) AS spend_at_end_low, (e.spend_end + e.chance)::DECIMAL(18,2) AS spend_at_end_high
FROM ended AS e
ORDER BY e.account_id
