-- How does this month go, against the last one by the same day, and where will it end?
-- Trap: the month is that of the last day that is proven complete, and both are counted to the same day of the month, of days proven complete (days_known, days_known_before). conversions_expected and cpa_expected have the conversions still to come. The end is the pace of the last 14 such days (0 at least), moved on for the days that are left by three quarters of its move since the fortnight before (of fewer than 28 days two halves are compared, and less of the move is taken); the range is what chance makes of the days and of that move, and that half of the move is lacking or comes again. A limit or a stop of tomorrow is not in it.
-- Days: s.report_date >= t.month_from AND s.report_date <= t.month_to
-- Shown: spend, spend_at_end, spend_at_end_low, spend_at_end_high, days_known, spend_a_day_change, days_known_before, spend_before, spend_a_day, spend_a_day_before, cpa_expected, cpa_before_expected
-- Column cpa_before_expected: US dollars per conversion of the month before, with those still to come.
-- Column spend_at_end: US dollars that the whole month will cost at this pace.
-- Column spend_at_end_low: US dollars at the low end of a range of 90 %. NULL: fewer than three days are known.
-- Column spend_at_end_high: US dollars at the high end of it. NULL: the same.
-- Column spend_a_day: US dollars a day, of the days that are known.
-- Column spend_a_day_before: US dollars a day of the month before, of the days that are known.
-- Column spend_a_day_change: Change of spend_a_day, as a share: the two months may differ in known days. NULL: fewer than three days of one of them are known.
-- Column month: First day of the month.
-- Column last_date: Last day that is proven complete.
-- Column days_known: Days of the month that are proven complete.
-- Column days_known_before: Days of the month before, to the same day of the month, that are proven complete.
-- Column days_left: Days after last_date.
-- Column spend: US dollars of the month so far.
-- Column spend_before: US dollars of the month before, to the same day of the month.
-- Column conversions: Conversions of the month so far. NULL: some row lacks the number.
-- Column conversions_before_expected: Conversions of the month before, with those still to come.
WITH last AS (
  SELECT m.account_id, max(m.report_date) AS report_date
  FROM int.day_maturity AS m
  GROUP BY m.account_id
),
day AS (
  SELECT
    d.account_id, l.report_date AS last_date, d.report_date, date_trunc('month', l.report_date)::DATE AS month, (date_trunc('month', l.report_date) + INTERVAL 1 MONTH)::DATE AS month_end,
    sum(d.spend) AS spend, CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions) END AS conversions, any_value(m.conversions_share) AS conversions_share
  FROM mart.campaign_day AS d
  JOIN last AS l ON l.account_id = d.account_id
  JOIN int.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
  GROUP BY d.account_id, l.report_date, d.report_date
),
-- The last 28 days, or as many as there are, in two halves: is_pace marks the later half, is_pace_before the earlier
-- half.
placed AS (
  SELECT
    h.*, (1e6 * h.spend::DOUBLE * h.conversions_share)::BIGINT AS arrived, h.report_date >= h.month AS is_now,
    h.report_date >= (h.month - INTERVAL 1 MONTH)::DATE AND h.report_date < h.month AND day(h.report_date) <= day(h.last_date) AS is_before,
    h.report_date > h.last_date - h.half AS is_pace, h.report_date BETWEEN h.last_date - h.span + 1 AND h.last_date - h.half AS is_pace_before
  FROM (SELECT d.*, ((d.span + 1) // 2)::INTEGER AS half FROM (
    SELECT
      d.*, least(28, d.last_date - min(d.report_date) OVER (PARTITION BY d.account_id) + 1)::INTEGER AS span,
      max(d.spend) OVER (PARTITION BY d.account_id ORDER BY d.report_date RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND INTERVAL 7 DAY PRECEDING) AS spend_week_before
    FROM day AS d) AS d) AS h
),
summed AS (
  SELECT
    p.account_id, any_value(p.month) AS month, any_value(p.last_date) AS last_date, any_value(p.month_end - p.last_date - 1) AS days_left,
    count(*) FILTER (WHERE p.is_now) AS days_known, count(*) FILTER (WHERE p.is_before) AS days_known_before,
    sum(p.spend) FILTER (WHERE p.is_now) AS spend, sum(p.spend) FILTER (WHERE p.is_before) AS spend_before,
    CASE WHEN count(*) FILTER (WHERE p.is_now AND p.conversions IS NULL) = 0 THEN sum(p.conversions) FILTER (WHERE p.is_now) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE p.is_before AND p.conversions IS NULL) = 0 THEN sum(p.conversions) FILTER (WHERE p.is_before) END AS conversions_before,
    CASE WHEN count(*) FILTER (WHERE p.is_now AND p.arrived IS NULL) = 0 THEN sum(p.arrived) FILTER (WHERE p.is_now) / 1e6 END AS arrived,
    CASE WHEN count(*) FILTER (WHERE p.is_before AND p.arrived IS NULL) = 0 THEN sum(p.arrived) FILTER (WHERE p.is_before) / 1e6 END AS arrived_before,
    any_value(p.span)::DOUBLE AS span, any_value(p.half)::DOUBLE AS half,
    sum(p.spend) FILTER (WHERE p.is_pace)::DOUBLE / nullif(count(*) FILTER (WHERE p.is_pace), 0) AS pace, (count(*) FILTER (WHERE p.is_pace))::DOUBLE AS days_of_pace,
    sum(p.spend) FILTER (WHERE p.is_pace_before)::DOUBLE / nullif(count(*) FILTER (WHERE p.is_pace_before), 0) AS pace_before, (count(*) FILTER (WHERE p.is_pace_before))::DOUBLE AS days_before,
    var_samp(round(p.spend, 2)::DOUBLE ORDER BY p.report_date) FILTER (WHERE p.is_pace) AS spread,
    var_samp(round(p.spend, 2)::DOUBLE ORDER BY p.report_date) FILTER (WHERE p.is_pace_before) AS spread_before,
    CASE WHEN count(p.spend_week_before) FILTER (WHERE p.is_pace OR p.is_pace_before) >= 7 THEN
      avg(pow((p.spend - p.spend_week_before)::DOUBLE, 2) ORDER BY p.report_date) FILTER (WHERE p.is_pace OR p.is_pace_before) / 2
    END AS spread_of_weekday
  FROM placed AS p
  GROUP BY p.account_id
),
varied AS (
  SELECT
    s.*, coalesce(s.pace - s.pace_before, 0) AS move, 0.75 * (s.days_left + s.half) / 28 AS onward,
    (coalesce((s.days_of_pace - 1) * s.spread, 0) + coalesce((s.days_before - 1) * s.spread_before, 0)) / nullif(greatest(0, s.days_of_pace - 1) + greatest(0, s.days_before - 1), 0) AS variance
  FROM summed AS s
),
ended AS (
  SELECT
    v.*, v.spend::DOUBLE + v.days_left * greatest(0, v.pace + v.move * v.onward) AS spend_end,
    -- chance is the half-width of the 90 % interval. Its three terms: the days left vary, and so do the paces they are
    -- predicted from; if the days left are no whole weeks, it matters which weekdays they are; and the pace may move by
    -- half as much as predicted, or by half more. 1.71 is Student's quantile for some 24 days (1.645 for infinitely
    -- many).
    1.71 * safe_sqrt(coalesce(v.spread_of_weekday, v.variance) * (v.days_left + v.days_left * v.days_left * (pow(1 + v.onward, 2) / v.days_of_pace + coalesce(pow(v.onward, 2) / nullif(v.days_before, 0), 0)))
      + greatest(0, v.variance - coalesce(v.spread_of_weekday, v.variance)) * (v.days_left % 7) * (7 - v.days_left % 7) / 6
      + pow(v.days_left * v.move * (v.days_left + v.half) / v.span / 2, 2)) AS chance
  FROM varied AS v
)
SELECT
  e.account_id, e.month, e.last_date, e.days_known, e.days_known_before, e.days_left, e.spend, e.spend_before,
  (e.spend::DOUBLE / nullif(e.days_known, 0))::DECIMAL(18,2) AS spend_a_day, (e.spend_before::DOUBLE / nullif(e.days_known_before, 0))::DECIMAL(18,2) AS spend_a_day_before,
  CASE WHEN least(e.days_known, e.days_known_before) >= 3 THEN e.spend::DOUBLE / nullif(e.days_known, 0) / nullif(e.spend_before::DOUBLE / nullif(e.days_known_before, 0), 0) - 1 END::DECIMAL(18,3) AS spend_a_day_change,
  e.conversions, (e.conversions * e.spend::DOUBLE / nullif(e.arrived, 0))::DECIMAL(18,1) AS conversions_expected,
  (e.conversions_before * e.spend_before::DOUBLE / nullif(e.arrived_before, 0))::DECIMAL(18,1) AS conversions_before_expected,
  (e.arrived / nullif(e.conversions, 0))::DECIMAL(18,2) AS cpa_expected, (e.arrived_before / nullif(e.conversions_before, 0))::DECIMAL(18,2) AS cpa_before_expected,
  e.spend_end::DECIMAL(18,2) AS spend_at_end, greatest(e.spend::DOUBLE, e.spend_end - e.chance)::DECIMAL(18,2) AS spend_at_end_low, (e.spend_end + e.chance)::DECIMAL(18,2) AS spend_at_end_high
FROM ended AS e
ORDER BY e.account_id
