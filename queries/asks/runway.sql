-- How long will the money last?
-- Trap: it runs to the balance at which the service pauses everything, not to 0; the pace is that of the campaigns that are active now, on days with funds and within their limits; a raised bid is not in it.
-- Shown: verdict, action, balance, days_until_stop, stops_at, expected_daily_spend, full_limits_spend, days_at_full_limits
SELECT
  r.account_id, r.verdict, r.reason, r.at_stake::DECIMAL(18,2) AS at_stake, r.action, r.balance, r.balance_seen_at, r.balance_stop, r.is_below_warning,
  r.days_known, r.mean_daily_spend::DECIMAL(18,2) AS mean_daily_spend,
  r.days_until_stop::DECIMAL(18,1) AS days_until_stop, r.stops_at,
  r.campaigns_active, r.campaigns_without_limit, r.full_limits_spend, r.days_at_full_limits::DECIMAL(18,1) AS days_at_full_limits,
  r.balance_last_seen_at, r.is_auto_funded, r.days_funded, r.expected_daily_spend::DECIMAL(18,2) AS expected_daily_spend
FROM mart.budget_runway AS r
ORDER BY r.days_until_stop NULLS LAST, r.account_id
