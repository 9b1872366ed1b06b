-- What did each landing page bring on each day, under the column names of Fivetran's dbt_ad_reporting (ad_reporting__url_report)?
-- Trap: the link is the creative's of now, also for days before it was changed; parameters are as they stand in it, not decoded. Spend whose creative has no known link has NULL for all parts of it. It answers about all history: without a condition on date_day it reads every row of spend_daily.
-- Column source_relation: Empty, as in that package where a platform has one source.
-- Column date_day: Chicago calendar day.
-- Column platform: Always push_ads.
-- Column account_name: NULL: the warehouse keeps no name of an account.
-- Column conversions_value: US dollars that the conversions earned by the operator's own payouts (mart.revenue): the service reports none. NULL: no payouts, or some conversion has none.
-- Column ad_group_id: NULL: the service has no level between campaign and creative.
-- Column ad_group_name: NULL: the service has no level between campaign and creative.
-- Column base_url: The creative's link without what follows a question mark or a hash.
-- Column url_host: Host of the link, without a port. NULL: the link is not known.
-- Column url_path: Path of the link, from its first slash; empty where it has none.
-- Column utm_source: Parameter utm_source of the link. NULL: it has none.
-- Column utm_medium: Parameter utm_medium of the link. NULL: it has none.
-- Column utm_campaign: Parameter utm_campaign of the link. NULL: it has none.
-- Column utm_content: Parameter utm_content of the link. NULL: it has none.
-- Column utm_term: Parameter utm_term of the link. NULL: it has none.
WITH measured AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.creative_id, max(s.campaign_name) AS reported_name,
    sum(s.spend) AS spend, count(*) AS n, sum(s.clicks) AS clicks, count(s.clicks) AS with_clicks,
    sum(s.impressions) AS impressions, count(s.impressions) AS with_impressions, sum(s.conversions) AS conversions, count(s.conversions) AS with_conversions
  FROM {{ source('spendsync', 'spend_daily') }} AS s
  GROUP BY s.account_id, s.report_date, s.campaign_id, s.creative_id
),
earned AS (
  SELECT r.account_id, r.report_date, r.campaign_id, r.creative_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM {{ ref('spendsync__revenue') }} AS r
  GROUP BY r.account_id, r.report_date, r.campaign_id, r.creative_id
),
link AS (
  SELECT
    k.account_id, k.creative_id,
    regexp_extract(k.link, '^[^?#]*') AS base_url,
    nullif(regexp_extract(k.link, '^[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]*)', 1), '') AS url_host,
    regexp_extract(k.link, '^[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*(/[^?#]*)', 1) AS url_path,
    nullif(regexp_extract(k.link, '[?&]utm_source=([^&#]*)', 1), '') AS utm_source,
    nullif(regexp_extract(k.link, '[?&]utm_medium=([^&#]*)', 1), '') AS utm_medium,
    nullif(regexp_extract(k.link, '[?&]utm_campaign=([^&#]*)', 1), '') AS utm_campaign,
    nullif(regexp_extract(k.link, '[?&]utm_content=([^&#]*)', 1), '') AS utm_content,
    nullif(regexp_extract(k.link, '[?&]utm_term=([^&#]*)', 1), '') AS utm_term
  FROM {{ source('spendsync', 'creative_history') }} AS k
  WHERE k.is_current
)
SELECT
  '' AS source_relation, m.report_date AS date_day, 'push_ads' AS platform, m.account_id, NULL::VARCHAR AS account_name,
  m.campaign_id, coalesce(any_value(h.name), max(m.reported_name)) AS campaign_name, NULL::VARCHAR AS ad_group_id, NULL::VARCHAR AS ad_group_name,
  l.base_url, l.url_host, l.url_path, l.utm_source, l.utm_medium, l.utm_campaign, l.utm_content, l.utm_term,
  CASE WHEN sum(m.with_clicks) = sum(m.n) THEN sum(m.clicks)::BIGINT END AS clicks,
  CASE WHEN sum(m.with_impressions) = sum(m.n) THEN sum(m.impressions)::BIGINT END AS impressions,
  sum(m.spend)::DECIMAL(18, 6) AS spend,
  CASE WHEN sum(m.with_conversions) = sum(m.n) THEN sum(m.conversions)::BIGINT END AS conversions,
  CASE WHEN sum(m.with_conversions) = sum(m.n) AND count(y.account_id) > 0 AND count(*) FILTER (WHERE e.account_id IS NOT NULL AND e.revenue IS NULL) = 0
    THEN coalesce(sum(e.revenue), 0) END::DOUBLE AS conversions_value
FROM measured AS m
LEFT JOIN (SELECT DISTINCT p.account_id FROM {{ ref('spendsync__payout') }} AS p) AS y ON y.account_id = m.account_id
LEFT JOIN earned AS e ON e.account_id = m.account_id AND e.report_date = m.report_date AND e.campaign_id = m.campaign_id AND e.creative_id = m.creative_id
LEFT JOIN {{ source('spendsync', 'campaign_history') }} AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id AND h.is_current
LEFT JOIN link AS l ON l.account_id = m.account_id AND l.creative_id = m.creative_id
GROUP BY m.account_id, m.report_date, m.campaign_id, l.base_url, l.url_host, l.url_path, l.utm_source, l.utm_medium, l.utm_campaign, l.utm_content, l.utm_term
