-- How much money does each account have now?
-- Trap: the service refreshes its balance every 10 minutes; seen_at is when this value was first seen.
-- Column seen_at: When these values were first seen.
-- Column message: What to do, in the service's words.
SELECT
  a.account_id, a.seen_at, a.balance, a.payment_mode, a.average_daily_spend, a.days_left, a.balance_status, a.message,
  a.auto_funding, a.auto_funding_threshold, a.auto_funding_amount, u.unread_fields, u.unread_since
FROM main.account_snapshot AS a
LEFT JOIN int.unconfirmed_settings AS u ON u.account_id = a.account_id AND u.entity_type = 'balance'
QUALIFY row_number() OVER (PARTITION BY a.account_id ORDER BY a.seen_at DESC) = 1
