-- Every Chicago day that the warehouse knows: MetricFlow's time spine.
SELECT DISTINCT report_date AS date_day FROM {{ source('spendsync', 'calendar') }}
