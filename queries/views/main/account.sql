-- How much money does each account have now?
-- Trap: the service refreshes its balance every 10 minutes; seen_at is when this value was first seen.
-- Column seen_at: When these values were first seen.
-- Column message: What to do, in the service's words.
-- Column unread_fields: Columns that the last sync could not read, sorted, comma-joined: the values shown are those last read; everything: it was not read. NULL: all is as it was read.
-- Column unread_since: What is shown was read at or after this instant, where unread_fields says that it could not be confirmed since. NULL: all is confirmed, or nothing was ever read.
SELECT
  a.account_id, a.seen_at, a.balance, a.payment_mode, a.average_daily_spend, a.days_left, a.balance_status, a.message,
  a.auto_funding, a.auto_funding_threshold, a.auto_funding_amount, u.unread_fields, u.unread_since
FROM main.account_snapshot AS a
LEFT JOIN mart.unconfirmed_settings AS u ON u.account_id = a.account_id AND u.entity_type = 'balance'
QUALIFY row_number() OVER (PARTITION BY a.account_id ORDER BY a.seen_at DESC) = 1
