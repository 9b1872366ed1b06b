-- What would a rule of yours have saved or lost, had it blocked sources in the past?
-- Trap: each morning is decided by what was known at its noon, and a source that is blocked stays so: its spend from the next day on counts as saved, the conversions that came of it, and those still to come, as lost. What else a campaign would have bought with the money is not counted, and payouts are those of now. Days that were first read much later were not known then: right after the first sync there is nothing to decide by.
-- Parameter rule: "spend > 3 * worth AND conversions = 0", condition under which a source of a campaign is blocked: columns, numbers, arithmetic, comparisons, AND, OR, NOT, CASE and simple functions.
-- Condition over: spend, clicks, conversions, cpa, cpc, cvr, worth, campaign_spend, campaign_conversions, campaign_cpa, days
-- Parameter days: 60, mornings to decide, up to the day before the last complete day.
-- Parameter window: 30, days before a morning whose sums the rule sees.
-- Parameter campaign: "", campaign whose sources are decided about, by its ID; empty: every campaign.
-- Shown: verdict, rule, saved, saved_low, saved_high, spend_saved, conversions_lost, sources_blocked, blocked_wrongly
-- Column rule: yours and its condition, or the rule of the trade that it is compared with.
-- Column mornings: Mornings on which at least one day of the window was known.
-- Column sources_judged: Sources of campaigns that ran and were not blocked on some morning.
-- Column sources_blocked: Those that the rule blocks.
-- Column blocked_wrongly: Of these, those that have brought back more than they cost since then.
-- Column spend_saved: US dollars that the blocked sources have cost since then.
-- Column conversions_lost: Conversions that they have brought since then, those still to come included. NULL: some are not known.
-- Column saved: US dollars that the rule saves: spend_saved less what conversions_lost are worth; below 0 it loses. NULL: conversions or their worth are not known.
-- Column saved_low: saved is above this with a probability of 95 % (threshold bound_z), by the chance that is in counts of conversions.
-- Column saved_high: saved is below this with a probability of 95 %.
-- Column verdict: saves, loses: beyond these bounds; not_enough_evidence: chance may explain it, or worth or conversions are not known; blocks_nothing.
WITH read AS (
  -- Reads of days by published runs. The first read after the end of a day is when the complete day became known.
  SELECT s.account_id, try_cast(s.unit AS DATE) AS report_date, s.started_at
  FROM ops.step AS s
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
),
whole AS (
  SELECT
    c.account_id, c.report_date, max(c.report_date) OVER (PARTITION BY c.account_id) AS last_date,
    least(min(r.started_at), any_value(CASE WHEN c.first_read_at >= k.ends_at THEN c.first_read_at END)) AS known_at
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN read AS r ON r.account_id = c.account_id AND r.report_date = c.report_date AND r.started_at >= k.ends_at
  WHERE c.state IN ('complete', 'final')
  GROUP BY c.account_id, c.report_date
),
span AS (
  SELECT DISTINCT w.account_id, w.last_date FROM whole AS w
),
morning AS (
  SELECT k.account_id, k.report_date AS decided_on, to_timestamp(epoch(k.starts_at) + 43200) AS decided_at
  FROM main.calendar AS k
  JOIN span AS s ON s.account_id = k.account_id AND k.report_date BETWEEN s.last_date - $days::INTEGER AND s.last_date - 1
),
-- The days of the window that were known on each morning.
seen AS (
  SELECT m.account_id, m.decided_on, m.decided_at, w.report_date, count(*) OVER (PARTITION BY m.account_id, m.decided_on)::DOUBLE AS days
  FROM morning AS m
  JOIN whole AS w ON w.account_id = m.account_id AND w.known_at <= m.decided_at
    AND w.report_date BETWEEN m.decided_on - $window::INTEGER AND m.decided_on - 1
),
told AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, s.report_date, sum(s.spend) AS spend, sum(s.clicks) AS clicks, sum(s.conversions) AS conversions,
    count(*) - count(s.clicks) AS no_clicks, count(*) - count(s.conversions) AS no_conversions
  FROM main.spend_daily AS s
  JOIN span AS p ON p.account_id = s.account_id AND s.report_date BETWEEN p.last_date - $days::INTEGER - $window::INTEGER AND p.last_date
  WHERE s.source_id <> '' AND ($campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR)
  GROUP BY s.account_id, s.campaign_id, s.source_id, s.report_date
),
flow AS (
  SELECT s.decided_on, s.days, t.*
  FROM told AS t
  JOIN seen AS s ON s.account_id = t.account_id AND s.report_date = t.report_date
  UNION ALL BY NAME
  -- Subtract changes that were seen after that morning.
  SELECT
    s.decided_on, s.days, c.account_id, c.campaign_id, c.source_id, c.report_date, coalesce(c.old_spend, 0) - coalesce(c.new_spend, 0) AS spend,
    coalesce(c.old_clicks, 0) - coalesce(c.new_clicks, 0) AS clicks, coalesce(c.old_conversions, 0) - coalesce(c.new_conversions, 0) AS conversions,
    (c.op <> 'insert' AND c.old_clicks IS NULL)::INTEGER - (c.op <> 'delete' AND c.new_clicks IS NULL)::INTEGER AS no_clicks,
    (c.op <> 'insert' AND c.old_conversions IS NULL)::INTEGER - (c.op <> 'delete' AND c.new_conversions IS NULL)::INTEGER AS no_conversions
  FROM main.spend_change AS c
  JOIN seen AS s ON s.account_id = c.account_id AND s.report_date = c.report_date AND c.seen_at > s.decided_at
  WHERE c.source_id <> '' AND ($campaign::VARCHAR = '' OR c.campaign_id = $campaign::VARCHAR)
),
known AS (
  SELECT
    f.account_id, f.campaign_id, f.source_id, f.decided_on, f.days, sum(f.spend)::DOUBLE AS spend,
    CASE WHEN sum(f.no_clicks) = 0 THEN sum(f.clicks)::DOUBLE END AS clicks,
    CASE WHEN sum(f.no_conversions) = 0 THEN sum(f.conversions)::DOUBLE END AS conversions
  FROM flow AS f
  GROUP BY f.account_id, f.campaign_id, f.source_id, f.decided_on, f.days
),
of_campaign AS (
  SELECT
    k.account_id, k.campaign_id, k.decided_on, sum((1e6 * k.spend)::BIGINT)::DOUBLE / 1e6 AS spend,
    CASE WHEN count(k.conversions) = count(*) THEN sum(k.conversions) END AS conversions
  FROM known AS k
  GROUP BY k.account_id, k.campaign_id, k.decided_on
),
looked AS (
  SELECT
    k.account_id, k.campaign_id, k.source_id, k.decided_on, k.spend, k.clicks, k.conversions,
    k.spend / nullif(k.conversions, 0) AS cpa, k.spend / nullif(k.clicks, 0) AS cpc, k.conversions / nullif(k.clicks, 0) AS cvr,
    nullif(coalesce(v.worth, w.worth, h.target_cpa::DOUBLE), 0) AS worth,
    o.spend AS campaign_spend, o.conversions AS campaign_conversions, o.spend / nullif(o.conversions, 0) AS campaign_cpa, k.days
  FROM known AS k
  -- The settings of the campaign at noon of that day.
  JOIN morning AS m ON m.account_id = k.account_id AND m.decided_on = k.decided_on
  JOIN of_campaign AS o ON o.account_id = k.account_id AND o.campaign_id = k.campaign_id AND o.decided_on = k.decided_on
  LEFT JOIN main.campaign_history AS h
    ON h.account_id = k.account_id AND h.campaign_id = k.campaign_id AND h.valid_from <= m.decided_at AND h.valid_to > m.decided_at AND NOT h.is_deleted
  LEFT JOIN int.conversion_worth AS v ON v.account_id = k.account_id AND v.campaign_id = k.campaign_id AND v.source_id = k.source_id
  LEFT JOIN int.conversion_worth AS w ON w.account_id = k.account_id AND w.campaign_id = k.campaign_id AND w.source_id = '' AND w.worth_origin = 'payout'
  LEFT JOIN main.source_rule_history AS b
    ON b.account_id = k.account_id AND b.campaign_id = k.campaign_id AND b.source_id = k.source_id AND b.rule = 'blocked'
    AND b.valid_from <= m.decided_at AND b.valid_to > m.decided_at AND NOT b.is_deleted
  WHERE b.account_id IS NULL
),
ruled AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, r.decided_on,
    unnest([
      {'place': 1, 'rule': 'yours: ' || '$rule', 'holds': $rule},
      {'place': 2, 'rule': '3 worths spent, CPA above 1.5 worths', 'holds': spend >= 3 * worth AND spend > 1.5 * worth * conversions},
      {'place': 3, 'rule': '3 worths spent, CPA above worth', 'holds': spend >= 3 * worth AND spend > worth * conversions},
      {'place': 4, 'rule': '2 worths spent, no conversion', 'holds': spend >= 2 * worth AND conversions = 0},
      {'place': 5, 'rule': 'shrunk to its campaign', 'holds': spend >= 0.5 * worth AND spend + 2 * campaign_cpa > 1.1 * worth * (conversions + 2)}
    ], recursive := true)
  FROM looked AS r
),
decided AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, r.place, any_value(r.rule) AS rule, min(r.decided_on) FILTER (WHERE r.holds) AS blocked_on
  FROM ruled AS r
  GROUP BY r.account_id, r.campaign_id, r.source_id, r.place
),
-- The results of each source after the day on which the rule would have blocked it, as known today.
after AS (
  SELECT
    d.account_id, d.campaign_id, d.source_id, d.place, sum(t.spend) AS spend, CASE WHEN sum(t.no_conversions) = 0 THEN sum(t.conversions) END AS conversions,
    CASE WHEN count(m.conversions_share) = count(*) THEN sum((1e6 * t.spend::DOUBLE * m.conversions_share)::BIGINT)::DOUBLE / 1e6 END AS arrived
  FROM decided AS d
  JOIN told AS t ON t.account_id = d.account_id AND t.campaign_id = d.campaign_id AND t.source_id = d.source_id AND t.report_date > d.blocked_on
  JOIN int.day_maturity AS m ON m.account_id = t.account_id AND m.report_date = t.report_date
  GROUP BY d.account_id, d.campaign_id, d.source_id, d.place
),
worth AS (
  SELECT
    d.*, coalesce(a.spend, 0) AS spend, CASE WHEN a.account_id IS NULL THEN 0 ELSE a.conversions END AS conversions,
    coalesce(v.worth, w.worth) AS worth, CASE WHEN a.conversions = 0 OR a.account_id IS NULL THEN 1 ELSE a.spend::DOUBLE / nullif(a.arrived, 0) END AS growth
  FROM decided AS d
  LEFT JOIN after AS a ON a.account_id = d.account_id AND a.campaign_id = d.campaign_id AND a.source_id = d.source_id AND a.place = d.place
  LEFT JOIN int.conversion_worth AS v ON v.account_id = d.account_id AND v.campaign_id = d.campaign_id AND v.source_id = d.source_id
  LEFT JOIN int.conversion_worth AS w ON w.account_id = d.account_id AND w.campaign_id = d.campaign_id AND w.source_id = ''
),
summed AS (
  SELECT
    w.account_id, w.place, any_value(w.rule) AS rule, count(*) AS sources_judged, count(w.blocked_on) AS sources_blocked,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions * w.growth * w.worth > w.spend) AS blocked_wrongly,
    coalesce(sum(w.spend) FILTER (WHERE w.blocked_on IS NOT NULL), 0) AS spend_saved,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions * w.growth IS NULL) AS unknown_conversions,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions * w.growth IS NULL OR w.worth IS NULL AND w.spend <> 0) AS unknown_money,
    coalesce(sum((1e6 * w.conversions * w.growth)::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS lost,
    coalesce(sum((1e6 * w.conversions * w.growth * w.worth)::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS money,
    coalesce(sum((1e6 * w.conversions * pow(w.growth * w.worth, 2))::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS money_variance,
    max(w.growth * w.worth) FILTER (WHERE w.blocked_on IS NOT NULL AND w.spend > 0) AS dearest
  FROM worth AS w
  GROUP BY w.account_id, w.place
),
-- Bounds of a weighted sum of Poisson counts by Fay and Feuer's method, with Byar's bounds of a single count. Where
-- credits exceed the counts, there are none.
bounded AS (
  SELECT
    s.*, l.mornings,
    CASE
      WHEN s.money > 0 THEN s.money * pow(greatest(0, 1 - s.money_variance / (9 * s.money * s.money) - z.z * safe_sqrt(s.money_variance) / (3 * s.money)), 3)
      WHEN s.money = 0 THEN 0
    END AS least_money,
    CASE
      WHEN coalesce(s.dearest, 0) = 0 THEN 0
      WHEN s.money >= 0 AND s.dearest > 0 THEN (s.money + s.dearest) * pow(1 - (s.money_variance + s.dearest * s.dearest) / (9 * pow(s.money + s.dearest, 2))
        + z.z * safe_sqrt(s.money_variance + s.dearest * s.dearest) / (3 * (s.money + s.dearest)), 3)
    END AS most_money
  FROM summed AS s
  JOIN (SELECT n.account_id, count(DISTINCT n.decided_on) AS mornings FROM seen AS n GROUP BY n.account_id) AS l ON l.account_id = s.account_id
  CROSS JOIN (SELECT t.value AS z FROM int.threshold AS t WHERE t.name = 'bound_z') AS z
)
SELECT
  b.account_id, b.rule, b.mornings, b.sources_judged, b.sources_blocked, b.blocked_wrongly, b.spend_saved,
  CASE WHEN b.unknown_conversions = 0 THEN b.lost::DECIMAL(18,1) END AS conversions_lost,
  CASE WHEN b.unknown_money = 0 THEN (b.spend_saved::DOUBLE - b.money)::DECIMAL(18,2) END AS saved,
  CASE WHEN b.unknown_money = 0 THEN (b.spend_saved::DOUBLE - b.most_money)::DECIMAL(18,2) END AS saved_low,
  CASE WHEN b.unknown_money = 0 THEN (b.spend_saved::DOUBLE - b.least_money)::DECIMAL(18,2) END AS saved_high,
  CASE
    WHEN b.sources_blocked = 0 THEN 'blocks_nothing'
    WHEN b.unknown_money > 0 THEN 'not_enough_evidence'
    WHEN b.spend_saved > b.most_money THEN 'saves'
    WHEN b.spend_saved < b.least_money THEN 'loses'
    ELSE 'not_enough_evidence'
  END AS verdict
FROM bounded AS b
ORDER BY b.account_id, b.place
