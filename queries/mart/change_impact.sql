-- What did each campaign spend and bring in the days before and after a change of its settings?
-- Trap: before and after is not proof: other changes lie in the same days (other_changes), and what moved the account as a whole shows in control_cpa_change. Conversions of young days still arrive, so cpa_after is not to be held against cpa_before: cpa_change compares at equal age. The days in which the change may have fallen are left out, and those of a break that is over (int.break_day).
-- Shown: verdict, campaign_name, seen_at, changed_columns, cpa_change, control_cpa_change, spend_per_day_change, days_before, days_after, not_before, campaign_id
-- Column seen_at: When the change was first seen.
-- Column campaign_name: Name of the campaign now. NULL: never readable.
-- Column version_no: Version of the campaign's settings that the change made, as in campaign_history.
-- Column not_before: When the settings before were last confirmed: the change came later.
-- Column changed_columns: Settings that changed, sorted, comma-joined. A mere change of the name is left out.
-- Column days_before: Days proven complete among the days before (7 days).
-- Column spend_before: US dollars in those days. NULL: there is none.
-- Column conversions_before: Conversions in those days. NULL: not known.
-- Column spend_per_day_before: US dollars a day. NULL: no such day.
-- Column cpa_before: US dollars per conversion. NULL without conversions.
-- Column days_after: Days proven complete among the days after (7 days).
-- Column spend_after: US dollars in those days. NULL: there is none.
-- Column conversions_after: Conversions in those days so far. NULL: not known.
-- Column spend_per_day_after: US dollars a day. NULL: no such day.
-- Column cpa_after: US dollars per conversion. NULL without conversions.
-- Column spend_per_day_change: Change of the spend a day as a share of that before: 0.1 is a tenth more.
-- Column cpa_change: Change of the CPA as a share of that before, compared as compared_by says. Below 0: conversions became cheaper. NULL: not comparable yet.
-- Column conversions_before_at_age: Conversions of the days before as they were known when these days were as old as the days after are now. NULL: nobody read them at that age, or some row lacks the number.
-- Column cpa_before_at_age: US dollars per conversion of the days before as known at that age. NULL: see conversions_before_at_age.
-- Column cpa_before_adjusted: US dollars per conversion, those still to come added, by the account's own curve (int.day_maturity). NULL: the curve is not known yet.
-- Column cpa_after_adjusted: The same of the days after.
-- Column compared_by: What cpa_change compares: equal_age, the days before as known when they were as old; adjusted, conversions still to come added. NULL: neither is known.
-- Column control_campaigns: Other campaigns of the account with conversions in the same days, without a change of their own in them and without a break of their conversions (mart.breaks).
-- Column control_cpa_change: Change of their CPA over the same days, conversions still to come added: what would have happened anyway. NULL: no such campaign, or not known.
-- Column z_score: How far cpa_change, less control_cpa_change as far as that is known beyond chance (20 %), is from chance, in standard deviations that include the days' own spread. Below 0: cheaper. NULL: not comparable, or its conversions stopped (mart.breaks).
-- Column verdict: cheaper, dearer: z_score is beyond 2.2; unclear: chance may explain it; unknown: not comparable yet, or its conversions stopped. Without any effect it says cheaper or dearer in less than 5 % of cases.
-- Column other_changes: Other versions of this campaign's settings that began within the days compared or left out.
-- Column reason: What the change did to the CPA, in a sentence. NULL: not comparable.
-- Column at_stake: US dollars a day that conversions cost more (dearer) or less (cheaper) than before. NULL: chance may explain it.
WITH level AS (
  -- impact_days: Days before and after a change of settings that are compared.
  -- control_drift: How much the CPA of a whole account moves by itself from week to week: a control of other campaigns counts by as much as it is surer than this.
  SELECT (7::DOUBLE /* impact_days */)::INTEGER AS days, (0.2::DOUBLE /* control_drift */) AS drift
),
broken AS (
  SELECT DISTINCT b.account_id, b.campaign_id, b.kind FROM int.break_day AS b WHERE NOT b.is_over
),
placed AS (
  SELECT
    h.account_id, h.campaign_id, h.version_no, h.valid_from, h.changed_after, h.changed_columns, h.change_type,
    a.report_date AS first_date, z.report_date AS last_date, l.days
  FROM main.campaign_history AS h
  CROSS JOIN level AS l
  JOIN main.calendar AS a
    ON a.account_id = h.account_id AND a.starts_at <= coalesce(h.changed_after, h.valid_from) AND coalesce(h.changed_after, h.valid_from) < a.ends_at
  JOIN main.calendar AS z ON z.account_id = h.account_id AND z.starts_at <= h.valid_from AND h.valid_from < z.ends_at
  WHERE h.version_no > 1
),
compared AS (
  SELECT p.* FROM placed AS p WHERE p.change_type = 'changed' AND coalesce(p.changed_columns <> 'name', false)
),
others AS (
  SELECT c.account_id, c.campaign_id, c.version_no, count(o.version_no) AS changes
  FROM compared AS c
  LEFT JOIN placed AS o
    ON o.account_id = c.account_id AND o.campaign_id = c.campaign_id AND o.version_no <> c.version_no
    AND o.last_date >= c.first_date - c.days AND o.last_date <= c.last_date + c.days
  GROUP BY c.account_id, c.campaign_id, c.version_no
),
day AS (
  SELECT
    d.account_id, d.campaign_id, d.report_date, d.spend, d.conversions,
    d.conversions / nullif(m.conversions_share, 0) AS adjusted, d.spend::DOUBLE * m.conversions_share AS arrived, c.last_read_at, k.ends_at
  FROM mart.campaign_day AS d
  JOIN int.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
  JOIN ops.day_coverage AS c ON c.account_id = d.account_id AND c.report_date = d.report_date
  JOIN main.calendar AS k ON k.account_id = d.account_id AND k.report_date = d.report_date
  LEFT JOIN int.break_day AS b ON b.account_id = d.account_id AND b.campaign_id = d.campaign_id AND b.report_date = d.report_date AND b.is_over
  -- Days of breaks that are over count for neither side.
  WHERE b.account_id IS NULL
),
-- Days of all campaigns of the account before and after a change.
near AS (
  SELECT
    c.account_id, c.campaign_id, c.version_no, d.campaign_id AS other_id, d.report_date, d.report_date > c.last_date AS is_after,
    (c.last_date - c.first_date)::INTEGER + c.days + 1 AS apart, c.first_date - c.days AS near_from, c.last_date + c.days AS near_to,
    d.spend, d.conversions, d.adjusted, d.arrived, d.last_read_at, d.ends_at
  FROM compared AS c
  JOIN day AS d ON d.account_id = c.account_id AND d.report_date >= c.first_date - c.days AND d.report_date <= c.last_date + c.days
  WHERE d.report_date < c.first_date OR d.report_date > c.last_date
),
own AS (
  SELECT n.* FROM near AS n WHERE n.other_id = n.campaign_id
),
-- For a day before the change, use the numbers known when the day was as old as its counterpart after the change is
-- now. Daily runs start some minutes earlier or later, so allow two hours.
young AS (
  SELECT
    b.account_id, b.campaign_id, b.version_no, b.report_date, b.spend, b.conversions, b.ends_at, to_timestamp(epoch(a.last_read_at) - 86400 * b.apart + 7200) AS known_at
  FROM own AS b
  LEFT JOIN own AS a
    ON a.account_id = b.account_id AND a.campaign_id = b.campaign_id AND a.version_no = b.version_no AND a.report_date = b.report_date + b.apart
  WHERE NOT b.is_after
),
was_read AS (
  -- By known_at the day had been read completely; later reads are in spend_change.
  SELECT DISTINCT y.account_id, y.campaign_id, y.version_no, y.report_date
  FROM young AS y
  JOIN ops.step AS s ON s.account_id = y.account_id AND s.unit = y.report_date::VARCHAR AND s.started_at >= y.ends_at AND s.started_at <= y.known_at
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
),
later AS (
  SELECT
    y.account_id, y.campaign_id, y.version_no,
    sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0)) AS spend, sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0)) AS conversions
  FROM young AS y
  JOIN main.spend_change AS s
    ON s.account_id = y.account_id AND s.campaign_id = y.campaign_id AND s.report_date = y.report_date AND s.seen_at > y.known_at
  GROUP BY y.account_id, y.campaign_id, y.version_no
),
aged AS (
  SELECT
    y.account_id, y.campaign_id, y.version_no,
    CASE WHEN count(w.report_date) = count(*) THEN sum(y.spend) - coalesce(any_value(l.spend), 0) END AS spend,
    CASE WHEN count(w.report_date) = count(*) AND count(y.conversions) = count(*) THEN sum(y.conversions) - coalesce(any_value(l.conversions), 0) END AS conversions
  FROM young AS y
  LEFT JOIN was_read AS w
    ON w.account_id = y.account_id AND w.campaign_id = y.campaign_id AND w.version_no = y.version_no AND w.report_date = y.report_date
  LEFT JOIN later AS l ON l.account_id = y.account_id AND l.campaign_id = y.campaign_id AND l.version_no = y.version_no
  GROUP BY y.account_id, y.campaign_id, y.version_no
),
other_campaign AS (
  SELECT
    n.account_id, n.campaign_id, n.version_no, n.other_id,
    sum(n.spend) FILTER (WHERE NOT n.is_after) AS spend_before, sum(n.spend) FILTER (WHERE n.is_after) AS spend_after,
    sum(n.conversions) FILTER (WHERE NOT n.is_after) AS conversions_before, sum(n.conversions) FILTER (WHERE n.is_after) AS conversions_after,
    sum(n.adjusted) FILTER (WHERE NOT n.is_after) AS adjusted_before, sum(n.adjusted) FILTER (WHERE n.is_after) AS adjusted_after,
    count(*) FILTER (WHERE n.adjusted IS NULL) AS unknown
  FROM near AS n
  WHERE n.other_id <> n.campaign_id
    AND NOT EXISTS (
      SELECT 1 AS one FROM placed AS o
      WHERE o.account_id = n.account_id AND o.campaign_id = n.other_id AND o.last_date >= n.near_from AND o.last_date <= n.near_to)
    AND NOT EXISTS (SELECT 1 AS one FROM broken AS b WHERE b.account_id = n.account_id AND b.campaign_id = n.other_id)
  GROUP BY n.account_id, n.campaign_id, n.version_no, n.other_id
),
control AS (
  SELECT
    o.account_id, o.campaign_id, o.version_no, count(*) AS campaigns,
    sum(o.conversions_before)::BIGINT AS conversions_before, sum(o.conversions_after)::BIGINT AS conversions_after,
    (sum(o.spend_after)::DOUBLE / nullif(sum(o.adjusted_after), 0)) / nullif(sum(o.spend_before)::DOUBLE / nullif(sum(o.adjusted_before), 0), 0) - 1 AS cpa_change
  FROM other_campaign AS o
  WHERE o.unknown = 0 AND o.spend_before > 0 AND o.spend_after > 0
  GROUP BY o.account_id, o.campaign_id, o.version_no
),
summed AS (
  SELECT
    c.account_id, c.campaign_id, c.version_no,
    count(d.report_date) FILTER (WHERE NOT d.is_after) AS days_before, sum(d.spend) FILTER (WHERE NOT d.is_after)::DECIMAL(18,6) AS spend_before,
    CASE WHEN NOT bool_or(d.conversions IS NULL AND NOT d.is_after) THEN sum(d.conversions) FILTER (WHERE NOT d.is_after)::BIGINT END AS conversions_before,
    CASE WHEN NOT bool_or(d.adjusted IS NULL AND NOT d.is_after) THEN sum(d.adjusted) FILTER (WHERE NOT d.is_after) END AS adjusted_before,
    count(d.report_date) FILTER (WHERE d.is_after) AS days_after, sum(d.spend) FILTER (WHERE d.is_after)::DECIMAL(18,6) AS spend_after,
    CASE WHEN NOT bool_or(d.conversions IS NULL AND d.is_after) THEN sum(d.conversions) FILTER (WHERE d.is_after)::BIGINT END AS conversions_after,
    CASE WHEN NOT bool_or(d.adjusted IS NULL AND d.is_after) THEN sum(d.adjusted) FILTER (WHERE d.is_after) END AS adjusted_after
  FROM compared AS c
  LEFT JOIN own AS d ON d.account_id = c.account_id AND d.campaign_id = c.campaign_id AND d.version_no = c.version_no
  GROUP BY c.account_id, c.campaign_id, c.version_no
),
-- dispersion: how much more the days on either side vary than Poisson counts would. Young days have fewer conversions,
-- which is allowed for.
spread AS (
  SELECT
    e.account_id, e.campaign_id, e.version_no,
    greatest(1, sum(pow(e.conversions - e.expected, 2) / nullif(e.expected, 0)) / nullif(count(*) - 2, 0)) AS dispersion
  FROM (
    SELECT d.*, d.arrived * sum(d.conversions) OVER of_side / nullif(sum(d.arrived) OVER of_side, 0) AS expected
    FROM own AS d
    WINDOW of_side AS (PARTITION BY d.account_id, d.campaign_id, d.version_no, d.is_after)
  ) AS e
  GROUP BY e.account_id, e.campaign_id, e.version_no
),
rated AS (
  SELECT
    s.*, a.conversions AS conversions_before_at_age, ratio(a.spend, a.conversions) AS cpa_before_at_age,
    ratio(s.spend_before, s.adjusted_before) AS cpa_before_adjusted, ratio(s.spend_after, s.adjusted_after) AS cpa_after_adjusted,
    ratio(s.spend_before, s.days_before) AS spend_per_day_before, ratio(s.spend_before, s.conversions_before) AS cpa_before,
    ratio(s.spend_after, s.days_after) AS spend_per_day_after, ratio(s.spend_after, s.conversions_after) AS cpa_after
  FROM summed AS s
  LEFT JOIN aged AS a ON a.account_id = s.account_id AND a.campaign_id = s.campaign_id AND a.version_no = s.version_no
),
judged AS (
  SELECT
    r.*,
    CASE
      WHEN r.conversions_before_at_age IS NOT NULL AND r.conversions_after IS NOT NULL THEN 'equal_age'
      WHEN r.adjusted_before IS NOT NULL AND r.adjusted_after IS NOT NULL THEN 'adjusted'
    END AS compared_by,
    CASE
      WHEN r.conversions_before_at_age IS NOT NULL AND r.conversions_after IS NOT NULL THEN r.cpa_after / nullif(r.cpa_before_at_age, 0) - 1
      ELSE r.cpa_after_adjusted / nullif(r.cpa_before_adjusted, 0) - 1
    END AS cpa_change,
    coalesce(p.dispersion, 1) * (1.0 / nullif(r.conversions_after, 0) + 1.0 / nullif(coalesce(r.conversions_before_at_age, r.conversions_before), 0)) AS variance,
    -- A control with few conversions says little about the account, so weigh it by its precision relative to the usual
    -- drift.
    coalesce(safe_ln(nullif(1 + k.cpa_change, 0)), 0) AS drifted,
    coalesce(p.dispersion, 1) * (1.0 / k.conversions_before + 1.0 / k.conversions_after) AS control_variance,
    k.campaigns AS control_campaigns, k.cpa_change AS control_cpa_change
  FROM rated AS r
  LEFT JOIN spread AS p ON p.account_id = r.account_id AND p.campaign_id = r.campaign_id AND p.version_no = r.version_no
  LEFT JOIN control AS k ON k.account_id = r.account_id AND k.campaign_id = r.campaign_id AND k.version_no = r.version_no
),
scored AS (
  SELECT
    w.*,
    CASE WHEN b.campaign_id IS NULL THEN
      (safe_ln(nullif(1 + w.cpa_change, 0)) - w.weight * w.drifted) / nullif(safe_sqrt(w.variance + w.weight * w.weight * coalesce(w.control_variance, 0)), 0)
    END AS z_score
  FROM (
    SELECT j.*, CASE WHEN j.control_cpa_change IS NULL THEN 0 ELSE pow(l.drift, 2) / (pow(l.drift, 2) + j.control_variance) END AS weight
    FROM judged AS j
    CROSS JOIN level AS l
  ) AS w
  LEFT JOIN broken AS b ON b.account_id = w.account_id AND b.campaign_id = w.campaign_id AND b.kind = 'conversions_stopped'
),
stated AS (
  SELECT
    c.account_id, c.campaign_id, n.name AS campaign_name, c.version_no, c.valid_from AS seen_at, c.changed_after AS not_before, c.changed_columns,
    r.days_before, r.spend_before, r.conversions_before, r.spend_per_day_before, r.cpa_before,
    r.days_after, r.spend_after, r.conversions_after, r.spend_per_day_after, r.cpa_after,
    r.spend_per_day_after / nullif(r.spend_per_day_before, 0) - 1 AS spend_per_day_change, r.cpa_change, o.changes AS other_changes,
    r.conversions_before_at_age::BIGINT AS conversions_before_at_age, r.cpa_before_at_age, r.cpa_before_adjusted, r.cpa_after_adjusted, r.compared_by,
    coalesce(r.control_campaigns, 0) AS control_campaigns, r.control_cpa_change,
    r.z_score,
    CASE
      WHEN r.z_score IS NULL THEN 'unknown'
      WHEN r.z_score > (2.2::DOUBLE /* change_min_z */) THEN 'dearer'
      WHEN r.z_score < -(2.2::DOUBLE /* change_min_z */) THEN 'cheaper'
      ELSE 'unclear'
    END AS verdict
  FROM compared AS c
  JOIN scored AS r ON r.account_id = c.account_id AND r.campaign_id = c.campaign_id AND r.version_no = c.version_no
  JOIN others AS o ON o.account_id = c.account_id AND o.campaign_id = c.campaign_id AND o.version_no = c.version_no
  LEFT JOIN main.campaign_history AS n ON n.account_id = c.account_id AND n.campaign_id = c.campaign_id AND n.is_current
)
SELECT
  s.*,
  CASE WHEN s.verdict <> 'unknown' THEN format('its CPA {} by {:.1f} %', CASE WHEN s.cpa_change > 0 THEN 'rose' ELSE 'fell' END, 100 * abs(s.cpa_change)) || CASE s.verdict WHEN 'unclear' THEN ', which chance may explain' ELSE '' END END AS reason,
  CASE WHEN s.verdict IN ('dearer', 'cheaper') THEN abs(s.spend_per_day_after::DOUBLE * s.cpa_change / nullif(1 + s.cpa_change, 0)) END AS at_stake,
  CASE WHEN s.verdict = 'dearer' THEN 'see whether to take it back' END AS action
FROM stated AS s
