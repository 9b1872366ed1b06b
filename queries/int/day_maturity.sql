-- How old are each day's numbers, and which share of its final conversions is there by now?
-- Trap: the share is that of the account as a whole (int.settlement); a campaign whose conversions take longer has less. A day is as old as its last read, not as today.
-- Column coverage_state: How well the day is known: complete or final, as in ops.day_coverage.
-- Column age_days: Chicago days from the day to its last read: 1 is the day after. NULL: when it was read is not known.
-- Column conversions_share: Share of its final conversions that has arrived by that age; 1 once it is older than any change ever seen, or final, or nobody knows when it was read. NULL: not known yet, as in an account whose days have not been followed long enough; no judgement uses the day.
-- Column is_young: Whether 2 % or more of its conversions are still to come. NULL: not known.
WITH day AS (
  SELECT c.account_id, c.report_date, c.state, c.is_a_day_old, (c.last_date - c.report_date)::INTEGER AS age_days
  FROM int.whole_day AS c
),
curve AS (
  SELECT s.account_id, s.age_days, s.conversions_share, max(CASE WHEN s.conversions_share IS NOT NULL THEN s.age_days END) OVER (PARTITION BY s.account_id) AS oldest
  FROM int.settlement AS s
),
span AS (
  SELECT c.account_id, any_value(c.oldest) AS oldest
  FROM curve AS c
  GROUP BY c.account_id
),
aged AS (
  SELECT
    d.account_id, d.report_date, d.state AS coverage_state, d.is_a_day_old, d.age_days,
    CASE WHEN d.age_days > p.oldest OR (d.state = 'final' AND c.conversions_share IS NULL) THEN 1 ELSE c.conversions_share END AS conversions_share
  FROM day AS d
  LEFT JOIN curve AS c ON c.account_id = d.account_id AND c.age_days = d.age_days
  LEFT JOIN span AS p ON p.account_id = d.account_id
)
SELECT
  a.account_id, a.report_date, a.coverage_state, a.is_a_day_old, a.age_days,
  -- curve_needed: 0 lets a case judge days of which no curve is known as if all their conversions had arrived.
  coalesce(a.conversions_share, CASE WHEN a.age_days IS NULL OR (1::DOUBLE /* curve_needed */) = 0 THEN 1 END) AS conversions_share,
  a.conversions_share <= 0.98 AS is_young
FROM aged AS a
