-- How old are each day's numbers, and which share of its final conversions is there by now?
-- Trap: the share is that of the account as a whole (mart.settlement); a campaign whose conversions take longer has less. A day is as old as its last read, not as today.
-- Column coverage_state: How well the day is known: complete or final, as in ops.day_coverage.
-- Column age_days: Chicago days from the day to its last read: 1 is the day after. NULL: when it was read is not known.
-- Column conversions_share: Share of its final conversions that has arrived by that age; 1 once it is older than any change ever seen, or final. NULL: not known yet, as in an account whose days have not been followed long enough.
-- Column is_young: Whether 2 % or more of its conversions are still to come. NULL: not known.
WITH day AS (
  SELECT c.account_id, c.report_date, c.state, c.last_read_at, (k.report_date - c.report_date)::INTEGER AS age_days
  FROM ops.day_coverage AS c
  LEFT JOIN main.calendar AS k ON k.account_id = c.account_id AND k.starts_at <= c.last_read_at AND c.last_read_at < k.ends_at
  WHERE c.state IN ('complete', 'final')
),
curve AS (
  SELECT s.account_id, s.age_days, s.conversions_share, max(CASE WHEN s.conversions_share IS NOT NULL THEN s.age_days END) OVER (PARTITION BY s.account_id) AS oldest
  FROM mart.settlement AS s
),
span AS (
  SELECT c.account_id, any_value(c.oldest) AS oldest
  FROM curve AS c
  GROUP BY c.account_id
),
aged AS (
  SELECT
    d.account_id, d.report_date, d.state AS coverage_state, d.last_read_at, d.age_days,
    CASE WHEN d.age_days > p.oldest OR (d.state = 'final' AND c.conversions_share IS NULL) THEN 1 ELSE c.conversions_share END AS conversions_share
  FROM day AS d
  LEFT JOIN curve AS c ON c.account_id = d.account_id AND c.age_days = d.age_days
  LEFT JOIN span AS p ON p.account_id = d.account_id
)
SELECT a.account_id, a.report_date, a.coverage_state, a.last_read_at, a.age_days, a.conversions_share, a.conversions_share <= 0.98 AS is_young
FROM aged AS a
