-- How did the last week compare with the week before, in total and by campaign?
-- Trap: the campaigns whose spend changed most come first; a week is the last 7 days that are proven complete; compare the daily averages if the two weeks differ in known days. Conversions of young days still arrive, so cpa is not to be held against cpa_before: cpa_change compares at equal age. Profit is by your own payouts, NULL where they are not known: profit_expected has the conversions still to come, NULL where nobody knows them yet; profit_so_far has not, and of young days it is too low.
-- Parameter rows: 20, campaigns to show, those whose spend changed most first.
-- Alone: No campaign is listed: none had spend in the two weeks, or rows is 0.
-- Days: s.report_date > t.last_whole_date - 14 AND s.report_date <= t.last_whole_date
-- Shown: verdict, campaign_name, spend, spend_before, cpa_change, profit_expected, profit_before_expected, cpa_adjusted, conversions_adjusted, cpa, conversions, campaign_id
-- Column spend_a_day: US dollars a day of the last week.
-- Column spend_a_day_before: US dollars a day of the week before.
-- Column cpa_adjusted: US dollars per conversion, with those still to come.
-- Column campaign_id: Campaign ID; NULL: all campaigns together.
-- Column campaign_name: Name of the campaign, or all campaigns.
-- Column days_known: Days of the last week that are proven complete.
-- Column days_known_before: Days of the week before that are proven complete.
-- Column spend: US dollars of the last week.
-- Column spend_before: US dollars of the week before.
-- Column spend_a_day_change: Change of spend_a_day, as a share.
-- Column conversions: Conversions of the last week so far. NULL: some row lacks the number.
-- Column conversions_before: Conversions of the week before so far.
-- Column cpa: US dollars per conversion of the last week so far.
-- Column cpa_before: US dollars per conversion of the week before so far.
-- Column conversions_before_at_age: Conversions of the week before as they were known when it was as old as the last week is now, days of a break that is over left out. NULL: nobody read them at that age.
-- Column cpa_before_at_age: US dollars per conversion of the week before as known at that age.
-- Column conversions_adjusted: Conversions of the last week, with those still to come.
-- Column conversions_before_adjusted: Conversions of the week before, with those still to come.
-- Column cpa_before_adjusted: US dollars per conversion of the week before, with those still to come.
-- Column cpa_compared: US dollars per conversion of the last week as cpa_change compares it: without days of a break that is over, and so far, or with those still to come (compared_by).
-- Column cpa_before_compared: The same of the week before.
-- Column cpa_change: Change of the CPA as a share: at equal age, else with those still to come (compared_by); days of a break that is over are left out. mart.campaign_performance has the same number by campaign.
-- Column compared_by: equal_age, or adjusted: by the account's own curve. NULL: not comparable.
-- Column cpa_verdict: dearer, cheaper: cpa_change is beyond chance (2.2); unclear; unknown: not comparable, or its conversions stopped.
-- Column verdict: broken_before: its conversions broke on days of the two weeks, and came back (int.break_day); else cpa_verdict.
-- Column reason: Why, in a sentence; and that its daily limit holds it back, if it pays (campaigns_at_limit).
-- Column revenue: US dollars that the last week's conversions so far earned by your own payouts. NULL: not known.
-- Column profit_before_so_far: US dollars of the week before: revenue less spend.
-- Column roi_expected: profit_expected by spend. NULL: it is not known, or nothing was spent.
-- Column roi_before_expected: The same of the week before.
-- Column profit_expected: Profit with the conversions still to come, in US dollars.
-- Column profit_before_expected: The same of the week before, in US dollars.
-- Column window_from: First day of the last week.
-- Column window_to: Last day of the last week: the last one that is proven complete.
-- Column before_from: First day of the week before.
-- Column before_to: Last day of the week before.
WITH level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS days, (2.2::DOUBLE /* change_min_z */) AS change_z
  FROM int.threshold AS t
),
last AS (
  SELECT c.account_id, max(c.report_date) AS report_date
  FROM int.whole_day AS c
  GROUP BY c.account_id
),
known AS (
  SELECT
    m.account_id, m.report_date, l.report_date AS last_date, v.days AS apart,
    m.report_date > l.report_date - v.days AS is_last, m.report_date <= l.report_date - v.days AS is_before,
    m.conversions_share
  FROM int.day_maturity AS m
  JOIN last AS l ON l.account_id = m.account_id
  CROSS JOIN level AS v
  WHERE m.report_date > l.report_date - 2 * v.days
),
week AS (
  SELECT
    k.account_id, any_value(k.last_date) AS window_to,
    count(*) FILTER (WHERE k.is_last) AS days_known, count(*) FILTER (WHERE NOT k.is_last) AS days_known_before
  FROM known AS k
  GROUP BY k.account_id
),
day AS (
  SELECT
    d.account_id, d.campaign_id, d.report_date, d.campaign_name, k.is_last, d.spend, d.conversions,
    d.conversions / nullif(k.conversions_share, 0) AS adjusted,
    d.spend - coalesce(l.spend, 0) AS aged_spend, d.conversions - coalesce(l.conversions, 0) AS aged_conversions, b.account_id IS NULL AS is_compared,
    y.account_id IS NOT NULL AS is_paid, CASE WHEN d.conversions = 0 THEN 0 ELSE p.revenue END AS revenue,
    CASE WHEN d.conversions = 0 THEN 0 ELSE p.revenue END::DOUBLE / nullif(k.conversions_share, 0) AS revenue_expected
  FROM mart.campaign_day AS d
  JOIN known AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  LEFT JOIN int.later_change AS l ON l.account_id = d.account_id AND l.campaign_id = d.campaign_id AND l.report_date = d.report_date
  LEFT JOIN int.break_day AS b ON b.account_id = d.account_id AND b.campaign_id = d.campaign_id AND b.report_date = d.report_date AND b.is_over
  LEFT JOIN int.campaign_profit AS p ON p.account_id = d.account_id AND p.campaign_id = d.campaign_id AND p.report_date = d.report_date
  LEFT JOIN (SELECT DISTINCT o.account_id FROM main.payout AS o) AS y ON y.account_id = d.account_id
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, grouping(d.campaign_id) = 1 AS is_total,
    arg_max(d.campaign_name, d.report_date) AS campaign_name,
    coalesce(sum(d.spend) FILTER (WHERE d.is_last), 0) AS spend,
    coalesce(sum(d.spend) FILTER (WHERE NOT d.is_last), 0) AS spend_before,
    coalesce(sum(d.spend) FILTER (WHERE d.is_last AND d.is_compared), 0) AS compared_spend, coalesce(sum(d.spend) FILTER (WHERE NOT d.is_last AND d.is_compared), 0) AS compared_spend_before,
    coalesce(sum(d.aged_spend) FILTER (WHERE NOT d.is_last AND d.is_compared), 0) AS aged_spend,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.is_compared AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE d.is_last AND d.is_compared), 0) END AS compared_conversions,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.is_compared AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE d.is_last AND d.is_compared), 0) END AS compared_adjusted,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.is_compared AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE NOT d.is_last AND d.is_compared), 0) END AS compared_adjusted_before,
    -- If one count is unknown, the sum is unknown, too.
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE d.is_last), 0) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE NOT d.is_last), 0) END AS conversions_before,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.is_compared AND d.aged_conversions IS NULL) = 0 THEN coalesce(sum(d.aged_conversions) FILTER (WHERE NOT d.is_last AND d.is_compared), 0) END AS aged_conversions,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE d.is_last), 0) END AS adjusted,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.adjusted IS NULL) = 0 THEN coalesce(sum(d.adjusted) FILTER (WHERE NOT d.is_last), 0) END AS adjusted_before,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE d.is_last AND d.revenue IS NULL) = 0 THEN coalesce(sum(d.revenue) FILTER (WHERE d.is_last), 0) END AS revenue,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE NOT d.is_last AND d.revenue IS NULL) = 0 THEN coalesce(sum(d.revenue) FILTER (WHERE NOT d.is_last), 0) END AS revenue_before,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE d.is_last AND d.revenue_expected IS NULL) = 0 THEN coalesce(sum(d.revenue_expected) FILTER (WHERE d.is_last), 0) END AS revenue_expected,
    CASE WHEN bool_and(d.is_paid) AND count(*) FILTER (WHERE NOT d.is_last AND d.revenue_expected IS NULL) = 0 THEN coalesce(sum(d.revenue_expected) FILTER (WHERE NOT d.is_last), 0) END AS revenue_expected_before
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
  LEFT JOIN (SELECT y.account_id, bool_and(y.is_read) AS is_known FROM int.young_before AS y GROUP BY y.account_id) AS a ON a.account_id = s.account_id
),
sided AS (
  SELECT
    d.account_id, d.campaign_id, d.is_last AS is_recent, sum(d.spend) AS spend,
    sum(CASE WHEN d.is_last THEN d.conversions ELSE d.aged_conversions END) AS conversions
  FROM day AS d
  WHERE d.is_compared
  GROUP BY GROUPING SETS ((d.account_id, d.report_date, d.is_last), (d.account_id, d.campaign_id, d.report_date, d.is_last))
),
-- dispersion: how much more the days of one side (is_recent) vary than Poisson counts would; 1: no more.
spread AS (
  SELECT e.account_id, e.campaign_id, greatest(1, sum(pow(e.conversions - e.expected, 2) / nullif(e.expected, 0)) / nullif(count(*) - 2, 0)) AS dispersion
  FROM (
    SELECT
      d.account_id, d.campaign_id, d.conversions,
      d.spend::DOUBLE * sum(d.conversions) OVER of_side / nullif(sum(d.spend) OVER of_side, 0)::DOUBLE AS expected
    FROM sided AS d
    WINDOW of_side AS (PARTITION BY d.account_id, d.campaign_id, d.is_recent)
  ) AS e
  GROUP BY e.account_id, e.campaign_id
),
-- Campaigns with a break that fell into the two weeks and is over by now.
broke AS (
  SELECT d.account_id, d.campaign_id, any_value(d.reason) AS reason
  FROM int.break_day AS d
  JOIN known AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  WHERE d.is_over
  GROUP BY d.account_id, d.campaign_id
),
judged AS (
  SELECT
    c.*,
    CASE WHEN c.conversions_before_at_age IS NOT NULL THEN 'equal_age' WHEN c.adjusted IS NOT NULL AND c.adjusted_before IS NOT NULL THEN 'adjusted' END AS compared_by,
    CASE WHEN c.conversions_before_at_age IS NOT NULL THEN ratio(c.compared_spend, c.compared_conversions) ELSE ratio(c.compared_spend, c.compared_adjusted) END AS cpa_compared,
    CASE WHEN c.conversions_before_at_age IS NOT NULL THEN ratio(c.spend_before_at_age, c.conversions_before_at_age) ELSE ratio(c.compared_spend_before, c.compared_adjusted_before) END AS cpa_before_compared,
    cpa_compared / nullif(cpa_before_compared, 0) - 1 AS cpa_change,
    coalesce(p.dispersion, 1) * (1.0 / nullif(c.compared_conversions, 0) + 1.0 / nullif(coalesce(c.conversions_before_at_age, c.conversions_before), 0)) AS variance
  FROM compared AS c
  LEFT JOIN spread AS p ON p.account_id = c.account_id AND p.campaign_id IS NOT DISTINCT FROM c.campaign_id
),
stated AS (
  SELECT
    s.account_id, s.campaign_id, s.is_total,
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
    s.cpa_compared::DECIMAL(18,2) AS cpa_compared, s.cpa_before_compared::DECIMAL(18,2) AS cpa_before_compared,
    s.cpa_change::DECIMAL(18,3) AS cpa_change, s.compared_by,
    CASE
      WHEN s.cpa_change IS NULL OR b.campaign_id IS NOT NULL THEN 'unknown'
      WHEN safe_ln(1 + s.cpa_change) / safe_sqrt(s.variance) > v.change_z THEN 'dearer'
      WHEN safe_ln(1 + s.cpa_change) / safe_sqrt(s.variance) < -v.change_z THEN 'cheaper'
      ELSE 'unclear'
    END AS cpa_verdict,
    s.revenue::DECIMAL(18,6) AS revenue, (s.revenue - s.spend)::DECIMAL(18,6) AS profit_so_far, (s.revenue_before - s.spend_before)::DECIMAL(18,6) AS profit_before_so_far,
    ratio(s.revenue_expected - s.spend::DOUBLE, s.spend)::DECIMAL(18,3) AS roi_expected, ratio(s.revenue_expected_before - s.spend_before::DOUBLE, s.spend_before)::DECIMAL(18,3) AS roi_before_expected,
    (s.revenue_expected - s.spend::DOUBLE)::DECIMAL(18,2) AS profit_expected, (s.revenue_expected_before - s.spend_before::DOUBLE)::DECIMAL(18,2) AS profit_before_expected,
    (s.spend::DOUBLE / nullif(s.days_known, 0) / nullif(s.spend_before::DOUBLE / nullif(s.days_known_before, 0), 0) - 1)::DECIMAL(18,3) AS spend_a_day_change,
    s.window_to - v.days + 1 AS window_from, s.window_to,
    s.window_to - 2 * v.days + 1 AS before_from, s.window_to - v.days AS before_to
  FROM judged AS s
  CROSS JOIN level AS v
  LEFT JOIN int.stopped AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id
  WHERE s.is_total OR s.spend > 0 OR s.spend_before > 0
),
last_week AS (
  SELECT
    s.*, CASE WHEN o.campaign_id IS NOT NULL THEN 'broken_before' ELSE s.cpa_verdict END AS verdict,
    CASE
      WHEN o.campaign_id IS NOT NULL THEN o.reason || coalesce(format('; without those days its CPA {} from ${:,.2f} to ${:,.2f}', CASE WHEN s.cpa_change > 0 THEN 'rose' ELSE 'fell' END, s.cpa_before_compared::DOUBLE, s.cpa_compared::DOUBLE), '')
      WHEN s.cpa_verdict = 'unknown' THEN 'the two weeks cannot be compared'
      ELSE format('its CPA {} by {:.1f} %', CASE WHEN s.cpa_change > 0 THEN 'rose' ELSE 'fell' END, 100 * abs(s.cpa_change::DOUBLE)) || CASE s.cpa_verdict WHEN 'unclear' THEN ', which chance may explain' ELSE '' END
    END || coalesce('; ' || l.reason, '') AS reason
  FROM stated AS s
  LEFT JOIN int.campaign_limit AS l ON l.account_id = s.account_id AND l.campaign_id = s.campaign_id AND l.verdict = 'held_back'
  LEFT JOIN broke AS o ON o.account_id = s.account_id AND o.campaign_id = s.campaign_id
)
SELECT
  w.account_id, w.verdict, w.campaign_id, w.campaign_name, w.days_known, w.days_known_before, w.spend, w.spend_before, w.spend_a_day, w.spend_a_day_before,
  w.profit_expected, w.profit_before_expected, w.roi_expected, w.roi_before_expected, w.conversions_adjusted, w.conversions_before_adjusted, w.cpa_adjusted, w.cpa_before_adjusted, w.cpa_compared, w.cpa_before_compared, w.cpa_change, w.compared_by, w.cpa_verdict,
  w.conversions, w.conversions_before, w.cpa, w.cpa_before, w.conversions_before_at_age, w.cpa_before_at_age, w.revenue, w.profit_so_far, w.profit_before_so_far, w.spend_a_day_change, w.is_total, w.reason,
  w.window_from, w.window_to, w.before_from, w.before_to
FROM last_week AS w
QUALIFY w.is_total OR row_number() OVER (PARTITION BY w.account_id, w.is_total ORDER BY abs(w.spend - w.spend_before) DESC, w.campaign_id) <= $rows::INTEGER
ORDER BY w.account_id, w.is_total DESC, abs(w.spend - w.spend_before) DESC, w.campaign_id
