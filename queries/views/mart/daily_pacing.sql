-- How did each campaign's spend stand against its daily limit, and where will an unfinished day end?
-- Trap: the limit is that at the end of the day, though another may have held before (settings_changed); the projection is a straight line through the day as of its last read, and spend is not: most of it comes early, so before noon (threshold pacing_min_elapsed) nothing is projected.
-- Column campaign_name: Name at the end of the day; where it was never readable, the report's name on that day.
-- Column status: Status at the end of the day. A deleted campaign keeps its last one.
-- Column daily_spend_limit: US dollars per day at the end of the day. NULL: no limit, or never readable.
-- Column is_assumed: Whether the limit was first seen after the day, and so is only assumed to have held then. NULL: never seen.
-- Column settings_changed: Whether the settings were seen to change within the day.
-- Column coverage_state: How well the day is known: open, complete, final, partial, missing or lost, as in ops.day_coverage.
-- Column as_of_at: When the day's numbers were last read. NULL: never.
-- Column day_elapsed: Share of the Chicago day, 0 to 1, that had passed when its numbers were last read; 1 when it was over. NULL: never read.
-- Column spend: US dollars, as of as_of_at. NULL: the day is not covered.
-- Column utilization: Spend divided by the limit; 1 is all of it. NULL: no limit or no spend known.
-- Column projected_spend: US dollars at the end of the day at the pace so far, the limit left aside; on a day that was over when read, its spend. NULL: not covered, or too early to say (threshold pacing_min_elapsed).
-- Column projected_utilization: Projected spend divided by the limit. Above 1 the limit will hold the day back.
-- Column pacing_state: over: spent more than the limit; limited: held back by it, or will be (threshold pacing_limited); on_pace; under (threshold pacing_under); stopped: the day ended, or stands, with the campaign not active, below the limit; too_early; no_limit; unknown: the day is not covered or the limit was never readable.
-- Column delivery_status: Why the campaign delivered or did not at the end of the day, in the service's words. NULL: not known.
-- Column campaign_verdict: Whether the campaign pays, as in mart.campaign_performance: a limit is worth raising only where it does. NULL: nothing spent in the window.
-- Column advice: What to do, on the last day that was read; NULL on others. Nothing that costs money is advised without the campaign's CPA, nor a bid to a campaign that does not deliver.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'pacing_under') AS under,
    max(t.value) FILTER (WHERE t.name = 'pacing_limited') AS limited,
    max(t.value) FILTER (WHERE t.name = 'pacing_min_elapsed') AS min_elapsed
  FROM mart.threshold AS t
),
elapsed AS (
  SELECT
    c.account_id, c.report_date, c.last_read_at,
    CASE
      WHEN c.state IN ('complete', 'final') THEN 1.0::DOUBLE
      WHEN c.state IN ('open', 'partial') THEN
        greatest(0, least(1, (epoch(c.last_read_at) - epoch(k.starts_at)) / (epoch(k.ends_at) - epoch(k.starts_at))))
    END AS day_elapsed
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
),
paced AS (
  SELECT
    d.*, e.last_read_at, e.day_elapsed, l.under, l.limited, l.min_elapsed,
    d.spend::DOUBLE / nullif(d.daily_spend_limit, 0)::DOUBLE AS utilization,
    CASE
      WHEN d.coverage_state IN ('complete', 'final') THEN d.spend::DOUBLE
      WHEN e.day_elapsed >= l.min_elapsed THEN d.spend::DOUBLE / nullif(e.day_elapsed, 0)
    END AS projected_spend
  FROM mart.campaign_day AS d
  CROSS JOIN level AS l
  LEFT JOIN elapsed AS e ON e.account_id = d.account_id AND e.report_date = d.report_date
)
SELECT
  j.account_id, j.report_date, j.campaign_id, j.campaign_name, j.status, j.daily_spend_limit, j.is_assumed, j.settings_changed, j.coverage_state,
  j.as_of_at, j.day_elapsed, j.spend, j.utilization, j.projected_spend, j.projected_utilization, j.pacing_state,
  j.delivery_status, k.verdict AS campaign_verdict,
  CASE
    WHEN j.report_date < j.last_date OR j.pacing_state IN ('unknown', 'too_early', 'no_limit', 'stopped') AND coalesce(j.delivery_status, '') NOT IN ('waiting_for_funds', 'waiting_for_creatives', 'all_creatives_rejected') THEN NULL
    WHEN j.delivery_status = 'waiting_for_funds' THEN 'add money: nothing else makes it deliver'
    WHEN j.delivery_status IN ('waiting_for_creatives', 'all_creatives_rejected') THEN 'look at its creatives: none of them can be shown'
    WHEN k.verdict = 'broken_tracking' THEN 'see where its conversions went first: mart.breaks'
    WHEN j.pacing_state IN ('over', 'limited') AND k.verdict = 'pays' THEN 'a higher limit would buy more of what pays'
    WHEN j.pacing_state IN ('over', 'limited') AND k.verdict = 'loses' THEN 'leave the limit: it pays more per conversion than its target'
    WHEN j.pacing_state IN ('over', 'limited') THEN 'leave the limit until it is clear whether it pays'
    WHEN j.pacing_state = 'under' AND coalesce(j.delivery_status, 'active') = 'active' AND k.verdict = 'pays' THEN 'it pays and has room: a higher bid or a wider audience would use it'
    WHEN j.pacing_state = 'under' THEN 'nothing: it spends less than it may'
    ELSE 'nothing'
  END AS advice
FROM (
SELECT
  p.account_id, p.report_date, max(p.report_date) FILTER (WHERE p.is_covered) OVER (PARTITION BY p.account_id) AS last_date, p.delivery_status, p.campaign_id, p.campaign_name, p.status, p.daily_spend_limit,
  p.is_assumed, p.settings_changed, p.coverage_state,
  p.last_read_at AS as_of_at, p.day_elapsed, p.spend, p.utilization, p.projected_spend,
  p.projected_spend / nullif(p.daily_spend_limit, 0)::DOUBLE AS projected_utilization,
  CASE
    WHEN NOT p.is_covered THEN 'unknown'
    WHEN p.daily_spend_limit IS NULL AND coalesce(p.settings_read_state = 'ok', false) THEN 'no_limit'
    WHEN p.daily_spend_limit IS NULL THEN 'unknown'
    WHEN p.spend > p.daily_spend_limit THEN 'over'
    WHEN p.spend::DOUBLE >= p.limited * p.daily_spend_limit::DOUBLE THEN 'limited'
    WHEN p.is_deleted OR coalesce(p.status <> 'active', false) THEN 'stopped'
    WHEN p.projected_spend IS NULL THEN 'too_early'
    WHEN p.projected_spend >= p.limited * p.daily_spend_limit::DOUBLE THEN 'limited'
    WHEN p.projected_spend >= p.under * p.daily_spend_limit::DOUBLE THEN 'on_pace'
    ELSE 'under'
  END AS pacing_state
FROM paced AS p
) AS j
LEFT JOIN mart.campaign_performance AS k ON k.account_id = j.account_id AND k.campaign_id = j.campaign_id
