SELECT report_date::TIMESTAMP AS report_date, campaign_id, campaign_name, spend::DOUBLE AS spend, clicks, impressions, conversions
FROM mart.campaign_day
WHERE is_covered
ORDER BY report_date, campaign_id
