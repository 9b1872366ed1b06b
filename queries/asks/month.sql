-- How does this month go, against the last one by the same day, and where will it end?
-- Trap: the month is that of the last day that is proven complete, and both are counted to the same day of the month, of days proven complete (days_known, days_known_before). Conversions are those expected, with those still to come. The end is the pace of the last 14 such days (0 at least), moved on for the days that are left by three quarters of its move since the fortnight before (of fewer than 28 days two halves are compared, and less of the move is taken); the range is what chance makes of the days and of that move, and that half of the move is lacking or comes again. A limit or a stop of tomorrow is not in it.
-- Days: s.report_date >= t.month_from AND s.report_date <= t.month_to
-- Shown: spend, spend_before, spend_a_day, spend_a_day_before, spend_a_day_change, spend_at_end, spend_at_end_low, spend_at_end_high, cpa_expected, cpa_before_expected
SELECT
  m.account_id, m.month, m.last_date, m.days_known, m.days_known_before, m.days_left, m.spend, m.spend_before, m.spend_a_day, m.spend_a_day_before, m.spend_a_day_change,
  m.conversions, m.conversions_expected, m.conversions_before_expected, m.cpa_expected, m.cpa_before_expected, m.spend_at_end, m.spend_at_end_low, m.spend_at_end_high
FROM mart.month AS m
ORDER BY m.account_id
