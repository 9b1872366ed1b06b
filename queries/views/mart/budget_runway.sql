-- How long will each account's money last, down to the balance at which the service pauses everything?
-- Trap: it runs to the stop balance, not to 0 as the service's own days_left does; a pace is the past's, and a raised limit or bid is not in it.
-- Column balance: US dollars available when it was last seen to differ. NULL: not told.
-- Column balance_seen_at: When this balance was first seen; it held at every look since.
-- Column balance_stop: US dollars at which the service pauses the campaigns (threshold of that name).
-- Column is_below_warning: Whether the balance is below threshold balance_warning, where the service warns.
-- Column window_from: First day of the recent days (threshold recent_days) that the pace is of.
-- Column mean_daily_spend: US dollars a day over the whole days of the window. NULL: none is known.
-- Column days_until_stop: Days from balance_seen_at until the stop balance at that pace; 0: it is reached. NULL: never at this pace, or not known.
-- Column stops_at: When that will be. NULL: never, not known, or in more than ten years.
-- Column campaigns_active: Campaigns that are active now.
-- Column campaigns_without_limit: Active campaigns without a daily limit, or whose limit was never readable.
-- Column full_limits_spend: US dollars a day if all active campaigns that have a limit reach it.
-- Column days_at_full_limits: Days from balance_seen_at until the stop balance if they do. NULL: nothing is active, or a campaign without a limit makes it unknowable.
-- Column api_average_daily_spend: US dollars a day over the last 7 days, as the service has it.
-- Column api_days_left: Days until the balance is 0, as the service has it.
WITH level AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'recent_days') AS days,
    max(t.value) FILTER (WHERE t.name = 'balance_stop')::DECIMAL(18,6) AS stop,
    max(t.value) FILTER (WHERE t.name = 'balance_warning')::DECIMAL(18,6) AS warning
  FROM mart.threshold AS t
),
funds AS (
  SELECT a.*
  FROM main.account_snapshot AS a
  QUALIFY row_number() OVER (PARTITION BY a.account_id ORDER BY a.seen_at DESC) = 1
),
whole AS (
  SELECT c.account_id, c.report_date, max(c.report_date) OVER (PARTITION BY c.account_id) AS window_to
  FROM ops.day_coverage AS c
  WHERE c.state IN ('complete', 'final')
),
known AS (
  SELECT w.account_id, w.report_date, w.window_to, w.window_to - (l.days::INTEGER - 1) AS window_from
  FROM whole AS w
  CROSS JOIN level AS l
  WHERE w.report_date > w.window_to - l.days::INTEGER
),
span AS (
  SELECT k.account_id, k.window_from, k.window_to, count(*) AS days_known
  FROM known AS k
  GROUP BY k.account_id, k.window_from, k.window_to
),
spent AS (
  SELECT s.account_id, sum(s.spend) AS spend
  FROM mart.campaign_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  WHERE s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY s.account_id
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
    CASE WHEN p.days_known > 0 THEN coalesce(s.spend, 0)::DOUBLE / p.days_known END AS mean_daily_spend,
    coalesce(m.campaigns, 0) AS campaigns, coalesce(m.without_limit, 0) AS without_limit, coalesce(m.full_spend, 0) AS full_spend,
    greatest(f.balance - l.stop, 0)::DOUBLE AS spendable
  FROM funds AS f
  CROSS JOIN level AS l
  LEFT JOIN span AS p ON p.account_id = f.account_id
  LEFT JOIN spent AS s ON s.account_id = f.account_id
  LEFT JOIN limits AS m ON m.account_id = f.account_id
),
run AS (
  SELECT
    p.*,
    CASE
      WHEN p.balance <= p.stop THEN 0
      WHEN p.balance IS NOT NULL THEN p.spendable / nullif(p.mean_daily_spend, 0)
    END AS days_until_stop
  FROM paced AS p
)
SELECT
  r.account_id, r.balance, r.seen_at AS balance_seen_at, r.payment_mode, r.balance_status,
  r.stop AS balance_stop, r.balance < r.warning AS is_below_warning,
  r.window_from, r.window_to, coalesce(r.days_known, 0) AS days_known, r.mean_daily_spend, r.days_until_stop,
  CASE WHEN r.days_until_stop <= 3650 THEN to_timestamp(epoch(r.seen_at) + r.days_until_stop * 86400) END AS stops_at,
  r.campaigns AS campaigns_active, r.without_limit AS campaigns_without_limit, r.full_spend AS full_limits_spend,
  CASE
    WHEN r.balance <= r.stop THEN 0
    WHEN r.balance IS NOT NULL AND r.without_limit = 0 THEN r.spendable / nullif(r.full_spend, 0)::DOUBLE
  END AS days_at_full_limits,
  r.average_daily_spend AS api_average_daily_spend, r.days_left AS api_days_left
FROM run AS r
