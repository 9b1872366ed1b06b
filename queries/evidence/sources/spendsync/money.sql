SELECT account_id, balance::DOUBLE AS balance, balance_last_seen_at::TIMESTAMP AS seen_at, balance_status, days_until_stop,
       stops_at::TIMESTAMP AS stops_at, mean_daily_spend, action
FROM mart.budget_runway
