SELECT report_date::TIMESTAMP AS report_date, campaign_id, campaign_name, sum(spend)::DOUBLE AS spend, sum(clicks) AS clicks,
       sum(impressions) AS impressions, CASE WHEN count(conversions_expected) = count(*) THEN sum(conversions_expected) END AS conversions_expected
FROM spend
GROUP BY ALL
ORDER BY report_date, campaign_id
