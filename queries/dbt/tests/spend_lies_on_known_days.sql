{{ config(enabled = env_var('DBT_SPENDSYNC_READ', 'warehouse') != 'parquet') }}
-- Every row of spend is of a day that was read. The spend of other days is unknown.
SELECT s.account_id, s.report_date, c.state
FROM {{ source('spendsync', 'spend_daily') }} AS s
LEFT JOIN {{ source('spendsync_ops', 'day_coverage') }} AS c ON c.account_id = s.account_id AND c.report_date = s.report_date
WHERE c.state IS NULL OR c.state IN ('missing', 'lost')
