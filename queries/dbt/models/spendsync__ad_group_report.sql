-- What did each campaign spend and bring on each day, under the column names of Fivetran's dbt_ad_reporting (ad_reporting__ad_group_report)?
-- Trap: the columns and their order are that package's, so that the rows union with those of other platforms; today is not over, and days that are not covered have no rows. The service has no ad groups: these are campaigns.
-- Column source_relation: Empty, as in that package where a platform has one source.
-- Column date_day: Chicago calendar day.
-- Column platform: Always push_ads.
-- Column account_name: NULL: the warehouse keeps no name of an account.
-- Column conversions_value: US dollars that the conversions earned by the operator's own payouts (mart.revenue): the service reports none. NULL: no payouts, or some conversion has none.
-- Column ad_group_id: NULL: the service has no level between campaign and creative.
-- Column ad_group_name: NULL: the service has no level between campaign and creative.
-- Column campaign_name: Name of the campaign now; where it was never readable, the report's name on that day.
SELECT
  '' AS source_relation, s.report_date AS date_day, 'push_ads' AS platform, s.account_id, NULL::VARCHAR AS account_name,
  s.campaign_id, s.campaign_name, NULL::VARCHAR AS ad_group_id, NULL::VARCHAR AS ad_group_name, s.clicks, s.impressions, s.spend, s.conversions,
  s.revenue::DOUBLE AS conversions_value
FROM {{ ref('spendsync__campaign_profit') }} AS s
