-- How did the last week compare with the week before, in total and by campaign?
-- Trap: a week is the last 7 days that are proven complete; compare the daily averages if the two weeks differ in known days. Conversions of young days still arrive, so cpa is not to be held against cpa_before: cpa_change compares at equal age. Profit is by your own payouts, NULL where they are not known, and of young days too low.
-- Parameter days: 7, days in a week.
-- Parameter rows: 20, campaigns to show, those whose spend changed most first.
-- Alone: No campaign is listed: none had spend in the two weeks, or rows is 0.
-- Days: s.report_date > t.last_whole_date - 2 * $days::INTEGER AND s.report_date <= t.last_whole_date
-- Shown: cpa_verdict, campaign_name, spend, spend_before, conversions, cpa, cpa_change, profit, profit_before, campaign_id
-- Column spend_a_day: US dollars a day of the last week.
-- Column spend_a_day_before: US dollars a day of the week before.
-- Column cpa_adjusted: US dollars per conversion, with those still to come.
WITH last AS (
  SELECT c.account_id, max(c.report_date) AS report_date
  FROM ops.day_coverage AS c
  WHERE c.state IN ('complete', 'final')
  GROUP BY c.account_id
),
known AS (
  SELECT
    m.account_id, m.report_date, l.report_date AS last_date, $days::INTEGER AS apart,
    m.report_date > l.report_date - $days::INTEGER AS is_last, m.report_date <= l.report_date - $days::INTEGER AS is_before,
    m.last_read_at, m.conversions_share, k.ends_at
  FROM mart.day_maturity AS m
  JOIN last AS l ON l.account_id = m.account_id
  JOIN main.calendar AS k ON k.account_id = m.account_id AND k.report_date = m.report_date
  WHERE m.report_date > l.report_date - 2 * $days::INTEGER
),
week AS (
  SELECT
    k.account_id, any_value(k.last_date) AS window_to,
    count(*) FILTER (WHERE k.is_last) AS days_known, count(*) FILTER (WHERE NOT k.is_last) AS days_known_before
  FROM known AS k
  GROUP BY k.account_id
),
-- Part: equal_age
-- Part: stopped
day AS (
  SELECT
    d.account_id, d.campaign_id, d.report_date, d.campaign_name, k.is_last, d.spend, d.conversions,
    d.conversions / nullif(k.conversions_share, 0) AS adjusted,
    d.spend - coalesce(l.spend, 0) AS aged_spend, d.conversions - coalesce(l.conversions, 0) AS aged_conversions,
    y.account_id IS NOT NULL AS is_paid, CASE WHEN d.conversions = 0 THEN 0 ELSE p.revenue END AS revenue
  FROM mart.campaign_day AS d
  JOIN known AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  LEFT JOIN later AS l ON l.account_id = d.account_id AND l.campaign_id = d.campaign_id AND l.report_date = d.report_date
  LEFT JOIN mart.campaign_profit AS p ON p.account_id = d.account_id AND p.campaign_id = d.campaign_id AND p.report_date = d.report_date
  LEFT JOIN (SELECT DISTINCT o.account_id FROM main.payout AS o) AS y ON y.account_id = d.account_id
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, grouping(d.campaign_id) = 1 AS is_total,
    arg_max(d.campaign_name, d.report_date) AS campaign_name,
    coalesce(sum(d.spend) FILTER (WHERE d.is_last), 0) AS spend,
    coalesce(sum(d.spend) FILTER (WHERE NOT d.is_last), 0) AS spend_before,
    coalesce(sum(d.aged_spend) FILTER (WHERE NOT d.is_last), 0) AS aged_spend,
    -- One unknown count makes the sum unknown.
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE d.is_last), 0) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE NOT d.is_last), 0) END AS conversions_before,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.aged_conversions IS NULL) = 0 THEN coalesce(sum(d.aged_conversions) FILTER (WHERE NOT d.is_last), 0) END AS aged_conversions,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE d.is_last), 0) END AS adjusted,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE NOT d.is_last), 0) END AS adjusted_before,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE d.is_last AND d.revenue IS NULL) = 0 THEN coalesce(sum(d.revenue) FILTER (WHERE d.is_last), 0) END AS revenue,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE NOT d.is_last AND d.revenue IS NULL) = 0 THEN coalesce(sum(d.revenue) FILTER (WHERE NOT d.is_last), 0) END AS revenue_before
  FROM day AS d
  GROUP BY GROUPING SETS ((d.account_id), (d.account_id, d.campaign_id))
),
compared AS (
  SELECT
    s.*, w.days_known, w.days_known_before, w.window_to,
    CASE WHEN a.is_known THEN s.aged_conversions END AS conversions_before_at_age,
    CASE WHEN a.is_known THEN s.aged_spend END AS spend_before_at_age
  FROM summed AS s
  JOIN week AS w ON w.account_id = s.account_id
  LEFT JOIN aged AS a ON a.account_id = s.account_id
),
sided AS (
  SELECT
    d.account_id, d.campaign_id, d.is_last AS is_recent, sum(d.spend) AS spend,
    sum(CASE WHEN d.is_last THEN d.conversions ELSE d.aged_conversions END) AS conversions
  FROM day AS d
  GROUP BY GROUPING SETS ((d.account_id, d.report_date, d.is_last), (d.account_id, d.campaign_id, d.report_date, d.is_last))
),
-- Part: spread
judged AS (
  SELECT
    c.*,
    CASE WHEN c.conversions_before_at_age IS NOT NULL THEN 'equal_age' WHEN c.adjusted IS NOT NULL AND c.adjusted_before IS NOT NULL THEN 'adjusted' END AS compared_by,
    CASE
      WHEN c.conversions_before_at_age IS NOT NULL THEN
        c.spend::DOUBLE / nullif(c.conversions, 0) / nullif(c.spend_before_at_age::DOUBLE / nullif(c.conversions_before_at_age, 0), 0) - 1
      ELSE c.spend::DOUBLE / nullif(c.adjusted, 0) / nullif(c.spend_before::DOUBLE / nullif(c.adjusted_before, 0), 0) - 1
    END AS cpa_change,
    coalesce(p.dispersion, 1) * (1.0 / nullif(c.conversions, 0) + 1.0 / nullif(coalesce(c.conversions_before_at_age, c.conversions_before), 0)) AS variance
  FROM compared AS c
  LEFT JOIN spread AS p ON p.account_id = c.account_id AND p.campaign_id IS NOT DISTINCT FROM c.campaign_id
)
SELECT
  s.account_id, s.campaign_id,
  CASE WHEN s.is_total THEN 'all campaigns' ELSE s.campaign_name END AS campaign_name,
  s.days_known, s.days_known_before,
  s.spend, s.spend_before,
  (s.spend::DOUBLE / nullif(s.days_known, 0))::DECIMAL(18,2) AS spend_a_day,
  (s.spend_before::DOUBLE / nullif(s.days_known_before, 0))::DECIMAL(18,2) AS spend_a_day_before,
  s.conversions, s.conversions_before,
  (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa,
  (s.spend_before::DOUBLE / nullif(s.conversions_before, 0))::DECIMAL(18,2) AS cpa_before,
  s.conversions_before_at_age,
  (s.spend_before_at_age::DOUBLE / nullif(s.conversions_before_at_age, 0))::DECIMAL(18,2) AS cpa_before_at_age,
  s.adjusted::DECIMAL(18,1) AS conversions_adjusted, s.adjusted_before::DECIMAL(18,1) AS conversions_before_adjusted,
  (s.spend::DOUBLE / nullif(s.adjusted, 0))::DECIMAL(18,2) AS cpa_adjusted,
  (s.spend_before::DOUBLE / nullif(s.adjusted_before, 0))::DECIMAL(18,2) AS cpa_before_adjusted,
  s.cpa_change::DECIMAL(18,3) AS cpa_change, s.compared_by,
  CASE
    WHEN s.cpa_change IS NULL OR b.campaign_id IS NOT NULL THEN 'unknown'
    WHEN ln(1 + s.cpa_change) / sqrt(s.variance) > (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'change_min_z') THEN 'dearer'
    WHEN ln(1 + s.cpa_change) / sqrt(s.variance) < -(SELECT t.value FROM mart.threshold AS t WHERE t.name = 'change_min_z') THEN 'cheaper'
    ELSE 'unclear'
  END AS cpa_verdict,
  s.revenue::DECIMAL(18,6) AS revenue, (s.revenue - s.spend)::DECIMAL(18,6) AS profit, (s.revenue_before - s.spend_before)::DECIMAL(18,6) AS profit_before,
  s.window_to - $days::INTEGER + 1 AS window_from, s.window_to,
  s.window_to - 2 * $days::INTEGER + 1 AS before_from, s.window_to - $days::INTEGER AS before_to
FROM judged AS s
LEFT JOIN stopped AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id
WHERE s.is_total OR s.spend > 0 OR s.spend_before > 0
QUALIFY s.is_total OR row_number() OVER (
  PARTITION BY s.account_id, s.is_total ORDER BY abs(s.spend - s.spend_before) DESC, s.campaign_id) <= $rows::INTEGER
ORDER BY s.account_id, s.is_total DESC, abs(s.spend - s.spend_before) DESC, s.campaign_id
