-- How did each campaign's spend stand against its daily limit, and where will an unfinished day end?
-- Trap: a day is Chicago's; where the service starts limits over at another hour, a day may hold more than its limit. The limit is that at the end of the day, though another may have held before (settings_changed); an unfinished day is projected by the account's own curve of the day, which takes a week of hourly syncs; without it, or where its spread leaves the end open, the state is too_early.
-- Shown: report_date, campaign_name, spend, daily_spend_limit, utilization, pacing_state, verdict, projected_spend, projected_low, projected_high, campaign_id, action
-- Column report_date: Chicago day.
-- Column campaign_name: Name at the end of the day; where it was never readable, the report's name on that day.
-- Column status: Status at the end of the day. A deleted campaign keeps its last one.
-- Column daily_spend_limit: US dollars per day at the end of the day. NULL: no limit, or never readable.
-- Column is_assumed: Whether the limit was first seen after the day, and so is only assumed to have held then. NULL: never seen.
-- Column as_of_at: When the day's numbers were last read. NULL: never.
-- Column day_elapsed: Share of the day, 0 to 1, that had passed when its numbers were last read; 1 when it was over. NULL: never read.
-- Column spend: US dollars, as of as_of_at. NULL: the day is not covered.
-- Column utilization: Spend divided by the limit; 1 is all of it. NULL: no limit or no spend known.
-- Column pace_basis: What the projection follows. day_over: the day's own spend; curve: the account's curve of the day; no_curve: it has none yet (7 days), so that nothing is projected; too_early: before a quarter of the day has passed. NULL: never read.
-- Column projected_spend: US dollars at the end of the day if it goes on as the account's days do, the limit left aside; on a day that was over when read, its spend. NULL: not covered, no curve, or too early to say (pace_basis).
-- Column projected_low: The same if this is a day that spends early, as one of twenty does, and with luck in its clicks so far (bound_z): less is unlikely. NULL: no clicks, or unknown.
-- Column projected_high: The same if this is a day that spends late, as one of twenty does, and without luck in its clicks: more is unlikely. NULL: no clicks, or unknown.
-- Column projected_utilization: Projected spend divided by the limit. Above 1 the limit will hold the day back.
-- Column pacing_state: over: spent more than the limit; limited: held back by it, or will be (95 %); on_pace; under (75 %); stopped: the day ended, or stands, with the campaign not active, below the limit; too_early: nothing projected, or its bounds (projected_low, projected_high) fall into different states; no_limit; unknown: the day is not covered or the limit was never readable.
-- Column delivery_status: Why the campaign delivered or did not at the end of the day, in the service's words. NULL: not known.
-- Column campaign_verdict: Whether the campaign pays, as in mart.campaign_performance: a limit is worth raising only where it does. NULL: nothing spent in the window.
-- Column action: What to do, on the last day that was read; NULL on others. Nothing that costs money is advised without the campaign's CPA, nor a bid to a campaign whose delivery_status does not say that it delivers.
-- Column verdict: Of the newest day of a campaign that may deliver: no_money, no_creatives; held_back: it pays and its limit stops it; limited_and_loses, limited_and_unclear: at its limit, and not known to pay; has_room: it pays and spends less than it may; under, on_pace; broken_tracking; no_curve, unread: not known yet. NULL: nothing is to be said.
WITH level AS (
  SELECT
    -- pacing_under: A day that ends below this share of its limit is under-pacing.
    (0.75::DOUBLE /* pacing_under */) AS under,
    -- pacing_limited: A day that ends at or above this share of its limit was held back by it.
    (0.95::DOUBLE /* pacing_limited */) AS limited,
    max(t.value) FILTER (WHERE t.name = 'bound_z') AS bound_z,
    -- pacing_min_elapsed: Before this share of a day has passed, its spend says nothing about how it will end.
    (0.25::DOUBLE /* pacing_min_elapsed */) AS min_elapsed
  FROM int.threshold AS t
),
-- The shares at the end of an hour and of the next one; between them, interpolate.
curve AS (
  SELECT
    d.account_id, d.hour + 1 AS clock_from, d.share, d.share_low, d.share_high,
    coalesce(d.next.share, 1) AS next_share, coalesce(d.next.share_low, 1) AS next_low, coalesce(d.next.share_high, 1) AS next_high
  FROM (
    SELECT c.*, lead(c) OVER (PARTITION BY c.account_id ORDER BY c.hour) AS next FROM int.day_curve AS c
  ) AS d
  WHERE d.is_enough AND (d.hour = 23 OR (d.next.hour = d.hour + 1 AND d.next.is_enough)) AND d.share > 0
),
-- The time of the day's last read in hours of the clock: counted from the start of the day or, after the clocks change
-- at 2 a.m., back from its end.
clocked AS (
  SELECT
    d.*,
    CASE
      WHEN epoch(d.as_of_at) - epoch(d.starts_at) <= 7200 THEN (epoch(d.as_of_at) - epoch(d.starts_at)) / 3600
      ELSE 24 - (epoch(d.ends_at) - epoch(d.as_of_at)) / 3600
    END AS clock
  FROM int.paced_day AS d
),
paced AS (
  SELECT
    c.*, l.under, l.limited, l.bound_z,
    v.share + (c.clock - v.clock_from) * (v.next_share - v.share) AS share,
    v.share_low + (c.clock - v.clock_from) * (v.next_low - v.share_low) AS share_low,
    v.share_high + (c.clock - v.clock_from) * (v.next_high - v.share_high) AS share_high,
    CASE
      WHEN c.as_of_at IS NULL THEN NULL
      WHEN c.is_over THEN 'day_over'
      WHEN c.day_elapsed < l.min_elapsed THEN 'too_early'
      WHEN v.share IS NULL THEN 'no_curve'
      ELSE 'curve'
    END AS pace_basis
  FROM clocked AS c
  CROSS JOIN level AS l
  LEFT JOIN curve AS v ON v.account_id = c.account_id AND v.clock_from = CASE WHEN NOT c.is_over THEN floor(c.clock) END
),
projected AS (
  SELECT
    p.*,
    CASE p.pace_basis WHEN 'day_over' THEN p.spend::DOUBLE WHEN 'curve' THEN nullif(p.spend, 0)::DOUBLE / nullif(p.share, 0) END AS projected_spend,
    CASE p.pace_basis WHEN 'day_over' THEN p.spend::DOUBLE WHEN 'curve' THEN p.spend::DOUBLE / nullif(p.share_high, 0) * greatest(0, 1 - p.bound_z / safe_sqrt(nullif(p.clicks, 0))) END AS projected_low,
    CASE p.pace_basis WHEN 'day_over' THEN p.spend::DOUBLE WHEN 'curve' THEN p.spend::DOUBLE / nullif(p.share_low, 0) * (1 + p.bound_z / safe_sqrt(nullif(p.clicks, 0))) END AS projected_high
  FROM paced AS p
),
judged AS (
  SELECT
    j.account_id, j.report_date, j.campaign_id, j.campaign_name, j.status, j.daily_spend_limit, j.is_assumed, j.settings_changed, j.coverage_state,
    j.as_of_at, j.day_elapsed, j.spend, j.utilization, j.pace_basis, j.projected_spend, j.projected_low, j.projected_high, j.projected_utilization, j.pacing_state,
    j.delivery_status, k.verdict AS campaign_verdict,
    CASE
      WHEN j.report_date < j.last_date OR j.delivery_status IN ('scheduled', 'paused', 'archived', 'rejected') THEN NULL
      WHEN j.delivery_status = 'waiting_for_funds' THEN 'no_money'
      WHEN j.delivery_status IN ('waiting_for_creatives', 'all_creatives_rejected') THEN 'no_creatives'
      WHEN j.pace_basis = 'no_curve' AND j.pacing_state = 'too_early' THEN 'no_curve'
      WHEN j.pacing_state IN ('unknown', 'too_early', 'no_limit', 'stopped') THEN NULL
      WHEN k.verdict = 'broken_tracking' THEN 'broken_tracking'
      WHEN j.pacing_state IN ('over', 'limited') AND k.verdict = 'loses' THEN 'limited_and_loses'
      WHEN j.pacing_state IN ('over', 'limited') AND k.verdict IS DISTINCT FROM 'pays' THEN 'limited_and_unclear'
      -- The spend so far proves that the campaign delivers; a projection does not.
      WHEN j.is_held_back THEN 'held_back'
      WHEN j.pacing_state IN ('limited', 'under') AND k.verdict = 'pays' AND j.delivery_status IS NULL THEN 'unread'
      WHEN j.pacing_state = 'limited' THEN 'held_back'
      WHEN j.pacing_state = 'under' AND k.verdict = 'pays' AND j.delivery_status <> 'daily_limit_reached' THEN 'has_room'
      WHEN j.pacing_state = 'under' THEN 'under'
      ELSE 'on_pace'
    END AS verdict
  FROM (
  SELECT
    p.account_id, p.report_date, max(p.report_date) FILTER (WHERE p.is_covered) OVER (PARTITION BY p.account_id) AS last_date, p.delivery_status, p.campaign_id, p.campaign_name, p.status, p.daily_spend_limit,
    p.is_assumed, p.settings_changed, p.coverage_state,
    p.as_of_at, p.day_elapsed, p.spend, p.utilization, p.pace_basis, p.projected_spend, p.projected_low, p.projected_high,
    p.projected_spend / nullif(p.daily_spend_limit, 0)::DOUBLE AS projected_utilization,
    coalesce(p.spend::DOUBLE >= p.limited * p.daily_spend_limit::DOUBLE, false) AS is_held_back,
    CASE
      WHEN NOT p.is_covered THEN 'unknown'
      WHEN p.daily_spend_limit IS NULL AND coalesce(p.settings_read_state = 'ok', false) THEN 'no_limit'
      WHEN p.daily_spend_limit IS NULL THEN 'unknown'
      WHEN p.spend > p.daily_spend_limit THEN 'over'
      WHEN p.spend::DOUBLE >= p.limited * p.daily_spend_limit::DOUBLE THEN 'limited'
      WHEN p.is_deleted OR coalesce(p.status <> 'active', false) THEN 'stopped'
      WHEN p.projected_low >= p.limited * p.daily_spend_limit::DOUBLE THEN 'limited'
      WHEN p.projected_high < p.under * p.daily_spend_limit::DOUBLE THEN 'under'
      WHEN p.projected_low >= p.under * p.daily_spend_limit::DOUBLE AND p.projected_high < p.limited * p.daily_spend_limit::DOUBLE THEN 'on_pace'
      ELSE 'too_early'
    END AS pacing_state
  FROM projected AS p
  ) AS j
  LEFT JOIN mart.campaign_performance AS k ON k.account_id = j.account_id AND k.campaign_id = j.campaign_id
)
SELECT
  j.*,
  CASE j.verdict
    WHEN 'no_money' THEN 'add money: nothing else makes it deliver'
    WHEN 'no_creatives' THEN 'look at its creatives: none of them can be shown'
    WHEN 'no_curve' THEN 'nothing yet: how the account spends over a day is known after a week of hourly syncs'
    WHEN 'broken_tracking' THEN 'see where its conversions went first: mart.breaks'
    WHEN 'limited_and_loses' THEN 'leave the limit: it pays more per conversion than its target'
    WHEN 'limited_and_unclear' THEN 'leave the limit until it is clear whether it pays'
    WHEN 'held_back' THEN 'a higher limit would buy more of what pays'
    WHEN 'unread' THEN 'nothing yet: it pays, but whether it delivers could not be read'
    WHEN 'has_room' THEN 'it pays and has room: a higher bid or a wider audience would use it'
    WHEN 'under' THEN 'nothing: it spends less than it may'
    WHEN 'on_pace' THEN 'nothing'
  END AS action
FROM judged AS j
