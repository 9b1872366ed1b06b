-- What broke lately, before anything else is concluded from the numbers?
-- Trap: a break is not explained here: a campaign's conversions may have stopped or fallen because tracking did, or because the offer did. What rests on the broken number (sources to block, verdicts on CPA) is withheld meanwhile.
-- Column kind: conversions_stopped: a fifth or less of what its clicks used to bring, beyond chance; conversions_fell: 0.65 of it or less (int.break_day has both by day, also those that are over); spend_jumped, spend_fell: to three times or a third of the usual; ctr_collapsed: to the half or less; delivery_stopped: the campaign is active and the service says why it does not deliver.
-- Column since_date: Chicago day since which it is so.
-- Column observed: Conversions since then, US dollars on the last whole day, or clicks of the last two. NULL: delivery_stopped.
-- Column expected: What the days before would have led to. NULL: delivery_stopped.
-- Column z_score: How far that is from chance and the usual spread, in standard deviations. NULL: delivery_stopped.
-- Column delivery_status: Why the campaign does not deliver, in the service's words. NULL: another kind of break.
-- Column verdict: The kind.
-- Column reason: What happened, in a sentence, without the campaign's name.
-- Column at_stake: US dollars a day that the conversions missed are worth. NULL: not known, or another kind of break.
-- Column action: What to look at first.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'break_min_z') AS min_z
  FROM int.threshold AS t
),
known AS (
  SELECT c.account_id, c.report_date, max(c.report_date) OVER (PARTITION BY c.account_id) AS last_date
  FROM int.whole_day AS c
  QUALIFY c.report_date >= max(c.report_date) OVER (PARTITION BY c.account_id) - 16
),
spent AS (
  SELECT
    k.account_id, s.campaign_id, k.report_date, any_value(k.last_date) AS last_date, sum(s.spend)::DOUBLE AS spend,
    CASE WHEN sum(s.rows_with_clicks) = sum(s.rows) THEN sum(s.clicks) END AS clicks,
    CASE WHEN sum(s.rows_with_impressions) = sum(s.rows) THEN sum(s.impressions) END AS impressions
  FROM int.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  WHERE s.campaign_id <> '' AND s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY k.account_id, s.campaign_id, k.report_date
),
-- Breaks that are not over, one row each.
stopped AS (
  SELECT DISTINCT d.account_id, d.campaign_id, d.kind, d.since_date, d.observed, d.expected, d.z_score, d.reason, d.at_stake
  FROM int.break_day AS d
  WHERE NOT d.is_over
),
usual AS (
  SELECT
    s.account_id, s.campaign_id, count(*) AS days, median(safe_ln(s.spend)) AS middle,
    mad(safe_ln(s.spend)) AS spread
  FROM spent AS s
  WHERE s.spend > 0 AND s.report_date < s.last_date AND s.report_date >= s.last_date - 14
  GROUP BY s.account_id, s.campaign_id
),
last AS (
  SELECT k.account_id, u.campaign_id, k.report_date, coalesce(s.spend, 0) AS spend, u.middle, u.days, greatest(0.15, 1.4826 * u.spread) AS deviation
  FROM known AS k
  JOIN usual AS u ON u.account_id = k.account_id
  LEFT JOIN spent AS s ON s.account_id = k.account_id AND s.campaign_id = u.campaign_id AND s.report_date = k.report_date
  WHERE k.report_date = k.last_date
),
moved AS (
  SELECT
    l.account_id, l.campaign_id, CASE WHEN l.spend > exp(l.middle) THEN 'spend_jumped' ELSE 'spend_fell' END AS kind, l.report_date AS since_date,
    l.spend AS observed, exp(l.middle) AS expected, abs(safe_ln(greatest(l.spend, 0.01)) - l.middle) / l.deviation AS z_score
  FROM last AS l
  CROSS JOIN level AS v
  WHERE l.days >= 7 AND greatest(l.spend, exp(l.middle)) >= 10
    AND abs(safe_ln(greatest(l.spend, 0.01)) - l.middle) >= safe_ln(3) AND abs(safe_ln(greatest(l.spend, 0.01)) - l.middle) >= v.min_z * l.deviation
),
clicked AS (
  SELECT
    s.account_id, s.campaign_id, max(s.last_date) - 1 AS since_date,
    sum(s.clicks) FILTER (WHERE s.report_date > s.last_date - 2) AS observed,
    sum(s.impressions) FILTER (WHERE s.report_date > s.last_date - 2)::DOUBLE * sum(s.clicks) FILTER (WHERE s.report_date <= s.last_date - 2)
      / nullif(sum(s.impressions) FILTER (WHERE s.report_date <= s.last_date - 2), 0) AS expected
  FROM spent AS s
  WHERE s.report_date > s.last_date - 16 AND s.clicks IS NOT NULL AND s.impressions IS NOT NULL
  GROUP BY s.account_id, s.campaign_id
),
collapsed AS (
  SELECT
    c.account_id, c.campaign_id, 'ctr_collapsed' AS kind, c.since_date, c.observed::DOUBLE AS observed, c.expected,
    safe_sqrt(2 * (c.expected - c.observed + CASE WHEN c.observed > 0 THEN c.observed * safe_ln(c.observed / c.expected) ELSE 0 END)) AS z_score
  FROM clicked AS c
  CROSS JOIN level AS l
  WHERE c.expected >= 30 AND c.observed <= 0.5 * c.expected
    AND safe_sqrt(2 * (c.expected - c.observed + CASE WHEN c.observed > 0 THEN c.observed * safe_ln(c.observed / c.expected) ELSE 0 END)) >= l.min_z
),
undelivered AS (
  SELECT h.account_id, h.campaign_id, h.delivery_status, k.report_date AS since_date
  FROM main.campaign_delivery_history AS h
  LEFT JOIN main.calendar AS k ON k.account_id = h.account_id AND k.starts_at <= h.valid_from AND h.valid_from < k.ends_at
  WHERE h.is_current AND NOT h.is_deleted AND h.delivery_status IN ('waiting_for_funds', 'waiting_for_creatives', 'all_creatives_rejected')
),
found AS (
  SELECT s.*, NULL::VARCHAR AS delivery_status FROM stopped AS s
  UNION ALL SELECT m.*, format('spend {} on {}: ${:,.2f} where ${:,.2f} is usual', CASE m.kind WHEN 'spend_jumped' THEN 'jumped' ELSE 'fell' END, m.since_date::VARCHAR, m.observed::DOUBLE, m.expected), NULL, NULL FROM moved AS m
  UNION ALL SELECT c.*, format('clicks fell on {}: {} came where {} were to be expected', c.since_date::VARCHAR, c.observed::BIGINT, round(c.expected)::BIGINT), NULL, NULL FROM collapsed AS c
  UNION ALL SELECT u.account_id, u.campaign_id, 'delivery_stopped', u.since_date, NULL, NULL, NULL, 'it is active and does not deliver: ' || replace(u.delivery_status, '_', ' '), NULL, u.delivery_status FROM undelivered AS u
)
SELECT b.*, b.kind AS verdict
FROM (
  SELECT
    f.account_id, f.campaign_id, h.name AS campaign_name, f.kind, f.since_date, f.observed, f.expected, f.z_score, f.delivery_status,
    CASE
      WHEN f.kind IN ('conversions_stopped', 'conversions_fell') THEN 'see whether its conversions still reach the service; until then nothing is concluded from its CPA'
      WHEN f.kind = 'spend_jumped' THEN 'see what changed (mart.change_log) and whether its limit is what you want'
      WHEN f.kind = 'spend_fell' THEN 'see its delivery status, funds and bids before changing anything'
      WHEN f.kind = 'ctr_collapsed' THEN 'see whether its creatives or sources changed (mart.change_log)'
      WHEN f.delivery_status = 'waiting_for_funds' THEN 'add money: nothing else helps it'
      ELSE 'look at its creatives: none of them can be shown'
    END AS action, f.reason, f.at_stake
  FROM found AS f
  LEFT JOIN main.campaign_history AS h ON h.account_id = f.account_id AND h.campaign_id = f.campaign_id AND h.is_current
  WHERE coalesce(h.status = 'active' AND NOT h.is_deleted, h.campaign_id IS NULL)
) AS b
