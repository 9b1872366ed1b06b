-- On which days did a campaign's conversions break, so that nothing is concluded from them?
-- Trap: a break is days in a row that brought 0.65 or less of the conversions that the campaign's clicks brought before, beyond chance and the days' own spread: tracking, the landing page or the offer may have broken. Dearer clicks are no break. The days of a break that is over stay here for 120 days (four times 30 days). Conversions still to come are allowed for, by the account's own curve (int.day_maturity).
-- Column kind: conversions_stopped: the break brought a fifth or less of what was expected; conversions_fell: up to 0.65.
-- Column since_date: First Chicago day of the break.
-- Column until_date: Last Chicago day of the break, as far as is known.
-- Column is_over: Whether the days after it are as before it: they bring ten conversions or more, and more than 0.75 of the earlier rate.
-- Column observed: Conversions in all days of the break.
-- Column expected: What the days before would have led to.
-- Column z_score: How far the break is from chance and the usual spread of the days, in standard deviations.
-- Column verdict: over: the days after it are as before it; else the kind.
-- Column reason: What happened, in a sentence, without the campaign's name.
-- Column at_stake: US dollars a day that the conversions missed were worth. NULL: nobody said what one is worth.
-- Column action: What to do. NULL: it is over.
WITH level AS (
  SELECT
    -- break_days: Length of the time in which a break of conversions is looked for; it is held against as many days before.
    (30::DOUBLE /* break_days */)::INTEGER AS days, max(t.value) FILTER (WHERE t.name = 'break_min_z') AS min_z
  FROM int.threshold AS t
),
known AS (
  SELECT m.account_id, m.report_date, m.conversions_share AS share
  FROM int.day_maturity AS m
  CROSS JOIN level AS l
  -- Until some days of the account have been read again later, it is unknown how many conversions are still to come.
  WHERE m.is_young IS NOT NULL OR (m.conversions_share IS NOT NULL AND m.is_a_day_old)
  QUALIFY m.report_date > max(m.report_date) OVER (PARTITION BY m.account_id) - 4 * l.days
),
day AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, sum(s.conversions)::DOUBLE AS conversions, sum(s.clicks)::DOUBLE * any_value(k.share) AS arrived
  FROM int.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  WHERE s.campaign_id <> '' AND s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY s.account_id, s.campaign_id, s.report_date
  HAVING sum(s.rows_with_conversions) = sum(s.rows) AND sum(s.rows_with_clicks) = sum(s.rows) AND sum(s.clicks) > 0
),
-- arrived: clicks times the share of their conversions that has arrived. score: the logarithm of the likelihood ratio
-- of half the campaign's usual conversion rate to the usual rate, given the day's conversions.
scored AS (
  SELECT
    d.*, max(d.report_date) OVER of_campaign AS last_date, sum(d.conversions) OVER of_campaign AS all_conversions, sum(d.arrived) OVER of_campaign AS all_arrived,
    d.conversions * safe_ln(0.5) + 0.5 * d.arrived * sum(d.conversions) OVER of_campaign / nullif(sum(d.arrived) OVER of_campaign, 0) AS score
  FROM day AS d
  WINDOW of_campaign AS (PARTITION BY d.account_id, d.campaign_id)
),
summed AS (
  SELECT
    s.*, sum(s.score) OVER onward AS height, sum(s.conversions) OVER onward AS conversions_to, sum(s.arrived) OVER onward AS arrived_to
  FROM scored AS s
  WINDOW onward AS (PARTITION BY s.account_id, s.campaign_id ORDER BY s.report_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- The row of days with the highest sum of scores goes from a minimum of the running sum to the maximum that follows it
-- before the next lower minimum.
risen AS (
  SELECT
    s.*, least(0, coalesce(min(s.height) OVER (PARTITION BY s.account_id, s.campaign_id ORDER BY s.report_date ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS lowest
  FROM summed AS s
),
row_of_days AS (
  SELECT
    r.account_id, r.campaign_id, r.lowest, min(r.report_date) AS from_date, arg_max(r.report_date, r.height) AS until_date,
    arg_max(r.conversions_to, r.height) AS conversions_until, arg_max(r.arrived_to, r.height) AS arrived_until
  FROM risen AS r
  GROUP BY r.account_id, r.campaign_id, r.lowest
  -- A cheap first filter, far below the final criterion.
  HAVING max(r.height) - r.lowest > 2
),
-- The break begins on the day of this row of days that best separates the counts before the day from the later counts.
parted AS (
  SELECT
    b.account_id, b.campaign_id, s.report_date AS since_date, b.until_date, s.last_date,
    s.conversions_to - s.conversions AS before, s.arrived_to - s.arrived AS arrived_before,
    b.conversions_until - s.conversions_to + s.conversions AS inside, b.arrived_until - s.arrived_to + s.arrived AS arrived_inside,
    s.all_conversions - b.conversions_until AS after, s.all_arrived - b.arrived_until AS arrived_after
  FROM row_of_days AS b
  JOIN summed AS s ON s.account_id = b.account_id AND s.campaign_id = b.campaign_id AND s.report_date BETWEEN b.from_date AND b.until_date
  WHERE s.conversions_to - s.conversions >= 10
  QUALIFY row_number() OVER (
    PARTITION BY b.account_id, b.campaign_id, b.lowest
    ORDER BY before * safe_ln(before / arrived_before) + CASE WHEN inside > 0 THEN inside * safe_ln(inside / arrived_inside) ELSE 0 END DESC, s.report_date) = 1
),
-- A break is over if at least 10 conversions came after the row of days, at more than 0.75 of the conversion rate
-- before.
ended AS (
  SELECT
    p.*, p.after >= 10 AND p.after / nullif(p.arrived_after, 0) > 0.75 * p.before / p.arrived_before AS is_over
  FROM parted AS p
),
lasting AS (
  SELECT
    e.account_id, e.campaign_id, e.since_date, CASE WHEN e.is_over THEN e.until_date ELSE e.last_date END AS until_date, e.is_over, e.before, e.arrived_before,
    CASE WHEN e.is_over THEN e.inside ELSE e.inside + e.after END AS observed, CASE WHEN e.is_over THEN e.arrived_inside ELSE e.arrived_inside + e.arrived_after END AS arrived
  FROM ended AS e
),
-- dispersion: how much more the days before the break vary than Poisson counts would; 1: no more.
unsteady AS (
  SELECT
    l.account_id, l.campaign_id, l.since_date,
    greatest(1, sum(pow(d.conversions - d.arrived * l.before / l.arrived_before, 2) / (d.arrived * l.before / l.arrived_before)) FILTER (WHERE d.arrived > 0) / nullif(count(*) - 1, 0)) AS dispersion
  FROM lasting AS l
  JOIN day AS d ON d.account_id = l.account_id AND d.campaign_id = l.campaign_id AND d.report_date < l.since_date
  GROUP BY l.account_id, l.campaign_id, l.since_date
),
tested AS (
  SELECT
    l.*, l.arrived * l.before / l.arrived_before AS expected,
    -- The root of twice the logarithm of the likelihood ratio of two Poisson counts: about a standard normal.
    safe_sqrt(greatest(0, 2 * (
      l.before * safe_ln(l.before / (l.arrived_before * (l.before + l.observed) / (l.arrived_before + l.arrived)))
      + CASE WHEN l.observed > 0 THEN l.observed * safe_ln(l.observed / (l.arrived * (l.before + l.observed) / (l.arrived_before + l.arrived))) ELSE 0 END)) / coalesce(u.dispersion, 1)) AS z_score
  FROM lasting AS l
  JOIN unsteady AS u ON u.account_id = l.account_id AND u.campaign_id = l.campaign_id AND u.since_date = l.since_date
  WHERE l.arrived > 0
),
-- Of several breaks of a campaign that are not over, keep the one with the highest z_score.
sure AS (
  SELECT t.*
  FROM tested AS t
  CROSS JOIN level AS l
  WHERE t.observed <= 0.65 * t.expected AND t.z_score >= l.min_z
    AND (t.is_over OR t.since_date > (SELECT max(k.report_date) FROM known AS k WHERE k.account_id = t.account_id) - l.days)
  QUALIFY t.is_over OR row_number() OVER (PARTITION BY t.account_id, t.campaign_id, t.is_over ORDER BY t.z_score DESC) = 1
),
found AS (
  SELECT
    s.account_id, s.campaign_id, d.report_date, CASE WHEN s.observed <= 0.2 * s.expected THEN 'conversions_stopped' ELSE 'conversions_fell' END AS kind,
    s.since_date, s.until_date, s.is_over, s.observed, s.expected, s.z_score
  FROM sure AS s
  JOIN day AS d ON d.account_id = s.account_id AND d.campaign_id = s.campaign_id AND d.report_date BETWEEN s.since_date AND s.until_date
  QUALIFY row_number() OVER (PARTITION BY s.account_id, s.campaign_id, d.report_date ORDER BY s.is_over) = 1
)
SELECT
  f.*, CASE WHEN f.is_over THEN 'over' ELSE f.kind END AS verdict,
  CASE f.kind WHEN 'conversions_stopped' THEN 'conversions stopped' ELSE 'conversions fell' END
    || CASE WHEN f.is_over THEN ' from ' || f.since_date || ' to ' || f.until_date ELSE ' on ' || f.since_date END
    || format(': {} came where {} were to be expected', f.observed::BIGINT, round(f.expected)::BIGINT) AS reason,
  (f.expected - f.observed) * w.worth::DOUBLE / (f.until_date - f.since_date + 1) AS at_stake,
  CASE WHEN NOT f.is_over THEN 'see whether its conversions still reach the service; until then nothing is concluded from its CPA' END AS action
FROM found AS f
LEFT JOIN int.conversion_worth AS w ON w.account_id = f.account_id AND w.campaign_id = f.campaign_id AND w.source_id = ''
