-- What would a rule of yours have saved or lost, had it blocked sources in the past?
-- Trap: each morning is decided by what was known at its noon, and a source that is blocked stays so: its spend from the next day on counts as saved, the conversions that came of it, and those still to come, as lost. What else a campaign would have bought with the money is not counted. Ours (sources_to_block, but for crowds_out) is asked on one morning a week, the others on each. Days that were first read much later were not known then: right after the first sync there is nothing to decide by.
-- Parameter rule: "spend > 3 * worth AND conversions = 0", condition under which a source of a campaign is blocked: columns, numbers, arithmetic, comparisons, AND, OR, NOT, CASE and simple functions.
-- Condition over: spend, clicks, impressions, conversions, cpa, cpc, cvr, worth, payout, target_cpa, campaign_spend, campaign_conversions, campaign_cpa, days, hours
-- Parameter days: 60, mornings to decide, up to the day before the last complete day.
-- Parameter window: 30, days before a morning whose sums the rule sees.
-- Parameter campaign: "", campaign whose sources are decided about, by its ID; empty: every campaign.
-- Shown: verdict, rule, saved, saved_low, saved_high, spend_saved, conversions_lost, sources_blocked, blocked_wrongly, acquitted, blocked_anyway
-- Column rule: yours; sources_to_block, once a week: what this program would have blocked by what was known then; or the rule of the trade that it is compared with.
-- Column mornings: Mornings on which at least one day of the window was known.
-- Column sources_judged: Sources of campaigns that ran and were not blocked on some morning.
-- Column sources_blocked: Those that the rule blocks.
-- Column blocked_anyway: Of these, those that were blocked later in fact.
-- Column blocked_wrongly: Of these, those that have brought back more than they cost since then.
-- Column acquitted: Of these, those that the rule would no longer block on the last morning, by what was known by then.
-- Column spend_saved: US dollars that the blocked sources have cost since then.
-- Column conversions_lost: Conversions that they have brought since then, those still to come included. NULL: some are not known.
-- Column saved: US dollars that the rule saves: spend_saved less what conversions_lost are worth; below 0 it loses. NULL: conversions or their worth are not known.
-- Column saved_low: saved is above this with a probability of 95 % (threshold bound_z), by the chance that is in counts of conversions.
-- Column saved_high: saved is below this with a probability of 95 %.
-- Column verdict: saves, loses: beyond these bounds; not_enough_evidence: chance may explain it, or worth or conversions are not known; blocks_nothing.
WITH z AS (
  SELECT t.value AS z FROM mart.threshold AS t WHERE t.name = 'bound_z'
),
-- When a day was first known as a whole: read by a published run after it was over.
read AS (
  SELECT s.account_id, try_cast(s.unit AS DATE) AS report_date, s.started_at
  FROM ops.step AS s
  JOIN ops.run AS r ON r.account_id = s.account_id AND r._run_id = s._run_id AND r.published
  WHERE s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged')
),
whole AS (
  SELECT
    c.account_id, c.report_date, any_value(k.hours) AS hours,
    least(min(r.started_at), any_value(CASE WHEN c.first_read_at >= k.ends_at THEN c.first_read_at END)) AS known_at
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN read AS r ON r.account_id = c.account_id AND r.report_date = c.report_date AND r.started_at >= k.ends_at
  WHERE c.state IN ('complete', 'final')
  GROUP BY c.account_id, c.report_date
),
span AS (
  SELECT w.account_id, max(w.report_date) AS last_date
  FROM whole AS w
  GROUP BY w.account_id
),
morning AS (
  SELECT k.account_id, k.report_date AS decided_on, to_timestamp(epoch(k.starts_at) + 43200) AS decided_at, s.last_date
  FROM main.calendar AS k
  JOIN span AS s ON s.account_id = k.account_id AND k.report_date BETWEEN s.last_date - $days::INTEGER AND s.last_date - 1
),
-- The days that each morning knows.
seen AS (
  SELECT m.account_id, m.decided_on, m.decided_at, w.report_date, w.hours
  FROM morning AS m
  JOIN whole AS w ON w.account_id = m.account_id AND w.known_at <= m.decided_at
    AND w.report_date BETWEEN m.decided_on - $window::INTEGER AND m.decided_on - 1
),
length AS (
  SELECT s.account_id, s.decided_on, count(*) AS days, sum(s.hours) AS hours
  FROM seen AS s
  GROUP BY s.account_id, s.decided_on
),
told AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, s.report_date, sum(s.spend) AS spend, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions, sum(s.conversions) AS conversions,
    count(*) - count(s.clicks) AS no_clicks, count(*) - count(s.impressions) AS no_impressions, count(*) - count(s.conversions) AS no_conversions
  FROM main.spend_daily AS s
  JOIN span AS p ON p.account_id = s.account_id AND s.report_date BETWEEN p.last_date - $days::INTEGER - greatest($window::INTEGER, 121) AND p.last_date
  GROUP BY s.account_id, s.campaign_id, s.source_id, s.report_date
),
-- What each change takes away again, for those who did not know it yet.
untold AS (
  SELECT
    c.account_id, c.campaign_id, c.source_id, c.report_date, coalesce(c.old_spend, 0) - coalesce(c.new_spend, 0) AS spend,
    coalesce(c.old_clicks, 0) - coalesce(c.new_clicks, 0) AS clicks, coalesce(c.old_impressions, 0) - coalesce(c.new_impressions, 0) AS impressions,
    coalesce(c.old_conversions, 0) - coalesce(c.new_conversions, 0) AS conversions,
    (c.op <> 'insert' AND c.old_clicks IS NULL)::INTEGER - (c.op <> 'delete' AND c.new_clicks IS NULL)::INTEGER AS no_clicks,
    (c.op <> 'insert' AND c.old_impressions IS NULL)::INTEGER - (c.op <> 'delete' AND c.new_impressions IS NULL)::INTEGER AS no_impressions,
    (c.op <> 'insert' AND c.old_conversions IS NULL)::INTEGER - (c.op <> 'delete' AND c.new_conversions IS NULL)::INTEGER AS no_conversions, c.seen_at
  FROM main.spend_change AS c
),
flow AS (
  SELECT
    t.account_id, t.campaign_id, t.source_id, s.decided_on, t.spend, t.clicks, t.impressions, t.conversions, t.no_clicks, t.no_impressions, t.no_conversions
  FROM told AS t
  JOIN seen AS s ON s.account_id = t.account_id AND s.report_date = t.report_date
  WHERE t.source_id <> '' AND ($campaign::VARCHAR = '' OR t.campaign_id = $campaign::VARCHAR)
  UNION ALL
  SELECT
    u.account_id, u.campaign_id, u.source_id, s.decided_on, u.spend, u.clicks, u.impressions, u.conversions, u.no_clicks, u.no_impressions, u.no_conversions
  FROM untold AS u
  JOIN seen AS s ON s.account_id = u.account_id AND s.report_date = u.report_date AND u.seen_at > s.decided_at
  WHERE u.source_id <> '' AND ($campaign::VARCHAR = '' OR u.campaign_id = $campaign::VARCHAR)
),
known AS (
  SELECT
    f.account_id, f.campaign_id, f.source_id, f.decided_on, sum(f.spend)::DOUBLE AS spend,
    CASE WHEN sum(f.no_clicks) = 0 THEN sum(f.clicks)::DOUBLE END AS clicks,
    CASE WHEN sum(f.no_impressions) = 0 THEN sum(f.impressions)::DOUBLE END AS impressions,
    CASE WHEN sum(f.no_conversions) = 0 THEN sum(f.conversions)::DOUBLE END AS conversions
  FROM flow AS f
  GROUP BY f.account_id, f.campaign_id, f.source_id, f.decided_on
),
of_campaign AS (
  SELECT
    k.account_id, k.campaign_id, k.decided_on, sum((1e6 * k.spend)::BIGINT)::DOUBLE / 1e6 AS spend,
    CASE WHEN count(k.conversions) = count(*) THEN sum(k.conversions) END AS conversions
  FROM known AS k
  GROUP BY k.account_id, k.campaign_id, k.decided_on
),
-- The settings at that noon.
campaign AS (
  SELECT m.account_id, m.decided_on, h.campaign_id, any_value(h.target_cpa)::DOUBLE AS target_cpa
  FROM morning AS m
  JOIN main.campaign_history AS h ON h.account_id = m.account_id AND h.valid_from <= m.decided_at AND h.valid_to > m.decided_at AND NOT h.is_deleted
  GROUP BY m.account_id, m.decided_on, h.campaign_id
),
line AS (
  SELECT m.account_id, m.decided_on, p.campaign_id, p.source_id, any_value(p.payout)::DOUBLE AS payout
  FROM morning AS m
  JOIN main.payout_history AS p ON p.account_id = m.account_id AND p.valid_from <= m.decided_at AND p.valid_to > m.decided_at AND NOT p.is_deleted
    AND m.decided_on - 1 BETWEEN p.from_date AND coalesce(p.to_date, DATE '9999-12-31')
  WHERE p.creative_id = ''
  GROUP BY m.account_id, m.decided_on, p.campaign_id, p.source_id
),
blocked AS (
  SELECT m.account_id, m.decided_on, r.campaign_id, r.source_id
  FROM morning AS m
  JOIN main.source_rule_history AS r ON r.account_id = m.account_id AND r.valid_from <= m.decided_at AND r.valid_to > m.decided_at AND NOT r.is_deleted
  WHERE r.rule = 'blocked'
  GROUP BY m.account_id, m.decided_on, r.campaign_id, r.source_id
),
looked AS (
  SELECT
    k.account_id, k.campaign_id, k.source_id, k.decided_on, k.spend, k.clicks, k.impressions, k.conversions,
    k.spend / nullif(k.conversions, 0) AS cpa, k.spend / nullif(k.clicks, 0) AS cpc, k.conversions / nullif(k.clicks, 0) AS cvr,
    coalesce(cs.payout, c.payout, s.payout, a.payout) AS payout, h.target_cpa,
    nullif(coalesce(cs.payout, c.payout, s.payout, a.payout, h.target_cpa), 0) AS worth,
    o.spend AS campaign_spend, o.conversions AS campaign_conversions, o.spend / nullif(o.conversions, 0) AS campaign_cpa, l.days::DOUBLE AS days, l.hours::DOUBLE AS hours
  FROM known AS k
  JOIN length AS l ON l.account_id = k.account_id AND l.decided_on = k.decided_on
  JOIN of_campaign AS o ON o.account_id = k.account_id AND o.campaign_id = k.campaign_id AND o.decided_on = k.decided_on
  LEFT JOIN campaign AS h ON h.account_id = k.account_id AND h.campaign_id = k.campaign_id AND h.decided_on = k.decided_on
  LEFT JOIN line AS cs ON cs.account_id = k.account_id AND cs.campaign_id = k.campaign_id AND cs.source_id = k.source_id AND cs.decided_on = k.decided_on
  LEFT JOIN line AS c ON c.account_id = k.account_id AND c.campaign_id = k.campaign_id AND c.source_id = '' AND c.decided_on = k.decided_on
  LEFT JOIN line AS s ON s.account_id = k.account_id AND s.campaign_id = '' AND s.source_id = k.source_id AND s.decided_on = k.decided_on
  LEFT JOIN line AS a ON a.account_id = k.account_id AND a.campaign_id = '' AND a.source_id = '' AND a.decided_on = k.decided_on
  WHERE NOT EXISTS (
    SELECT 1 AS one FROM blocked AS b
    WHERE b.account_id = k.account_id AND b.campaign_id = k.campaign_id AND b.source_id = k.source_id AND b.decided_on = k.decided_on)
),
-- Ours: the views themselves, over what was known on one noon a week. Each of these noons is an account of its own.
asked AS (
  SELECT m.account_id AS of_account, m.account_id || '@' || m.decided_on AS account_id, m.decided_on, m.decided_at
  FROM morning AS m
  WHERE (m.last_date - 1 - m.decided_on) % 7 = 0
),
past_calendar AS (
  SELECT k.* REPLACE (a.account_id AS account_id)
  FROM main.calendar AS k
  JOIN asked AS a ON a.of_account = k.account_id AND k.report_date BETWEEN a.decided_on - 121 AND a.decided_on
),
past_step AS (
  SELECT s.* REPLACE (a.account_id AS account_id)
  FROM ops.step AS s
  JOIN asked AS a ON a.of_account = s.account_id AND s.started_at <= a.decided_at
  WHERE s.stream = 'spend_report'
),
past_run AS (
  SELECT r.* REPLACE (a.account_id AS account_id)
  FROM ops.run AS r
  JOIN asked AS a ON a.of_account = r.account_id
),
past_day_coverage AS (
  SELECT
    a.account_id, w.report_date, CASE WHEN a.decided_on - w.report_date > 32 THEN 'final' ELSE 'complete' END AS state,
    w.known_at AS first_read_at, coalesce(max(r.started_at), w.known_at) AS last_read_at, a.of_account, a.decided_at
  FROM asked AS a
  JOIN whole AS w ON w.account_id = a.of_account AND w.known_at <= a.decided_at AND w.report_date >= a.decided_on - 121
  LEFT JOIN read AS r ON r.account_id = w.account_id AND r.report_date = w.report_date AND r.started_at BETWEEN w.known_at AND a.decided_at
  GROUP BY a.account_id, w.report_date, a.decided_on, w.known_at, a.of_account, a.decided_at
),
past_flow AS (
  SELECT c.account_id, t.* EXCLUDE (account_id)
  FROM told AS t
  JOIN past_day_coverage AS c ON c.of_account = t.account_id AND c.report_date = t.report_date
  UNION ALL
  SELECT c.account_id, u.* EXCLUDE (account_id, seen_at)
  FROM untold AS u
  JOIN past_day_coverage AS c ON c.of_account = u.account_id AND c.report_date = u.report_date AND u.seen_at > c.decided_at
),
past_spend_daily AS (
  SELECT
    f.account_id, f.campaign_id, f.source_id, f.report_date, sum(f.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN sum(f.no_clicks) = 0 THEN sum(f.clicks)::BIGINT END AS clicks,
    CASE WHEN sum(f.no_impressions) = 0 THEN sum(f.impressions)::BIGINT END AS impressions,
    CASE WHEN sum(f.no_conversions) = 0 THEN sum(f.conversions)::BIGINT END AS conversions
  FROM past_flow AS f
  GROUP BY f.account_id, f.campaign_id, f.source_id, f.report_date
),
past_campaign_spend AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, sum(s.spend)::DECIMAL(18, 6) AS spend, sum(s.clicks)::BIGINT AS clicks, sum(s.conversions)::BIGINT AS conversions,
    count(*) AS rows, count(s.clicks) AS rows_with_clicks, count(s.conversions) AS rows_with_conversions
  FROM past_spend_daily AS s
  GROUP BY s.account_id, s.campaign_id, s.report_date
),
past_spend_change AS (
  SELECT s.* REPLACE (a.account_id AS account_id)
  FROM main.spend_change AS s
  JOIN asked AS a ON a.of_account = s.account_id AND s.seen_at <= a.decided_at AND s.report_date >= a.decided_on - 121
),
past_campaign_history AS (
  SELECT h.* REPLACE (a.account_id AS account_id, true AS is_current)
  FROM main.campaign_history AS h
  JOIN asked AS a ON a.of_account = h.account_id AND h.valid_from <= a.decided_at AND h.valid_to > a.decided_at
),
past_creative_history AS (
  SELECT h.* REPLACE (a.account_id AS account_id, true AS is_current)
  FROM main.creative_history AS h
  JOIN asked AS a ON a.of_account = h.account_id AND h.valid_from <= a.decided_at AND h.valid_to > a.decided_at
),
past_payout_history AS (
  SELECT p.* REPLACE (a.account_id AS account_id, true AS is_current)
  FROM main.payout_history AS p
  JOIN asked AS a ON a.of_account = p.account_id AND p.valid_from <= a.decided_at AND p.valid_to > a.decided_at
),
-- Past: source_judgement, break_day
ours AS (
  SELECT
    a.of_account AS account_id, a.decided_on, j.campaign_id, j.source_id,
    j.verdict = 'loses' AND NOT EXISTS (
      SELECT 1 AS one FROM past_break_day AS b
      WHERE b.account_id = j.account_id AND b.campaign_id = j.campaign_id AND NOT b.is_over AND b.kind = 'conversions_stopped') AS holds
  FROM past_source_judgement AS j
  JOIN asked AS a ON a.account_id = j.account_id
),
ruled AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, r.decided_on,
    unnest([
      {'place': 1, 'rule': 'yours', 'holds': $rule},
      {'place': 3, 'rule': '3 worths spent, CPA above 1.5 worths', 'holds': spend >= 3 * worth AND spend > 1.5 * worth * conversions},
      {'place': 4, 'rule': '3 worths spent, CPA above worth', 'holds': spend >= 3 * worth AND spend > worth * conversions},
      {'place': 5, 'rule': '2 worths spent, no conversion', 'holds': spend >= 2 * worth AND conversions = 0},
      {'place': 6, 'rule': 'shrunk to its campaign', 'holds': spend >= 0.5 * worth AND spend + 2 * campaign_cpa > 1.1 * worth * (conversions + 2)}
    ], recursive := true)
  FROM looked AS r
  UNION ALL
  SELECT r.account_id, r.campaign_id, r.source_id, r.decided_on, 2 AS place, 'sources_to_block, once a week' AS rule, coalesce(o.holds, false) AS holds
  FROM looked AS r
  JOIN asked AS a ON a.of_account = r.account_id AND a.decided_on = r.decided_on
  LEFT JOIN ours AS o ON o.account_id = r.account_id AND o.decided_on = r.decided_on AND o.campaign_id = r.campaign_id AND o.source_id = r.source_id
),
decided AS (
  SELECT
    r.account_id, r.campaign_id, r.source_id, r.place, any_value(r.rule) AS rule, min(r.decided_on) FILTER (WHERE r.holds) AS blocked_on,
    coalesce(arg_max(coalesce(r.holds, false), r.decided_on), false) AS holds_last
  FROM ruled AS r
  GROUP BY r.account_id, r.campaign_id, r.source_id, r.place
),
-- By what is known today.
after AS (
  SELECT
    d.account_id, d.campaign_id, d.source_id, d.place, sum(t.spend) AS spend, CASE WHEN sum(t.no_conversions) = 0 THEN sum(t.conversions) END AS conversions,
    sum((1e6 * t.spend::DOUBLE * coalesce(m.conversions_share, 1))::BIGINT)::DOUBLE / 1e6 AS arrived
  FROM decided AS d
  JOIN told AS t ON t.account_id = d.account_id AND t.campaign_id = d.campaign_id AND t.source_id = d.source_id AND t.report_date > d.blocked_on
  JOIN mart.day_maturity AS m ON m.account_id = t.account_id AND m.report_date = t.report_date
  GROUP BY d.account_id, d.campaign_id, d.source_id, d.place
),
worth AS (
  SELECT
    d.*, coalesce(a.spend, 0) AS spend, CASE WHEN a.account_id IS NULL THEN 0 ELSE a.conversions END AS conversions,
    coalesce(v.worth, w.worth) AS worth, CASE WHEN a.conversions = 0 OR a.account_id IS NULL THEN 1 ELSE a.spend::DOUBLE / nullif(a.arrived, 0) END AS growth,
    EXISTS (
      SELECT 1 AS one FROM main.source_rule_history AS r
      WHERE r.account_id = d.account_id AND r.campaign_id = d.campaign_id AND r.source_id = d.source_id AND r.rule = 'blocked' AND NOT r.is_deleted
        AND r.valid_from > (SELECT m.decided_at FROM morning AS m WHERE m.account_id = d.account_id AND m.decided_on = d.blocked_on)) AS is_blocked_later
  FROM decided AS d
  LEFT JOIN after AS a ON a.account_id = d.account_id AND a.campaign_id = d.campaign_id AND a.source_id = d.source_id AND a.place = d.place
  LEFT JOIN mart.conversion_worth AS v ON v.account_id = d.account_id AND v.campaign_id = d.campaign_id AND v.source_id = d.source_id
  LEFT JOIN mart.conversion_worth AS w ON w.account_id = d.account_id AND w.campaign_id = d.campaign_id AND w.source_id = ''
),
summed AS (
  SELECT
    w.account_id, w.place, any_value(w.rule) AS rule, count(*) AS sources_judged, count(w.blocked_on) AS sources_blocked,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.is_blocked_later) AS blocked_anyway,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions * w.growth * w.worth > w.spend) AS blocked_wrongly,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND NOT w.holds_last) AS acquitted,
    coalesce(sum(w.spend) FILTER (WHERE w.blocked_on IS NOT NULL), 0) AS spend_saved,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions IS NULL) AS unknown_conversions,
    count(*) FILTER (WHERE w.blocked_on IS NOT NULL AND w.conversions IS NULL OR w.worth IS NULL AND w.spend <> 0) AS unknown_money,
    coalesce(sum((1e6 * w.conversions * w.growth)::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS lost,
    coalesce(sum((1e6 * w.conversions * w.growth * w.worth)::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS money,
    coalesce(sum((1e6 * w.conversions * pow(w.growth * w.worth, 2))::BIGINT) FILTER (WHERE w.blocked_on IS NOT NULL), 0)::DOUBLE / 1e6 AS money_variance,
    max(w.growth * w.worth) FILTER (WHERE w.blocked_on IS NOT NULL AND w.spend > 0) AS dearest
  FROM worth AS w
  GROUP BY w.account_id, w.place
),
-- Fay and Feuer: bounds of a weighted sum of Poisson counts, by Byar's of a single one.
bounded AS (
  SELECT
    s.*, l.mornings,
    CASE
      WHEN s.money > 0 THEN s.money * pow(greatest(0, 1 - s.money_variance / (9 * s.money * s.money) - z.z * sqrt(s.money_variance) / (3 * s.money)), 3)
      ELSE 0
    END AS least_money,
    CASE
      WHEN s.dearest IS NULL THEN 0
      ELSE (s.money + s.dearest) * pow(1 - (s.money_variance + s.dearest * s.dearest) / (9 * pow(s.money + s.dearest, 2))
        + z.z * sqrt(s.money_variance + s.dearest * s.dearest) / (3 * (s.money + s.dearest)), 3)
    END AS most_money
  FROM summed AS s
  JOIN (SELECT l.account_id, count(*) AS mornings FROM length AS l GROUP BY l.account_id) AS l ON l.account_id = s.account_id
  CROSS JOIN z
)
SELECT
  b.account_id, b.rule, b.mornings, b.sources_judged, b.sources_blocked, b.blocked_anyway, b.blocked_wrongly, b.acquitted, b.spend_saved,
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
