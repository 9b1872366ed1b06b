-- What did each ad bring on each day, on every platform? The union of spendsync__ad_report with the
-- models of var spendsync_union_with, such as dbt_ad_reporting's ad_reporting__ad_report.
{% set columns %}
  source_relation, date_day, platform, account_id, account_name, campaign_id, campaign_name, ad_group_id, ad_group_name,
  ad_id, ad_name, clicks, impressions, spend, conversions, conversions_value
{% endset %}
SELECT {{ columns }} FROM {{ ref('spendsync__ad_report') }}
{% for other in var('spendsync_union_with') %}
UNION ALL
SELECT {{ columns }} FROM {{ ref(other) }}
{% endfor %}
