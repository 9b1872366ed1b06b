-- Did blocking help?
-- Trap: a source is blocked when it looks worst, so that part of what it seems to have cost is chance: saved_per_day holds it to all that is known of it (mart.source_judgement), also what came later and what it does elsewhere. What its campaign bought with the money instead is in campaign_cpa_change, with all else that happened since.
-- Parameter days: 60, days to look back from now.
-- Parameter campaign: "", campaign whose blocks are asked for, by its ID; empty: every campaign.
-- Parameter rows: 50, sources to show, those that matter most first.
-- Shown: verdict, source_id, saved_per_day, spend_per_day_before, expected_return, loss_probability, campaign_cpa_change, campaign_name, blocked_at
-- Column blocked_at: When the block was first seen.
-- Column spend_per_day_before: US dollars a day that the source spent in the days before (threshold impact_days). NULL: none of these days is known.
-- Column saved_per_day: US dollars a day that the block is expected to save, at that spend; below 0: to lose. NULL: nobody said what a conversion is worth, or nothing is known.
-- Column saved: The same for the days since then.
-- Column expected_return: US dollars that a dollar spent there would bring back, as of now. NULL: as saved_per_day.
-- Column loss_probability: Probability that a dollar spent there brings back less than a dollar.
-- Column campaign_cpa_before: US dollars per conversion of the campaign in the days before, conversions still to come included; days of a break that is over (mart.break_day) left out.
-- Column campaign_cpa_after: The same of as many days after.
-- Column campaign_cpa_change: Change from the one to the other. NULL: either is not known.
-- Column verdict: helped: it would surely lose (threshold scale_probability); hurt: it would surely earn; unclear; unknown: saved_per_day is.
WITH level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'impact_days')::INTEGER AS days, max(t.value) FILTER (WHERE t.name = 'scale_probability') AS sure
  FROM mart.threshold AS t
),
block AS (
  SELECT c.account_id, c.campaign_id, c.campaign_name, c.source_id, c.seen_at, a.report_date AS first_date, z.report_date AS last_date
  FROM mart.change_log AS c
  JOIN main.calendar AS a ON a.account_id = c.account_id AND a.starts_at <= coalesce(c.not_before, c.seen_at) AND coalesce(c.not_before, c.seen_at) < a.ends_at
  JOIN main.calendar AS z ON z.account_id = c.account_id AND z.starts_at <= c.seen_at AND c.seen_at < z.ends_at
  WHERE c.kind = 'source_rule' AND c.rule = 'blocked' AND c.change_type <> 'deleted' AND epoch(c.seen_at) > epoch(now()) - 86400 * $days::INTEGER
    AND ($campaign::VARCHAR = '' OR c.campaign_id = $campaign::VARCHAR)
  QUALIFY row_number() OVER (PARTITION BY c.account_id, c.campaign_id, c.source_id ORDER BY c.seen_at DESC) = 1
),
-- The days before each block.
known AS (
  SELECT b.account_id, b.first_date, count(*) AS days
  FROM (SELECT DISTINCT k.account_id, k.first_date FROM block AS k) AS b
  CROSS JOIN level AS l
  JOIN mart.day_maturity AS m ON m.account_id = b.account_id AND m.report_date >= b.first_date - l.days AND m.report_date < b.first_date
  GROUP BY b.account_id, b.first_date
),
spent AS (
  SELECT b.account_id, b.campaign_id, b.source_id, sum(s.spend) AS spend
  FROM block AS b
  CROSS JOIN level AS l
  JOIN main.spend_daily AS s ON s.account_id = b.account_id AND s.campaign_id = b.campaign_id AND s.source_id = b.source_id
    AND s.report_date >= b.first_date - l.days AND s.report_date < b.first_date
  JOIN mart.day_maturity AS m ON m.account_id = s.account_id AND m.report_date = s.report_date
  WHERE s.report_date >= (SELECT min(k.first_date) - any_value(l.days) FROM block AS k CROSS JOIN level AS l)
  GROUP BY b.account_id, b.campaign_id, b.source_id
),
day AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, s.spend::DOUBLE * coalesce(m.conversions_share, 1) AS arrived,
    CASE WHEN s.rows_with_conversions = s.rows THEN s.conversions END AS conversions
  FROM mart.campaign_spend AS s
  JOIN mart.day_maturity AS m ON m.account_id = s.account_id AND m.report_date = s.report_date
  LEFT JOIN mart.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date AND b.is_over
  WHERE b.account_id IS NULL
),
around AS (
  SELECT
    b.account_id, b.campaign_id, b.first_date, b.last_date,
    CASE WHEN count(*) FILTER (WHERE d.report_date < b.first_date AND d.conversions IS NULL) = 0 THEN
      sum(d.arrived) FILTER (WHERE d.report_date < b.first_date) / nullif(sum(d.conversions) FILTER (WHERE d.report_date < b.first_date), 0) END AS cpa_before,
    CASE WHEN count(*) FILTER (WHERE d.report_date > b.last_date AND d.conversions IS NULL) = 0 THEN
      sum(d.arrived) FILTER (WHERE d.report_date > b.last_date) / nullif(sum(d.conversions) FILTER (WHERE d.report_date > b.last_date), 0) END AS cpa_after
  FROM (SELECT DISTINCT k.account_id, k.campaign_id, k.first_date, k.last_date FROM block AS k) AS b
  CROSS JOIN level AS l
  JOIN day AS d ON d.account_id = b.account_id AND d.campaign_id = b.campaign_id AND d.report_date BETWEEN b.first_date - l.days AND b.last_date + l.days
  GROUP BY b.account_id, b.campaign_id, b.first_date, b.last_date
),
judged AS (
  SELECT
    b.*, t.today - b.last_date AS days_since, coalesce(s.spend, 0)::DOUBLE / k.days AS spend_per_day,
    CASE WHEN j.worth_origin <> 'campaign_cpa' THEN j.expected_return END AS expected_return, CASE WHEN j.worth_origin <> 'campaign_cpa' THEN j.loss_probability END AS loss_probability,
    a.cpa_before, a.cpa_after, l.sure
  FROM block AS b
  CROSS JOIN level AS l
  JOIN main.today AS t ON t.account_id = b.account_id
  LEFT JOIN known AS k ON k.account_id = b.account_id AND k.first_date = b.first_date
  LEFT JOIN spent AS s ON s.account_id = b.account_id AND s.campaign_id = b.campaign_id AND s.source_id = b.source_id
  LEFT JOIN around AS a ON a.account_id = b.account_id AND a.campaign_id = b.campaign_id AND a.first_date = b.first_date AND a.last_date = b.last_date
  LEFT JOIN mart.source_judgement AS j ON j.account_id = b.account_id AND j.campaign_id = b.campaign_id AND j.source_id = b.source_id
)
SELECT
  j.account_id, j.campaign_id, j.campaign_name, j.source_id, j.seen_at AS blocked_at, j.spend_per_day::DECIMAL(18,2) AS spend_per_day_before,
  j.expected_return::DECIMAL(18,2) AS expected_return, j.loss_probability::DECIMAL(18,3) AS loss_probability,
  (j.spend_per_day * (1 - j.expected_return))::DECIMAL(18,2) AS saved_per_day, (j.spend_per_day * (1 - j.expected_return) * j.days_since)::DECIMAL(18,2) AS saved,
  j.cpa_before::DECIMAL(18,2) AS campaign_cpa_before, j.cpa_after::DECIMAL(18,2) AS campaign_cpa_after, (j.cpa_after / j.cpa_before - 1)::DECIMAL(18,3) AS campaign_cpa_change,
  CASE
    WHEN j.spend_per_day * j.loss_probability IS NULL THEN 'unknown'
    WHEN j.loss_probability > j.sure THEN 'helped'
    WHEN j.loss_probability < 1 - j.sure THEN 'hurt'
    ELSE 'unclear'
  END AS verdict
FROM judged AS j
ORDER BY abs(j.spend_per_day * (1 - j.expected_return)) DESC NULLS LAST, j.account_id, j.campaign_id, j.source_id
LIMIT $rows::BIGINT
