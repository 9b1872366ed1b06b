-- How long will each account's money last, down to the balance at which the service pauses everything?
-- Trap: it runs to the stop balance, not to 0 as the service's own days_left does; the pace is that of the campaigns that are active now, on days that had funds, within their limits of now; a raised bid is not in it. An account that tops itself up in time does not run out (is_auto_funded); see next_charge_at for when it is due.
-- Column balance: US dollars available when it was last seen to differ. NULL: not reported.
-- Column balance_seen_at: When this balance was first seen; every read since has confirmed it.
-- Column balance_stop: US dollars at which the service pauses the campaigns (threshold of that name).
-- Column is_below_warning: Whether the balance is below $99, where the service warns.
-- Column window_from: First day of the recent days (threshold recent_days) that the pace is of.
-- Column mean_daily_spend: US dollars a day of the whole account over the window's whole days that had funds. NULL: none is known.
-- Column days_until_stop: Days from balance_last_seen_at until the stop balance at expected_daily_spend; 0: it is reached. NULL: never at this pace, not known, or the account tops itself up before.
-- Column stops_at: When that will be. NULL: never, not known, or in more than ten years.
-- Column campaigns_active: Campaigns that are active now.
-- Column campaigns_without_limit: Active campaigns without a daily limit, or whose limit was never readable.
-- Column full_limits_spend: US dollars a day if all active campaigns that have a limit reach it.
-- Column days_at_full_limits: Days from balance_last_seen_at until the stop balance if they do. NULL: nothing is active, a campaign without a limit makes it unknown, or the account tops itself up.
-- Column api_average_daily_spend: US dollars a day over the last 7 days, as the service has it.
-- Column api_days_left: Days until the balance is 0, as the service has it.
-- Column balance_last_seen_at: When the balance was last read and still this one. The days are counted from here.
-- Column is_auto_funded: Whether the service charges the card by itself when little is left: automatic funding is on, as last read. NULL: the reply did not say.
-- Column days_funded: Whole days of the window that had funds: on none of them was the balance at or below the stop balance, or a campaign waiting for funds.
-- Column expected_daily_spend: US dollars a day of the campaigns that are active now: what each spent a day since it was last activated, on days with funds, and no more than its daily limit. NULL: no such day is known.
-- Column auto_funding_threshold: US dollars of balance below which the card is charged. NULL: not known, or the account is not funded so.
-- Column auto_funding_amount: US dollars of one charge. NULL: not known, or the account is not funded so.
-- Column days_until_charge: Days from balance_last_seen_at until the balance is at the threshold at expected_daily_spend; 0: it is. NULL: never at this pace, or not known. A service may charge at other times, too.
-- Column next_charge_at: When that will be. NULL: never, not known, or in more than ten years.
-- Column days_per_charge: Days that one charge lasts at expected_daily_spend. NULL: for ever, or not known.
-- Column verdict: stopped: the balance is at the stop; stops_soon: within a week at this pace; low: below the warning, or within three weeks; lasts; funded: the service charges the card in time; unknown.
-- Column reason: How long it lasts, in a sentence.
-- Column at_stake: US dollars a day of expected profit of the active campaigns that would stop. NULL: the money lasts, it is gone already (verdict stopped), or nobody said what a conversion is worth.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'recent_days') AS days,
    max(t.value) FILTER (WHERE t.name = 'balance_stop')::DECIMAL(18,6) AS stop,
    -- balance_warning: Below this balance the service warns.
    (99::DOUBLE /* balance_warning */)::DECIMAL(18,6) AS warning
  FROM int.threshold AS t
),
funds AS (
  SELECT a.*
  FROM main.account_snapshot AS a
  QUALIFY row_number() OVER (PARTITION BY a.account_id ORDER BY a.seen_at DESC) = 1
),
known AS (
  SELECT c.account_id, c.report_date, max(c.report_date) OVER of_account AS window_to, max(c.report_date) OVER of_account - (l.days::INTEGER - 1) AS window_from
  FROM int.whole_day AS c
  CROSS JOIN level AS l
  WINDOW of_account AS (PARTITION BY c.account_id)
  QUALIFY c.report_date >= window_from
),
span AS (
  SELECT k.account_id, k.window_from, k.window_to, count(*) AS days_known
  FROM known AS k
  GROUP BY k.account_id, k.window_from, k.window_to
),
-- Periods in which nothing could be spent because the account had no money.
short AS (
  SELECT b.account_id, b.seen_at AS from_at, b.until_at
  FROM (
    SELECT a.account_id, a.seen_at, a.balance, lead(a.seen_at, 1, TIMESTAMPTZ '9999-12-31 00:00:00+00') OVER (PARTITION BY a.account_id ORDER BY a.seen_at) AS until_at
    FROM main.account_snapshot AS a
  ) AS b
  WHERE b.balance <= (SELECT l.stop FROM level AS l)
  UNION ALL
  SELECT h.account_id, h.valid_from AS from_at, h.valid_to AS until_at
  FROM main.campaign_delivery_history AS h
  WHERE h.delivery_status = 'waiting_for_funds' AND NOT h.is_deleted
),
funded AS (
  SELECT k.account_id, k.report_date, c.starts_at
  FROM known AS k
  JOIN main.calendar AS c ON c.account_id = k.account_id AND c.report_date = k.report_date
  -- Joins instead of NOT EXISTS: DuckDB 1.4 fails on a reader's subquery over a view that contains one.
  LEFT JOIN short AS s ON s.account_id = k.account_id AND s.from_at < c.ends_at AND s.until_at > c.starts_at
  WHERE s.account_id IS NULL
),
spent AS (
  SELECT f.account_id, count(DISTINCT f.report_date) AS days_funded, coalesce(sum(s.spend), 0) AS spend
  FROM funded AS f
  LEFT JOIN int.campaign_spend AS s ON s.account_id = f.account_id AND s.report_date = f.report_date
  GROUP BY f.account_id
),
-- Since when each active campaign has been active.
run_of AS (
  SELECT
    h.account_id, h.campaign_id, h.is_current, h.is_deleted, h.status, h.daily_spend_limit, h.valid_from, h.version_no,
    count(*) FILTER (WHERE h.status IS DISTINCT FROM 'active' OR h.is_deleted)
      OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.version_no DESC) AS stops_after
  FROM main.campaign_history AS h
),
active AS (
  SELECT
    r.account_id, r.campaign_id, max(r.daily_spend_limit) FILTER (WHERE r.is_current) AS daily_spend_limit,
    min(CASE WHEN r.version_no = 1 THEN to_timestamp(0) ELSE r.valid_from END) AS active_since
  FROM run_of AS r
  WHERE r.stops_after = 0
  GROUP BY r.account_id, r.campaign_id
),
campaign_pace AS (
  SELECT
    a.account_id, a.campaign_id, a.daily_spend_limit,
    -- A campaign activated just now has no full day yet: take the days on which it spent before.
    coalesce(
      sum(coalesce(s.spend, 0)) FILTER (WHERE f.starts_at >= a.active_since)::DOUBLE / nullif(count(*) FILTER (WHERE f.starts_at >= a.active_since), 0),
      avg(s.spend) FILTER (WHERE s.spend > 0), 0) AS pace
  FROM active AS a
  JOIN funded AS f ON f.account_id = a.account_id
  LEFT JOIN int.campaign_spend AS s ON s.account_id = a.account_id AND s.campaign_id = a.campaign_id AND s.report_date = f.report_date
    AND s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY a.account_id, a.campaign_id, a.daily_spend_limit
),
expected AS (
  SELECT c.account_id, sum(greatest(0, least(c.pace, coalesce(c.daily_spend_limit::DOUBLE, c.pace)))) AS expected_daily_spend
  FROM campaign_pace AS c
  GROUP BY c.account_id
),
looked AS (
  SELECT r.account_id, max(r.started_at) AS looked_at
  FROM ops.run AS r
  LEFT JOIN ops.entity_read AS e
    ON e.account_id = r.account_id AND e.entity_type = 'account' AND e.entity_id = 'balance' AND r.started_at <= e.last_seen_at AND r.finished_at >= e.first_seen_at
  WHERE r.command = 'sync' AND r.published AND r.campaigns_read > 0 AND e.account_id IS NULL
  GROUP BY r.account_id
),
limits AS (
  SELECT
    c.account_id, count(*) AS campaigns, count(*) FILTER (WHERE c.daily_spend_limit IS NULL) AS without_limit,
    sum(c.daily_spend_limit)::DECIMAL(18,6) AS full_spend
  FROM main.campaign_history AS c
  WHERE c.is_current AND NOT c.is_deleted AND c.status = 'active'
  GROUP BY c.account_id
),
paced AS (
  SELECT
    f.account_id, f.balance, f.seen_at, f.payment_mode, f.balance_status, f.average_daily_spend, f.days_left,
    l.stop, l.warning, p.window_from, p.window_to, p.days_known,
    coalesce(s.days_funded, 0) AS days_funded, s.spend::DOUBLE / s.days_funded AS mean_daily_spend,
    CASE WHEN s.days_funded > 0 THEN coalesce(e.expected_daily_spend, 0) END AS expected_daily_spend,
    greatest(f.seen_at, o.looked_at) AS last_seen_at,
    -- The value that was read. If no value was read: whether the JSON has a member that is true and whose name
    -- resembles auto-funding.
    CASE
      WHEN f.auto_funding IS NOT NULL THEN f.auto_funding
      WHEN regexp_matches(f.raw, '(?i)"auto[_-]?(fund|recharge|top|reload|refill)[a-z_-]*"\s*:\s*(true|\{[^{}]*"(is_)?(enabled|active|on)"\s*:\s*true)') THEN true
      WHEN regexp_matches(f.raw, '(?i)"auto[_-]?(fund|recharge|top|reload|refill)') OR f.payment_mode NOT ILIKE '%card%' THEN false
    END AS is_auto_funded,
    CASE WHEN f.auto_funding THEN f.auto_funding_threshold END AS charge_below, CASE WHEN f.auto_funding THEN f.auto_funding_amount END AS charge,
    coalesce(m.campaigns, 0) AS campaigns, coalesce(m.without_limit, 0) AS without_limit, coalesce(m.full_spend, 0) AS full_spend,
    greatest(f.balance - l.stop, 0)::DOUBLE AS spendable
  FROM funds AS f
  CROSS JOIN level AS l
  LEFT JOIN span AS p ON p.account_id = f.account_id
  LEFT JOIN spent AS s ON s.account_id = f.account_id
  LEFT JOIN limits AS m ON m.account_id = f.account_id
  LEFT JOIN expected AS e ON e.account_id = f.account_id
  LEFT JOIN looked AS o ON o.account_id = f.account_id
),
run AS (
  SELECT
    p.*,
    -- If the card is charged only at the stop balance or below, campaigns pause before that.
    coalesce(p.is_auto_funded AND coalesce(p.charge_below > p.stop, true), false) AS is_charged_in_time,
    CASE WHEN p.charge_below IS NOT NULL AND p.balance IS NOT NULL THEN
      CASE WHEN p.balance <= p.charge_below THEN 0 ELSE (p.balance - p.charge_below)::DOUBLE / nullif(p.expected_daily_spend, 0) END
    END AS days_until_charge,
    CASE
      WHEN p.balance <= p.stop THEN 0
      WHEN p.is_auto_funded AND coalesce(p.charge_below > p.stop, true) THEN NULL
      WHEN p.balance IS NOT NULL THEN p.spendable / nullif(p.expected_daily_spend, 0)
    END AS days_until_stop
  FROM paced AS p
),
stated AS (
  SELECT
    r.account_id, r.balance, r.seen_at AS balance_seen_at, r.payment_mode, r.balance_status,
    r.stop AS balance_stop, r.balance < r.warning AS is_below_warning,
    r.window_from, r.window_to, coalesce(r.days_known, 0) AS days_known, r.mean_daily_spend, r.days_until_stop,
    CASE WHEN r.days_until_stop <= 3650 THEN to_timestamp(epoch(r.last_seen_at) + r.days_until_stop * 86400) END AS stops_at,
    r.campaigns AS campaigns_active, r.without_limit AS campaigns_without_limit, r.full_spend AS full_limits_spend,
    CASE
      WHEN r.balance <= r.stop THEN 0
      WHEN r.is_charged_in_time THEN NULL
      WHEN r.balance IS NOT NULL AND r.without_limit = 0 THEN r.spendable / nullif(r.full_spend, 0)::DOUBLE
    END AS days_at_full_limits,
    r.average_daily_spend AS api_average_daily_spend, r.days_left AS api_days_left,
    r.last_seen_at AS balance_last_seen_at, r.is_auto_funded, r.days_funded, r.expected_daily_spend,
    CASE
      WHEN r.balance IS NULL THEN 'see why the balance could not be read: ops.entity_read'
      WHEN r.balance <= r.stop AND r.is_auto_funded THEN 'see why the card was not charged: the balance is at the stop though funding is automatic'
      WHEN r.balance <= r.stop THEN 'add money now: the service has paused the campaigns'
      WHEN r.is_auto_funded AND NOT r.is_charged_in_time THEN 'raise the threshold of automatic funding above balance_stop: the service pauses the campaigns before it charges the card'
      WHEN r.is_auto_funded AND r.balance < r.charge_below THEN 'see whether the card was charged: the balance is below the threshold of automatic funding'
      WHEN r.is_auto_funded OR r.campaigns = 0 THEN NULL
      WHEN r.days_until_stop < (SELECT t.value FROM int.threshold AS t WHERE t.name = 'urgent_days') THEN 'add money now'
      WHEN r.balance < r.warning THEN 'add money: the service warns below this balance'
    END AS action,
    r.charge_below AS auto_funding_threshold, r.charge AS auto_funding_amount, r.days_until_charge,
    CASE WHEN r.days_until_charge <= 3650 THEN to_timestamp(epoch(r.last_seen_at) + r.days_until_charge * 86400) END AS next_charge_at,
    r.charge::DOUBLE / nullif(r.expected_daily_spend, 0) AS days_per_charge
  FROM run AS r
),
profit AS (
  SELECT p.account_id, sum(-p.excess_spend::DOUBLE / nullif(p.days_known, 0)) AS a_day
  FROM mart.campaign_performance AS p
  WHERE p.campaign_status = 'active'
  GROUP BY p.account_id
),
verdicts AS (
  SELECT
    s.*,
    CASE
      WHEN s.balance IS NULL THEN 'unknown'
      WHEN s.balance <= s.balance_stop THEN 'stopped'
      WHEN s.is_auto_funded THEN 'funded'
      WHEN s.days_until_stop < 7 THEN 'stops_soon'
      WHEN s.is_below_warning OR s.days_until_stop < 21 THEN 'low'
      ELSE 'lasts'
    END AS verdict
  FROM stated AS s
)
SELECT
  v.* EXCLUDE (action),
  CASE v.verdict
    WHEN 'unknown' THEN 'the balance could not be read'
    WHEN 'stopped' THEN format('the balance of ${:,.2f} is at the level where the service pauses the campaigns', v.balance::DOUBLE)
    WHEN 'funded' THEN format('the balance is ${:,.2f}, and the service charges the card by itself', v.balance::DOUBLE)
    ELSE format('the balance is ${:,.2f}', v.balance::DOUBLE) || CASE WHEN v.days_until_stop IS NULL THEN ', and nothing is spent'
      ELSE coalesce(', which lasts to ' || strftime(v.stops_at AT TIME ZONE 'America/Chicago', '%Y-%m-%d'), ', which lasts more than ten years') || format(' at ${:,.2f} a day', v.expected_daily_spend) END
  END AS reason,
  CASE WHEN v.verdict IN ('stops_soon', 'low') AND p.a_day > 0 THEN p.a_day END AS at_stake,
  CASE
    WHEN v.action IS NOT NULL THEN v.action
    WHEN v.verdict IN ('stops_soon', 'low') AND v.days_until_stop IS NOT NULL THEN 'add money by ' || strftime(v.stops_at AT TIME ZONE 'America/Chicago', '%Y-%m-%d')
  END AS action
FROM verdicts AS v
LEFT JOIN profit AS p ON p.account_id = v.account_id
