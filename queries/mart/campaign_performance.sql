-- Which campaigns pay?
-- Trap: conversions of young days still arrive, so cpa is somewhat too high: cpa_expected, profit_expected and the verdict allow for those to come; cpa_change compares the recent days with those before at equal age; days of a break that is over (int.break_day) count for the sums, but not for the verdict and cpa_change. A campaign whose conversions stopped or fell as a whole gets no verdict (broken_tracking).
-- Shown: verdict, campaign_name, cpa_expected, worth, profit_expected, cpa_change, spend, conversions, cpa, days_broken, campaign_id, action
-- Column target_cpa: US dollars per conversion that the campaign aims at now. NULL: none set, or never readable.
-- Column cpa_to_target: cpa_expected by target_cpa: 1 is on target, 4 is four times as dear. NULL: no target, or no CPA.
-- Column cpa_best_case: The lowest that cpa_expected can be by chance (bound_z, the days' own spread included): with 1.645 it is lower in 5 of 100 cases. NULL: nothing spent, or conversions unknown or below 0.
-- Column cpa_worst_case: The highest that cpa_expected can be by chance, in the same way. NULL: nothing spent, or no conversions: there is no upper bound.
-- Column conversions_share: Share of the window's conversions that has arrived by now, each day by its spend. NULL: not known yet.
-- Column verdict: pays, loses: its expected CPA is within what a conversion is worth (your own payout, else the target), or above it, the days of a break left out, beyond chance (threshold campaign_min_z, the days' own spread included: wider than cpa_best_case and cpa_worst_case); unclear: chance may explain the difference; no_target: neither is known; broken_tracking: its conversions stopped or fell (mart.breaks); unknown: some conversions are.
-- Column excess_spend: US dollars spent beyond what conversions_expected are worth; below 0: less than that. NULL: worth not known, or conversions unknown or stopped (mart.breaks).
-- Column recent_from: First day of the recent days (threshold recent_days) that cpa_change is about; the last is window_to.
-- Column spend_recent: US dollars in the recent days, those of a break that is over left out, as in all that is compared.
-- Column conversions_recent: Conversions in the recent days so far. NULL: some row lacks the number.
-- Column cpa_recent: US dollars per conversion in the recent days so far. NULL without conversions.
-- Column spend_before: US dollars in as many days before, as known at equal age. NULL: nobody read them at that age.
-- Column conversions_before_at_age: Conversions of the days before as they were known when these were as old as the recent days are now. NULL: nobody read them at that age, or some row lacks the number.
-- Column cpa_before_at_age: US dollars per conversion of the days before as known at that age.
-- Column cpa_change: Change of the CPA from the days before to the recent ones, at equal age, as a share. NULL: not comparable.
-- Column change_verdict: cheaper, dearer: cpa_change is beyond chance (2.2, the days' own spread included); unclear; unknown: not comparable, or its conversions stopped (mart.breaks); if they fell, this says so.
-- Column days_broken: Days of the window on which its conversions stopped or fell (int.break_day): they are in spend, conversions and profit, and not in the verdict.
-- Column reason: Why, in a sentence, with what a conversion costs and is worth.
-- Column at_stake: US dollars a day: the expected profit of a campaign that pays, or loss of one that loses, over the window. NULL: it is not active, or neither is sure.
-- Column action: What to do about an active campaign. NULL: nothing.
WITH lengths AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS recent, max(t.value) FILTER (WHERE t.name = 'bound_z') AS z,
    -- change_min_z: A change of the CPA counts as one when it is this far from chance, of which the days' own spread is part.
    (2.2::DOUBLE /* change_min_z */) AS change_z, max(t.value) FILTER (WHERE t.name = 'campaign_min_z') AS campaign_z
  FROM int.threshold AS t
),
known AS (
  SELECT
    w.account_id, w.report_date, w.window_from, w.window_to, w.days_known, m.conversions_share,
    l.recent AS apart, w.report_date > w.window_to - l.recent AS is_recent, w.report_date > w.window_to - 2 * l.recent AND w.report_date <= w.window_to - l.recent AS is_before
  FROM int.performance_window AS w
  CROSS JOIN lengths AS l
  LEFT JOIN int.day_maturity AS m ON m.account_id = w.account_id AND m.report_date = w.report_date
),
day AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, s.campaign_name, k.window_from, k.window_to, k.days_known, k.is_recent AND b.is_over IS DISTINCT FROM true AS is_recent,
    k.is_before AND b.is_over IS DISTINCT FROM true AS is_before, b.account_id IS NOT NULL AS is_broken, s.spend,
    k.conversions_share IS NULL AS is_too_early, (1e6 * s.spend::DOUBLE * k.conversions_share)::BIGINT AS arrived,
    CASE WHEN s.rows_with_clicks = s.rows THEN s.clicks END AS clicks,
    CASE WHEN s.rows_with_impressions = s.rows THEN s.impressions END AS impressions,
    CASE WHEN s.rows_with_conversions = s.rows THEN s.conversions END AS conversions, k.conversions_share, e.revenue,
    s.spend - coalesce(l.spend, 0) AS aged_spend,
    CASE WHEN s.rows_with_conversions = s.rows THEN s.conversions END - coalesce(l.conversions, 0) AS aged_conversions
  FROM int.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  LEFT JOIN int.later_change AS l ON l.account_id = s.account_id AND l.campaign_id = s.campaign_id AND l.report_date = s.report_date
  LEFT JOIN int.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date
  LEFT JOIN int.campaign_profit AS e ON e.account_id = s.account_id AND e.campaign_id = s.campaign_id AND e.report_date = s.report_date
  WHERE s.report_date >= (SELECT min(k.report_date) FROM known AS k)
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, arg_max(d.campaign_name, d.report_date) AS reported_name,
    any_value(d.window_from) AS window_from, any_value(d.window_to) AS window_to, any_value(d.days_known) AS days_known,
    sum(d.spend)::DECIMAL(18,6) AS spend, sum(d.arrived)::DOUBLE / 1e6 AS all_arrived,
    CASE WHEN NOT bool_or(d.is_too_early) THEN sum(d.arrived) FILTER (WHERE NOT d.is_broken OR d.is_all_broken)::DOUBLE / 1e6 END AS arrived_spend,
    CASE WHEN count(d.conversions) = count(*) THEN (sum(d.conversions) FILTER (WHERE NOT d.is_broken OR d.is_all_broken))::BIGINT END AS counted,
    bool_or(d.is_too_early) AS is_too_early, count(*) FILTER (WHERE d.is_broken) AS days_broken, NOT bool_and(d.is_broken) AS has_unbroken,
    CASE WHEN count(d.clicks) = count(*) THEN sum(d.clicks)::BIGINT END AS clicks,
    CASE WHEN count(d.impressions) = count(*) THEN sum(d.impressions)::BIGINT END AS impressions,
    CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions)::BIGINT END AS conversions,
    CASE WHEN count(d.conversions / d.conversions_share) = count(*) THEN sum(d.conversions / d.conversions_share ORDER BY d.report_date) END AS conversions_expected,
    CASE WHEN count(d.revenue) = count(*) THEN sum(d.revenue) END::DECIMAL(18, 6) AS revenue,
    CASE WHEN count(d.revenue / d.conversions_share) = count(*) THEN sum(d.revenue::DOUBLE / d.conversions_share ORDER BY d.report_date) END AS revenue_expected,
    coalesce(sum(d.spend) FILTER (WHERE d.is_recent), 0)::DECIMAL(18,6) AS spend_recent,
    CASE WHEN count(*) FILTER (WHERE d.is_recent AND d.conversions IS NULL) = 0 THEN coalesce(sum(d.conversions) FILTER (WHERE d.is_recent), 0)::BIGINT END AS conversions_recent,
    coalesce(sum(d.aged_spend) FILTER (WHERE d.is_before), 0)::DECIMAL(18,6) AS aged_spend,
    CASE WHEN count(*) FILTER (WHERE d.is_before AND d.aged_conversions IS NULL) = 0 THEN coalesce(sum(d.aged_conversions) FILTER (WHERE d.is_before), 0)::BIGINT END AS aged_conversions
  FROM (SELECT d.*, bool_and(d.is_broken) OVER (PARTITION BY d.account_id, d.campaign_id) AS is_all_broken FROM day AS d) AS d
  GROUP BY d.account_id, d.campaign_id
),
sided AS (
  SELECT d.account_id, d.campaign_id, d.is_recent, d.spend, d.conversions
  FROM day AS d
  WHERE d.is_recent OR d.is_before
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
-- dispersion: how much more the days of the window vary than Poisson counts would. Young days have fewer conversions,
-- which is allowed for.
unsteady AS (
  SELECT e.account_id, e.campaign_id, greatest(1, sum(pow(e.conversions - e.expected, 2) / nullif(e.expected, 0)) / nullif(count(*) - 1, 0)) AS dispersion
  FROM (
    SELECT
      d.account_id, d.campaign_id, d.conversions,
      d.arrived * (sum(d.conversions) OVER of_campaign)::DOUBLE / nullif(sum(d.arrived) OVER of_campaign, 0)::DOUBLE AS expected
    FROM day AS d
    WHERE NOT d.is_broken
    WINDOW of_campaign AS (PARTITION BY d.account_id, d.campaign_id)
  ) AS e
  WHERE e.expected > 0
  GROUP BY e.account_id, e.campaign_id
),
-- Byar's bounds on a Poisson count, as in source_performance, widened by the dispersion of the days.
bounded AS (
  SELECT
    s.*, l.recent, l.change_z, coalesce(p.dispersion, 1) AS dispersion, l.campaign_z * safe_sqrt(coalesce(u.dispersion, 1)) AS sure_z, l.z * safe_sqrt(coalesce(u.dispersion, 1)) AS bound_z,
    CASE WHEN a.is_known THEN s.aged_spend END AS spend_before, CASE WHEN a.is_known THEN s.aged_conversions END AS conversions_before_at_age
  FROM summed AS s
  LEFT JOIN (SELECT y.account_id, bool_and(y.is_read) AS is_known FROM int.young_before AS y GROUP BY y.account_id) AS a ON a.account_id = s.account_id
  LEFT JOIN spread AS p ON p.account_id = s.account_id AND p.campaign_id = s.campaign_id
  LEFT JOIN unsteady AS u ON u.account_id = s.account_id AND u.campaign_id = s.campaign_id
  CROSS JOIN lengths AS l
),
rated AS (
  SELECT
    b.*, b.spend::DOUBLE / nullif(b.conversions_expected, 0) AS cpa_expected,
    -- Bounds around the displayed CPA, with the relative width of the days that count for the verdict.
    CASE WHEN b.counted > 0 THEN ratio(b.spend * b.counted, b.conversions_expected * count_most(b.counted, b.bound_z)) ELSE ratio(nullif(b.arrived_spend, 0), count_most(b.counted, b.bound_z)) END AS cpa_best_case,
    CASE WHEN b.counted > 0 THEN ratio(b.spend * b.counted, b.conversions_expected * count_fewest(b.counted, b.bound_z)) END AS cpa_worst_case,
    CASE WHEN b.has_unbroken AND b.days_broken > 0 THEN ratio(b.arrived_spend, b.counted) END AS cpa_unbroken,
    count_most(b.counted, b.sure_z) AS most_conversions,
    count_fewest(b.counted, b.sure_z) AS fewest_conversions, b.spend::DOUBLE / nullif(b.conversions, 0) AS cpa, b.spend_recent::DOUBLE / nullif(b.conversions_recent, 0) AS cpa_recent,
    b.spend_before::DOUBLE / nullif(b.conversions_before_at_age, 0) AS cpa_before_at_age
  FROM bounded AS b
),
scored AS (
  SELECT
    r.*, r.cpa_recent / nullif(r.cpa_before_at_age, 0) - 1 AS cpa_change,
    safe_ln(nullif(r.cpa_recent / nullif(r.cpa_before_at_age, 0), 0))
      / safe_sqrt(r.dispersion * (1.0 / nullif(r.conversions_recent, 0) + 1.0 / nullif(r.conversions_before_at_age, 0))) AS z_score
  FROM rated AS r
),
broken AS (
  SELECT DISTINCT b.account_id, b.campaign_id, b.kind
  FROM int.break_day AS b
  WHERE NOT b.is_over
),
judged AS (
  SELECT
    s.account_id, s.campaign_id, coalesce(h.name, s.reported_name) AS campaign_name,
    CASE WHEN h.is_deleted THEN 'deleted' ELSE h.status END AS campaign_status,
    s.window_from, s.window_to, s.days_known, s.spend, s.clicks, s.impressions, s.conversions,
    s.spend::DOUBLE / nullif(s.clicks, 0) AS cpc, s.clicks::DOUBLE / nullif(s.impressions, 0) AS ctr, s.conversions::DOUBLE / nullif(s.clicks, 0) AS cvr,
    s.cpa, s.cpa_best_case, s.cpa_worst_case, h.target_cpa, s.cpa_expected / nullif(h.target_cpa, 0)::DOUBLE AS cpa_to_target,
    CASE
      WHEN k.campaign_id IS NOT NULL THEN 'broken_tracking'
      WHEN s.conversions IS NULL OR s.is_too_early THEN 'unknown'
      WHEN v.worth IS NULL THEN 'no_target'
      WHEN s.arrived_spend <= s.fewest_conversions * v.worth THEN 'pays'
      WHEN s.arrived_spend > s.most_conversions * v.worth THEN 'loses'
      ELSE 'unclear'
    END AS verdict,
    CASE WHEN k.campaign_id IS NULL THEN (s.spend::DOUBLE - s.conversions_expected * v.worth)::DECIMAL(18,6) END AS excess_spend,
    s.window_to - s.recent + 1 AS recent_from, s.spend_recent, s.conversions_recent, s.cpa_recent,
    s.spend_before, s.conversions_before_at_age, s.cpa_before_at_age, s.cpa_change,
    CASE
      WHEN s.z_score IS NULL OR k.kind = 'conversions_stopped' THEN 'unknown'
      WHEN s.z_score > s.change_z THEN 'dearer'
      WHEN s.z_score < -s.change_z THEN 'cheaper'
      ELSE 'unclear'
    END AS change_verdict,
    s.revenue_expected - s.spend::DOUBLE AS profit_expected, ratio(s.revenue_expected - s.spend::DOUBLE, s.spend) AS roi_expected,
    s.revenue, (s.revenue - s.spend)::DECIMAL(18, 6) AS profit_so_far, ratio(s.revenue - s.spend, s.spend) AS roi_so_far, ratio(s.revenue, s.clicks) AS epc,
    s.conversions_expected, s.cpa_expected, CASE WHEN NOT s.is_too_early THEN s.all_arrived / nullif(s.spend, 0)::DOUBLE END AS conversions_share, v.worth, v.worth_origin, s.days_broken, s.cpa_unbroken
  FROM scored AS s
  LEFT JOIN int.conversion_worth AS v ON v.account_id = s.account_id AND v.campaign_id = s.campaign_id AND v.source_id = ''
  LEFT JOIN main.campaign_history AS h ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.is_current
  LEFT JOIN broken AS k ON k.account_id = s.account_id AND k.campaign_id = s.campaign_id
)
SELECT
  j.* EXCLUDE (cpa_unbroken),
  CASE j.verdict
    WHEN 'broken_tracking' THEN 'its conversions stopped or fell'
    WHEN 'unknown' THEN CASE WHEN j.conversions IS NULL THEN 'some of its conversions are not known' ELSE 'how many conversions are still to come is not known yet' END
    WHEN 'no_target' THEN 'nobody said what a conversion is worth'
    ELSE
      CASE WHEN j.cpa_unbroken IS NOT NULL THEN format('without the days of a break a conversion costs ${:,.2f}, and', j.cpa_unbroken) WHEN j.cpa_expected IS NULL THEN format('it spent ${:,.2f} without a conversion, which', j.spend::DOUBLE) ELSE format('a conversion costs ${:,.2f}, and', j.cpa_expected) END
      || format(' is worth ${:,.2f}', j.worth::DOUBLE) || CASE j.verdict WHEN 'unclear' THEN ': chance may explain the difference' ELSE '' END
  END AS reason,
  CASE WHEN j.campaign_status = 'active' AND j.verdict IN ('pays', 'loses') THEN greatest(0, CASE j.verdict WHEN 'loses' THEN 1 ELSE -1 END * j.excess_spend::DOUBLE) / nullif(j.days_known, 0) END AS at_stake,
  CASE WHEN j.campaign_status = 'active' THEN
    CASE
      WHEN j.verdict = 'broken_tracking' THEN 'see whether its conversions still reach the service'
      WHEN j.verdict = 'no_target' THEN 'set a target CPA, or tell your payouts'
      WHEN j.verdict = 'loses' AND j.target_cpa IS NOT NULL THEN 'change its creatives, sources or audience, or pause it (lowering its bid does not help: the service sets bids toward the target CPA)'
      WHEN j.verdict = 'loses' THEN 'lower its bids, block its worst sources, or pause it'
    END
  END AS action
FROM judged AS j
