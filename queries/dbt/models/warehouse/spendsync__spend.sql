-- The view main.spend: the days that were over, with names, the day's settings and the conversions still to come.
SELECT * FROM {{ source('spendsync', 'spend') }}
