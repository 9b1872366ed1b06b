-- What share of a day's final spend and conversions is there so many days later, and from which age do days stop changing?
-- Trap: shares are chained from what days did from one age to the next, so days count that are not final yet; what never changed before the oldest age seen is taken to be final. A change that a late run saw counts at the age at which it was seen.
-- Column age_days: Chicago days since the day, at the end of which its numbers are taken: 1 is the day after.
-- Column days_followed: Days known at this age that were read at a later age too: only they show how numbers went on.
-- Column spend_share: Spend at this age as a share of the final spend; above 1 where spend is taken back later. NULL: no day has been followed from this age on, or from a later one.
-- Column conversions_share: Conversions at this age as a share of the final conversions, in the same way.
-- Column settled_age_days: The age from which both are as near to the final ones as 99 % says, on every row of the account. NULL: not known yet.
WITH step AS (
  -- Proven reads of days by published runs.
  SELECT s.account_id, try_cast(s.unit AS DATE) AS report_date, s.started_at
  FROM ops.step AS s
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
),
first_read AS (
  -- The first read after the day was over. Before it, the whole day is unknown.
  SELECT s.account_id, s.report_date, min(r.report_date) AS first_date
  FROM step AS s
  JOIN main.calendar AS k ON k.account_id = s.account_id AND k.report_date = s.report_date AND s.started_at >= k.ends_at
  ASOF JOIN main.calendar AS r ON r.account_id = s.account_id AND s.started_at >= r.starts_at
  GROUP BY s.account_id, s.report_date
),
aged AS (
  SELECT
    c.account_id, c.report_date, (coalesce(f.first_date, c.first_date) - c.report_date)::INTEGER AS first_age,
    (c.last_date - c.report_date)::INTEGER AS last_age
  FROM int.whole_day AS c
  LEFT JOIN first_read AS f ON f.account_id = c.account_id AND f.report_date = c.report_date
),
total AS (
  SELECT
    s.account_id, s.report_date, sum(s.spend) AS spend,
    CASE WHEN sum(s.rows_with_conversions) = sum(s.rows) THEN sum(s.conversions) END AS conversions
  FROM int.campaign_spend AS s
  GROUP BY s.account_id, s.report_date
),
seen AS (
  SELECT
    s.account_id, s.report_date, s.seen_at,
    sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0)) AS spend,
    sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0)) AS conversions
  FROM main.spend_change AS s
  GROUP BY s.account_id, s.report_date, s.seen_at
),
change AS (
  SELECT
    s.account_id, s.report_date, (k.report_date - s.report_date)::INTEGER AS age,
    sum(s.spend) AS spend, sum(s.conversions) AS conversions
  FROM seen AS s
  -- An ASOF join, because with two inequalities DuckDB would compare every change with every day of the calendar.
  ASOF JOIN main.calendar AS k ON k.account_id = s.account_id AND s.seen_at >= k.starts_at
  WHERE s.seen_at < k.ends_at
  GROUP BY s.account_id, s.report_date, k.report_date
),
day_age AS (
  SELECT a.account_id, a.report_date, unnest(range(a.first_age, a.last_age + 1)) AS age
  FROM aged AS a
),
value AS (
  -- The value at an age is the stored value minus all changes at later ages.
  SELECT
    d.account_id, d.report_date, d.age,
    CASE WHEN t.report_date IS NULL THEN 0 ELSE t.spend END - coalesce(sum(c.spend) OVER later, 0) AS spend,
    CASE WHEN t.report_date IS NULL THEN 0 ELSE t.conversions END - coalesce(sum(c.conversions) OVER later, 0) AS conversions
  FROM day_age AS d
  LEFT JOIN total AS t ON t.account_id = d.account_id AND t.report_date = d.report_date
  LEFT JOIN change AS c ON c.account_id = d.account_id AND c.report_date = d.report_date AND c.age = d.age
  WINDOW later AS (PARTITION BY d.account_id, d.report_date ORDER BY d.age DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
-- The totals of the days at each age and at the next age. A join, not a window: DuckDB plans everything below a window
-- twice, and everything below ten nested windows a thousand times.
link AS (
  SELECT
    v.account_id, v.age, count(n.age) AS days_followed, sum(v.spend) FILTER (WHERE n.age IS NOT NULL)::DOUBLE AS spend, sum(n.spend)::DOUBLE AS next_spend,
    sum(v.conversions) FILTER (WHERE n.age IS NOT NULL)::DOUBLE AS conversions, sum(n.conversions)::DOUBLE AS next_conversions
  FROM value AS v
  LEFT JOIN value AS n ON n.account_id = v.account_id AND n.report_date = v.report_date AND n.age = v.age + 1
  GROUP BY v.account_id, v.age
),
anchored AS (
  -- oldest: the oldest age at which any day was read again. The numbers at that age count as final.
  SELECT l.*, max(CASE WHEN l.days_followed > 0 THEN l.age + 1 END) OVER (PARTITION BY l.account_id) AS oldest
  FROM link AS l
),
growth AS (
  SELECT
    l.*, coalesce(l.age <= l.oldest, false) AS is_chained,
    CASE WHEN l.age = l.oldest OR l.next_spend = l.spend THEN 1 ELSE l.next_spend / nullif(l.spend, 0) END AS spend_growth,
    CASE WHEN l.age = l.oldest OR l.next_conversions = l.conversions THEN 1 ELSE l.next_conversions / nullif(l.conversions, 0) END AS conversions_growth
  FROM anchored AS l
),
share AS (
  -- If the growth at one age is unknown, the shares of all earlier ages are, too.
  SELECT
    g.*,
    CASE WHEN count(g.spend_growth) OVER onward = count(*) OVER onward THEN 1 / nullif(product(g.spend_growth) OVER onward, 0) END AS spend_share,
    CASE WHEN count(g.conversions_growth) OVER onward = count(*) OVER onward THEN 1 / nullif(product(g.conversions_growth) OVER onward, 0) END AS conversions_share
  FROM growth AS g
  WINDOW onward AS (PARTITION BY g.account_id, g.is_chained ORDER BY g.age DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- far: the last age before oldest at which the numbers are unknown, or differ from the final numbers by more than
-- settled_share allows.
settled AS (
  SELECT
    s.*, max(s.age) FILTER (WHERE s.age < s.oldest AND NOT coalesce(abs(1 - s.spend_share) <= 1 - 0.99::DOUBLE /* settled_share */ + 1e-9
      AND abs(1 - s.conversions_share) <= 1 - 0.99::DOUBLE /* settled_share */ + 1e-9, false)) OVER (PARTITION BY s.account_id) AS far
  FROM share AS s
)
SELECT
  s.account_id, s.age AS age_days, s.days_followed, s.spend_share, s.conversions_share,
  min(s.age) FILTER (WHERE s.age < s.oldest AND s.age > coalesce(s.far, 0)) OVER (PARTITION BY s.account_id) AS settled_age_days
FROM settled AS s
