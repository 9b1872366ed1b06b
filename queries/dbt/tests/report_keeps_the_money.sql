-- The sums of the report equal the sums of the table, to the last digit.
SELECT *
FROM (SELECT sum(spend) AS spend, sum(clicks) AS clicks FROM {{ ref('spendsync__ad_report') }}) AS report
JOIN (SELECT sum(spend) AS spend, sum(clicks) AS clicks FROM {{ source('spendsync', 'spend_daily') }}) AS stored
  ON report.spend IS DISTINCT FROM stored.spend OR report.clicks IS DISTINCT FROM stored.clicks
