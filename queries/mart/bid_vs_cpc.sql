-- How does what a click costs at each source compare with the bid, and which bid holds there now?
-- Trap: bids are those at the end of each day with clicks, weighted by the clicks; with a target CPA the service moves bids by itself (is_optimized), so a difference need not be an error. Where bid_state is not read, all bids are the last known ones, and cpc_to_bid is NULL: show them gray.
-- Shown: verdict, source_id, campaign_name, cpc, mean_bid, bid_now, best_bid, best_bid_gain, spend, clicks, conversions, campaign_id, action
-- Column target_cpa: US dollars per conversion that the campaign aims at now. NULL: none set, or never readable.
-- Column mean_bid: US dollars per click that were bid over the window: the bid at the end of each day, of the source or else the campaign, weighted by the day's clicks. Before the first read of a campaign its first known bids count. NULL: no clicks, or no bid ever readable.
-- Column cpc_to_bid: cpc divided by mean_bid. 1: clicks cost what was bid. NULL: no clicks, no bid known, or bids not to be relied on (bid_state).
-- Column bid_now: US dollars per click that are bid at this source now, as last readable.
-- Column bid_origin: Whose bid bid_now is: source, set for this source; campaign, the campaign's default. NULL: no bid known.
-- Column bid_state: read: the bids per source were readable lately; stale: they were last read longer ago than 36 hours; unread: never, so a source may have a bid of its own that is not known here. With the last two the row's bids are to be shown gray.
-- Column is_optimized: Whether the campaign has a target CPA now, with which the service moves bids by itself. NULL: never readable.
-- Column cpc_at_target: US dollars per click at which the conversion rate gives exactly target_cpa: cvr times target_cpa. A point estimate: of few conversions it says nothing. NULL: rate or target unknown.
-- Column cpc_at_target_best_case: The same at the highest conversion rate that chance leaves likely (Byar's bound, bound_z). Only clicks that cost more than this are surely too dear. NULL: not known.
-- Column campaign_cpa_to_target: The whole campaign's CPA over the window by its target: at 4 it is the campaign that misses, not a source. NULL: none set, no conversion, or not known.
-- Column best_bid: US dollars per click to bid here to earn most, by what the source is expected to bring back (int.source_judgement) and how clicks follow bids (read from its own changes of bids; until there are some, 1 is assumed), at most half as much again as now, 3 times the campaign's default bid and 25, at least half of now. In a campaign at its daily limit no higher than now, unless a dollar brings back so much more there than in the campaign (required_return of int.source_judgement): a higher bid buys dearer clicks for the same money. Where nobody said what a conversion is worth: the bid at which a source that is worse than its campaign would be as good as it, NULL for the others. NULL: the service moves the bid, or too little is known.
-- Column best_bid_gain: US dollars a day that best_bid is expected to earn beyond the bid of now; in a campaign at its daily limit with what its other sources make of the money. NULL: best_bid is, or nobody said what a conversion is worth.
-- Column verdict: service_bids: the campaign has a target CPA, so the service moves the bids; bid_less: best_bid is lower than bid_now by 10 % or more; keep: it is not; too_little_data: fewer than 3 conversions, and not surely a loss; unknown: bids or conversions are not.
-- Column reason: Why, in a sentence. NULL: the verdict says all.
-- Column at_stake: US dollars a day that best_bid is expected to earn beyond the bid of now, where it is to be lowered. NULL: it is not, or not known.
-- Column action: What to bid. NULL: as now.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'bound_z') AS bound_z,
    -- bid_min_change: A bid that would move by less than this is left alone.
    (0.1::DOUBLE /* bid_min_change */) AS min_change,
    -- scale_min_conversions: A source with fewer conversions may have them by chance: of thousands of small sources a few have one.
    (3::DOUBLE /* scale_min_conversions */) AS min_conversions
  FROM int.threshold AS t
),
known AS (
  SELECT w.account_id, w.report_date, w.window_from, w.window_to, w.days_known, k.ends_at
  FROM int.performance_window AS w
  JOIN main.calendar AS k ON k.account_id = w.account_id AND k.report_date = w.report_date
),
default_bid AS (
  SELECT
    h.account_id, h.campaign_id, h.default_bid, h.valid_to,
    CASE WHEN h.version_no = 1 THEN to_timestamp(0) ELSE h.valid_from END AS counts_from
  FROM main.campaign_history AS h
),
looked AS (
  SELECT m.account_id, m.campaign_id, min(m.valid_from) AS first_look_at
  FROM main.source_mode_history AS m
  GROUP BY m.account_id, m.campaign_id
),
source_bid AS (
  -- A bid found by the first read of the campaign's sources counts from the beginning of time.
  SELECT
    r.account_id, r.campaign_id, r.source_id,
    r.bid, r.valid_to, r.is_current,
    CASE WHEN r.version_no = 1 AND coalesce(r.valid_from <= l.first_look_at, true) THEN to_timestamp(0) ELSE r.valid_from END AS counts_from
  FROM main.source_rule_history AS r
  -- Most rules are about sources without rows, so drop those rules first.
  SEMI JOIN int.source_window AS w ON w.account_id = r.account_id AND w.campaign_id = r.campaign_id AND w.source_id = r.source_id
  LEFT JOIN looked AS l ON l.account_id = r.account_id AND l.campaign_id = r.campaign_id
  WHERE r.rule = 'bid_override' AND NOT r.is_deleted
),
edges AS (
  SELECT k.account_id, k.window_from, k.window_to, k.days_known, min(k.ends_at) AS first_end, max(k.ends_at) AS last_end
  FROM known AS k
  GROUP BY k.account_id, k.window_from, k.window_to, k.days_known
),
-- The campaign's default bid over all days, and whether it changed during them.
campaign_bid AS (
  SELECT
    h.account_id, h.campaign_id, min(h.default_bid) AS default_bid,
    count(DISTINCT h.default_bid) > 1 OR count(h.default_bid) NOT IN (0, any_value(e.days_known)) AS has_moved
  FROM known AS k
  JOIN edges AS e ON e.account_id = k.account_id
  JOIN default_bid AS h ON h.account_id = k.account_id AND h.counts_from < k.ends_at AND h.valid_to >= k.ends_at
  GROUP BY h.account_id, h.campaign_id
),
-- Bids of sources that were in force on some day. If a bid was in force on all days, the source has no other bid.
held_bid AS (
  SELECT b.account_id, b.campaign_id, b.source_id, max(b.bid) AS bid, bool_and(b.counts_from < e.first_end AND b.valid_to >= e.last_end) AS held_throughout
  FROM source_bid AS b
  JOIN edges AS e ON e.account_id = b.account_id AND b.counts_from < e.last_end AND b.valid_to >= e.first_end
  GROUP BY b.account_id, b.campaign_id, b.source_id
),
-- Sources whose own bid or whose campaign's bid changed. Only the bids of these sources are computed day by day.
moved AS (
  SELECT w.account_id, w.campaign_id, w.source_id
  FROM int.source_window AS w
  JOIN campaign_bid AS c ON c.account_id = w.account_id AND c.campaign_id = w.campaign_id AND c.has_moved
  LEFT JOIN held_bid AS b ON b.account_id = w.account_id AND b.campaign_id = w.campaign_id AND b.source_id = w.source_id
  WHERE b.account_id IS NULL AND w.spend IS NOT NULL
  UNION ALL
  SELECT b.account_id, b.campaign_id, b.source_id
  FROM held_bid AS b
  WHERE NOT b.held_throughout
),
own_day AS (
  SELECT s.account_id, s.campaign_id, s.source_id, k.ends_at, sum(s.clicks)::BIGINT AS clicks
  FROM main.spend_daily AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  JOIN moved AS o ON o.account_id = s.account_id AND o.campaign_id = s.campaign_id AND o.source_id = s.source_id
  -- The same window again as a constant, so that DuckDB does not read earlier days.
  WHERE s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY s.account_id, s.campaign_id, s.source_id, k.ends_at
),
own_bid AS (
  -- Add up exactly: a sum of floats would depend on the order of the rows.
  SELECT
    d.account_id, d.campaign_id, d.source_id,
    sum(d.clicks * coalesce(b.bid, h.default_bid))::DOUBLE
      / nullif(sum(d.clicks) FILTER (WHERE coalesce(b.bid, h.default_bid) IS NOT NULL), 0)::DOUBLE AS mean_bid
  FROM own_day AS d
  LEFT JOIN default_bid AS h
    ON h.account_id = d.account_id AND h.campaign_id = d.campaign_id AND h.counts_from < d.ends_at AND h.valid_to >= d.ends_at
  LEFT JOIN source_bid AS b
    ON b.account_id = d.account_id AND b.campaign_id = d.campaign_id AND b.source_id = d.source_id
    AND b.counts_from < d.ends_at AND b.valid_to >= d.ends_at
  GROUP BY d.account_id, d.campaign_id, d.source_id
),
summed AS (
  SELECT
    w.*,
    CASE
      WHEN o.campaign_id IS NOT NULL THEN o.mean_bid
      ELSE (w.counted_clicks * coalesce(b.bid, c.default_bid))::DOUBLE / nullif(w.counted_clicks, 0)::DOUBLE
    END AS mean_bid
  FROM int.source_window AS w
  LEFT JOIN campaign_bid AS c ON c.account_id = w.account_id AND c.campaign_id = w.campaign_id
  LEFT JOIN held_bid AS b ON b.account_id = w.account_id AND b.campaign_id = w.campaign_id AND b.source_id = w.source_id
  LEFT JOIN own_bid AS o ON o.account_id = w.account_id AND o.campaign_id = w.campaign_id AND o.source_id = w.source_id
  WHERE w.spend IS NOT NULL
),
of_campaign AS (
  SELECT w.account_id, w.campaign_id, sum(w.counted_spend)::DOUBLE / nullif(sum(w.counted_conversions), 0) AS campaign_cpa
  FROM int.source_window AS w
  GROUP BY w.account_id, w.campaign_id
),
judged AS (
  SELECT
    s.*,
    count_most(s.conversions, l.bound_z) AS most_conversions, l.min_change, l.min_conversions,
    q.worth_origin, q.expected_return, q.required_return, q.verdict AS source_verdict, q.spend_per_day, e.elasticity, coalesce(o.bid, c.default_bid)::DOUBLE AS bid_now,
    CASE
      WHEN q.worth_origin = 'campaign_cpa' THEN CASE WHEN q.verdict = 'loses' THEN greatest(0.5, q.expected_return) END
      ELSE
        greatest(0.5, least(
          1.5, least(3 * c.default_bid::DOUBLE, 25) / nullif(coalesce(o.bid, c.default_bid), 0)::DOUBLE,
          -- Do not lower a bid only because of the daily limit: it is unknown how much more there would be to buy.
          greatest(least(1, q.expected_return * e.elasticity / (1 + e.elasticity)), q.expected_return / q.required_return * e.elasticity / (1 + e.elasticity))))
    END AS times,
    h.campaign_cpa,
    c.name AS campaign_name, c.target_cpa, c.default_bid, o.bid AS own_bid,
    CASE WHEN c.is_deleted THEN 'deleted' ELSE c.status END AS campaign_status,
    CASE WHEN c.target_cpa IS NOT NULL THEN true WHEN c.read_state = 'ok' THEN false END AS is_optimized,
    coalesce(m.bid_state, 'unread') AS bid_state
  FROM summed AS s
  CROSS JOIN level AS l
  JOIN of_campaign AS h ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id
  LEFT JOIN main.campaign_history AS c ON c.account_id = s.account_id AND c.campaign_id = s.campaign_id AND c.is_current
  LEFT JOIN int.bid_state AS m ON m.account_id = s.account_id AND m.campaign_id = s.campaign_id
  LEFT JOIN source_bid AS o
    ON o.account_id = s.account_id AND o.campaign_id = s.campaign_id AND o.source_id = s.source_id AND o.is_current
  LEFT JOIN int.source_judgement AS q ON q.account_id = s.account_id AND q.campaign_id = s.campaign_id AND q.source_id = s.source_id
  LEFT JOIN int.bid_elasticity AS e ON e.account_id = s.account_id
),
advised AS (
  SELECT
    j.*,
    CASE
      WHEN j.is_optimized THEN 'service_bids'
      WHEN j.is_optimized IS NULL OR j.bid_state <> 'read' OR j.conversions IS NULL OR j.clicks IS NULL OR j.campaign_cpa IS NULL THEN 'unknown'
      WHEN (j.source_verdict = 'loses' OR j.conversions >= j.min_conversions) AND j.times <= 1 - j.min_change THEN 'bid_less'
      WHEN j.conversions < j.min_conversions THEN 'too_little_data'
      ELSE 'keep'
    END AS verdict
  FROM judged AS j
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.campaign_status, j.source_id,
  p.window_from, p.window_to, p.days_known,
  j.spend, j.clicks, j.conversions,
  j.spend::DOUBLE / nullif(j.clicks, 0) AS cpc,
  j.mean_bid,
  CASE WHEN j.bid_state = 'read' THEN j.spend::DOUBLE / nullif(j.clicks, 0) / nullif(j.mean_bid, 0) END AS cpc_to_bid,
  coalesce(j.own_bid, j.default_bid) AS bid_now,
  CASE WHEN j.own_bid IS NOT NULL THEN 'source' WHEN j.default_bid IS NOT NULL THEN 'campaign' END AS bid_origin,
  j.bid_state, j.is_optimized, j.target_cpa,
  j.conversions::DOUBLE / nullif(j.clicks, 0) AS cvr,
  j.conversions::DOUBLE / nullif(j.clicks, 0) * j.target_cpa::DOUBLE AS cpc_at_target,
  j.most_conversions / nullif(j.clicks, 0) * j.target_cpa::DOUBLE AS cpc_at_target_best_case,
  j.campaign_cpa / nullif(j.target_cpa, 0)::DOUBLE AS campaign_cpa_to_target,
  CASE WHEN j.verdict IN ('bid_less', 'keep') THEN j.times * j.bid_now END AS best_bid,
  CASE WHEN j.verdict IN ('bid_less', 'keep') AND j.worth_origin <> 'campaign_cpa' THEN
    j.spend_per_day * (pow(j.times, j.elasticity) * (j.expected_return - j.required_return * j.times) - (j.expected_return - j.required_return))
  END AS best_bid_gain,
  j.verdict,
  CASE WHEN j.verdict IN ('bid_less', 'keep') THEN format('a dollar is expected to bring back ${:.2f}', j.expected_return) END AS reason,
  CASE WHEN j.verdict = 'bid_less' AND j.worth_origin <> 'campaign_cpa' THEN
    j.spend_per_day * (pow(j.times, j.elasticity) * (j.expected_return - j.required_return * j.times) - (j.expected_return - j.required_return))
  END AS at_stake,
  CASE WHEN j.verdict = 'bid_less' THEN format('bid ${:.3f} a click', j.times * j.bid_now) END AS action
FROM advised AS j
JOIN edges AS p ON p.account_id = j.account_id
