-- How did the last week compare with the week before, in total and by campaign?
-- Trap: a week is the last 7 days that are proven complete; compare the daily averages if the two weeks differ in known days. Conversions of young days still arrive, so cpa is not to be held against cpa_before: cpa_change compares at equal age. Profit is by your own payouts, NULL where they are not known, and of young days too low.
-- Parameter rows: 20, campaigns to show, those whose spend changed most first.
-- Alone: No campaign is listed: none had spend in the two weeks, or rows is 0.
-- Days: s.report_date > t.last_whole_date - 14 AND s.report_date <= t.last_whole_date
-- Shown: verdict, campaign_name, spend, spend_before, conversions, cpa, cpa_change, profit, profit_before, campaign_id
SELECT
  w.account_id, w.verdict, w.campaign_id, w.campaign_name, w.days_known, w.days_known_before, w.spend, w.spend_before, w.spend_a_day, w.spend_a_day_before,
  w.conversions, w.conversions_before, w.cpa, w.cpa_before, w.conversions_before_at_age, w.cpa_before_at_age, w.conversions_adjusted, w.conversions_before_adjusted,
  w.cpa_adjusted, w.cpa_before_adjusted, w.cpa_change, w.compared_by, w.cpa_verdict, w.revenue, w.profit, w.profit_before, w.roi, w.roi_before, w.profit_expected, w.profit_before_expected, w.spend_a_day_change, w.is_total, w.reason,
  w.window_from, w.window_to, w.before_from, w.before_to
FROM mart.last_week AS w
QUALIFY w.is_total OR row_number() OVER (PARTITION BY w.account_id, w.is_total ORDER BY abs(w.spend - w.spend_before) DESC, w.campaign_id) <= $rows::INTEGER
ORDER BY w.account_id, w.is_total DESC, abs(w.spend - w.spend_before) DESC, w.campaign_id
