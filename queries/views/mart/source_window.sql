-- What do the rows of each source of each campaign add up to over the performance window?
-- Trap: this is the one sum that the answers about sources rest on; ask source_performance and bid_vs_cpc for rates, bounds and settings.
-- Column counted_spend: US dollars of the rows whose conversions are known.
-- Column counted_clicks: Clicks of the rows that tell them. NULL: none does.
-- Column counted_conversions: Conversions so far of the rows that tell them. NULL: none does.
-- Stored by campaign_id, source_id.
SELECT
  s.account_id, s.campaign_id, s.source_id,
  sum(s.spend)::DECIMAL(18, 6) AS spend,
  CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
  CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
  CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
  (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL))::DECIMAL(18, 6) AS counted_spend,
  sum(s.clicks)::BIGINT AS counted_clicks, sum(s.conversions)::BIGINT AS counted_conversions
FROM main.spend_daily AS s
JOIN mart.performance_window AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
-- The window once more, as a constant: what lies before it is not even read.
WHERE s.report_date >= (SELECT min(w.report_date) FROM mart.performance_window AS w)
GROUP BY s.account_id, s.campaign_id, s.source_id
