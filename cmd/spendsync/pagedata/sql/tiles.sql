-- The account at a glance
-- Block tiles
WITH earned AS (
  SELECT
    w.*, w.spend_a_day::DOUBLE / nullif(w.spend_a_day_before, 0) - 1 AS spend_change, w.profit_expected IS NOT NULL AS is_paid,
    w.spend::DOUBLE + w.profit_expected AS revenue_expected, w.spend_before::DOUBLE + w.profit_before_expected AS revenue_expected_before
  FROM page.last_week AS w
  WHERE w.is_total
),
spark AS (
  SELECT
    string_agg(d.spend::VARCHAR, ',' ORDER BY d.report_date) AS spend, string_agg(d.conversions::VARCHAR, ',' ORDER BY d.report_date) AS conversions,
    string_agg(d.revenue_a_day::VARCHAR, ',' ORDER BY d.report_date) AS revenue, string_agg(d.profit_a_day::VARCHAR, ',' ORDER BY d.report_date) AS profit,
    string_agg(d.cpa::VARCHAR, ',' ORDER BY d.report_date) AS cpa, string_agg(d.roi::VARCHAR, ',' ORDER BY d.report_date) AS roi
  FROM page.day AS d
  WHERE d.state IN ('complete', 'final') AND d.report_date > (SELECT max(o.report_date) - 14 FROM page.day AS o WHERE o.state IN ('complete', 'final'))
)
-- better: whether a higher number is good; NULL: neither good nor bad.
SELECT 1 AS place, 'Spend' AS label, w.spend AS value, 'money' AS unit, w.spend_change AS change, 'change' AS change_unit, NULL::BOOLEAN AS better,
  '7 days to ' || on_day(w.window_to) || CASE WHEN w.days_known < 7 THEN ', ' || w.days_known || ' of them known' ELSE '' END || coalesce('. Yesterday ' || usd(y.spend) || ', ' || moved(y.spend_change) || ' on its usual', '') AS note,
  s.spend AS spark
FROM earned AS w CROSS JOIN spark AS s LEFT JOIN page.yesterday AS y ON y.is_total AND y.report_date = w.window_to
UNION ALL
SELECT 2, CASE WHEN w.is_paid THEN 'Revenue' ELSE 'Conversions' END, CASE WHEN w.is_paid THEN w.revenue_expected ELSE coalesce(w.conversions_adjusted, w.conversions) END, CASE WHEN w.is_paid THEN 'money' ELSE 'count' END,
  CASE WHEN w.is_paid THEN w.revenue_expected / nullif(w.revenue_expected_before, 0) ELSE w.conversions_adjusted::DOUBLE / nullif(w.conversions_before_adjusted, 0) END - 1, 'change', true,
  CASE WHEN w.conversions IS NULL THEN 'not known: the report has rows without their number'
    ELSE many(w.conversions, 'conversion') END || coalesce(' so far, ' || format('{:,}', round(w.conversions_adjusted)::BIGINT) || ' with those to come', CASE WHEN w.conversions IS NULL THEN '' ELSE ' so far' END || CASE WHEN w.conversions > 0 THEN '; how many are to come is known from the second day of syncs on' ELSE '' END), CASE WHEN w.is_paid THEN s.revenue ELSE s.conversions END
FROM earned AS w CROSS JOIN spark AS s
UNION ALL
SELECT 3, CASE WHEN w.is_paid THEN 'Profit' ELSE 'CPA' END, CASE WHEN w.is_paid THEN w.profit_expected ELSE w.cpa_adjusted END, CASE WHEN w.is_paid THEN 'money' ELSE 'price' END,
  CASE WHEN w.is_paid THEN (w.profit_expected - w.profit_before_expected) / nullif(abs(w.profit_before_expected), 0) ELSE w.cpa_change END, 'change', w.is_paid,
  CASE WHEN w.is_paid THEN 'CPA ' || usd(w.cpa_adjusted) || coalesce(', ' || moved(w.cpa_change) || ' at equal age', '') WHEN w.cpa_adjusted IS NULL AND w.conversions > 0 THEN 'known from the second day of syncs on, with the conversions to come' ELSE 'conversions to come counted in; compared at equal age' END,
  CASE WHEN w.is_paid THEN s.profit ELSE s.cpa END
FROM earned AS w CROSS JOIN spark AS s
UNION ALL
SELECT 4, 'ROI', w.roi_expected, 'percent', w.roi_expected - w.roi_before_expected, 'points', true,
  CASE WHEN w.is_paid THEN 'profit by spend, conversions to come counted in' WHEN EXISTS (SELECT 1 FROM int.campaign_now AS n WHERE n.is_paid)
    THEN 'not known: of some rows the conversions, or what they pay, are not known' ELSE 'not known without payouts: SPENDSYNC_PAYOUTS' END, s.roi
FROM earned AS w CROSS JOIN spark AS s
UNION ALL
SELECT 5, 'Money left', CASE WHEN r.is_auto_funded THEN r.balance ELSE r.days_until_stop END, CASE WHEN r.is_auto_funded THEN 'money' ELSE 'days' END, NULL, NULL, true,
  CASE WHEN r.balance IS NULL THEN 'the balance was never read' WHEN r.is_auto_funded THEN 'the service charges the card by itself'
    ELSE usd(r.balance) || ', until ' || usd(r.balance_stop) || ' is left; ' || usd(r.expected_daily_spend) || ' a day goes' END, NULL
FROM mart.budget_runway AS r
UNION ALL
SELECT 6, 'Month', m.spend, 'money', NULL, NULL, NULL,
  many(m.days_known, 'known day') || coalesce('; ' || usd(m.spend_at_end) || ' by its end', '') || coalesce(' (' || usd(m.spend_at_end_low) || ' to ' || usd(m.spend_at_end_high) || ')', '')
    || coalesce('. A day’s spend is ' || moved(m.spend_a_day_change) || ' on that of last month, ' || usd(m.spend_a_day_before), ''), NULL
FROM page.month AS m
ORDER BY place
