-- The campaigns whose conversions stopped and have not come back: nothing is concluded from their days.
stopped AS (
  SELECT DISTINCT b.account_id, b.campaign_id
  FROM mart.break_day AS b
  WHERE NOT b.is_over AND b.kind = 'conversions_stopped'
),
