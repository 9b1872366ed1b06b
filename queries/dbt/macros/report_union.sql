{# One of our reports and the models of other platforms that the variable spendsync_union_with
   names for it, in the columns of dbt_ad_reporting 2.3: their own pass-through metrics are left out. #}
{% macro report_union(report, dimensions=[]) %}
{% set columns = ['source_relation', 'date_day', 'platform', 'account_id', 'account_name'] + dimensions
  + ['clicks', 'impressions', 'spend', 'conversions', 'conversions_value'] %}
SELECT {{ columns | join(', ') }} FROM {{ ref('spendsync__' ~ report) }}
{% for other in var('spendsync_union_with').get(report, []) %}
UNION ALL
SELECT {{ columns | join(', ') }} FROM {{ ref(other) }}
{% endfor %}
{% endmacro %}
