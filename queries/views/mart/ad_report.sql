-- What did each creative bring on each day, under the column names of Fivetran's dbt_ad_reporting (ad_reporting__ad_report)?
-- Trap: the columns and their order are that package's, so that the rows union with those of other platforms; today is not over, and days that are not covered have no rows.
-- Column source_relation: Empty, as in that package where a platform has one source.
-- Column date_day: Chicago calendar day.
-- Column platform: Always push_ads.
-- Column account_name: NULL: the warehouse keeps no name of an account.
-- Column ad_group_id: NULL: the service has no level between campaign and creative.
-- Column ad_group_name: NULL: the service has no level between campaign and creative.
-- Column ad_id: Creative ID, as the service gives it; empty for spend without one.
-- Column ad_name: Title of the creative now. NULL: unknown.
-- Column conversions_value: NULL: the service reports no value of conversions.
WITH measured AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.creative_id, max(s.campaign_name) AS reported_name,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions
  FROM main.spend_daily AS s
  GROUP BY s.account_id, s.report_date, s.campaign_id, s.creative_id
)
SELECT
  '' AS source_relation, m.report_date AS date_day, 'push_ads' AS platform, m.account_id, NULL::VARCHAR AS account_name,
  m.campaign_id, coalesce(h.name, m.reported_name) AS campaign_name, NULL::VARCHAR AS ad_group_id, NULL::VARCHAR AS ad_group_name,
  m.creative_id AS ad_id, k.title AS ad_name, m.clicks, m.impressions, m.spend, m.conversions, NULL::DOUBLE AS conversions_value
FROM measured AS m
LEFT JOIN main.campaign_history AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id AND h.is_current
LEFT JOIN main.creative_history AS k ON k.account_id = m.account_id AND k.creative_id = m.creative_id AND k.is_current
