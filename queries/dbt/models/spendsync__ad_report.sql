-- What did each creative bring on each day, under the column names of Fivetran's dbt_ad_reporting (ad_reporting__ad_report)?
-- Trap: the columns and their order are that package's, so that the rows union with those of other platforms; today is not over, and days that are not covered have no rows. It answers about all history: without a condition on date_day it reads every row of spend_daily.
-- Column source_relation: Empty, as in that package where a platform has one source.
-- Column date_day: Chicago calendar day.
-- Column platform: Always push_ads.
-- Column account_name: NULL: the warehouse keeps no name of an account.
-- Column ad_group_id: NULL: the service has no level between campaign and creative.
-- Column ad_group_name: NULL: the service has no level between campaign and creative.
-- Column ad_id: Creative ID, as the service gives it; empty for spend without one.
-- Column ad_name: Title of the creative now. NULL: unknown.
-- Column conversions_value: US dollars that the conversions earned by the operator's own payouts (mart.revenue): the service reports none. NULL: no payouts, or some conversion has none.
WITH measured AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.creative_id, max(s.campaign_name) AS reported_name,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions
  FROM {{ source('spendsync', 'spend_daily') }} AS s
  GROUP BY s.account_id, s.report_date, s.campaign_id, s.creative_id
),
earned AS (
  SELECT r.account_id, r.report_date, r.campaign_id, r.creative_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM {{ ref('spendsync__revenue') }} AS r
  GROUP BY r.account_id, r.report_date, r.campaign_id, r.creative_id
)
SELECT
  '' AS source_relation, m.report_date AS date_day, 'push_ads' AS platform, m.account_id, NULL::VARCHAR AS account_name,
  m.campaign_id, coalesce(h.name, m.reported_name) AS campaign_name, NULL::VARCHAR AS ad_group_id, NULL::VARCHAR AS ad_group_name,
  m.creative_id AS ad_id, k.title AS ad_name, m.clicks, m.impressions, m.spend, m.conversions,
  CASE WHEN m.conversions IS NOT NULL AND y.account_id IS NOT NULL THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END::DOUBLE AS conversions_value
FROM measured AS m
LEFT JOIN (SELECT DISTINCT p.account_id FROM {{ ref('spendsync__payout') }} AS p) AS y ON y.account_id = m.account_id
LEFT JOIN earned AS e ON e.account_id = m.account_id AND e.report_date = m.report_date AND e.campaign_id = m.campaign_id AND e.creative_id = m.creative_id
LEFT JOIN {{ source('spendsync', 'campaign_history') }} AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id AND h.is_current
LEFT JOIN {{ source('spendsync', 'creative_history') }} AS k ON k.account_id = m.account_id AND k.creative_id = m.creative_id AND k.is_current
