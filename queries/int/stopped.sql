-- Which campaigns' conversions stopped and have not come back?
-- Trap: nothing is concluded from their days.
SELECT DISTINCT b.account_id, b.campaign_id
FROM int.break_day AS b
WHERE NOT b.is_over AND b.kind = 'conversions_stopped'
