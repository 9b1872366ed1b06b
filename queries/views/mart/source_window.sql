-- What do the rows of each source of each campaign add up to over the performance window?
-- Trap: this is the one sum that source_performance and bid_vs_cpc rest on; ask those for rates, bounds and settings.
-- Column counted_spend: US dollars of the rows whose conversions are known.
-- Column counted_conversions: Conversions so far of the rows that tell them. NULL: none does.
-- Column bid_clicks: Clicks of campaign days whose default bid at the end of the day is known.
-- Column at_default_bid: US dollars that bid_clicks would have cost at these bids.
WITH day AS (
  SELECT c.account_id, c.campaign_id, c.report_date, (h.default_bid * 1000000)::BIGINT AS default_bid
  FROM mart.campaign_spend AS c
  JOIN mart.performance_window AS w ON w.account_id = c.account_id AND w.report_date = c.report_date
  LEFT JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN main.campaign_history AS h
    ON h.account_id = c.account_id AND h.campaign_id = c.campaign_id AND h.valid_to >= k.ends_at
    AND CASE WHEN h.version_no = 1 THEN to_timestamp(0) ELSE h.valid_from END < k.ends_at
  WHERE c.report_date >= (SELECT min(w.report_date) FROM mart.performance_window AS w)
)
SELECT
  s.account_id, s.campaign_id, s.source_id,
  sum(s.spend)::DECIMAL(18, 6) AS spend,
  CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
  CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
  CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
  (sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL))::DECIMAL(18, 6) AS counted_spend, sum(s.conversions)::BIGINT AS counted_conversions,
  coalesce(sum(s.clicks) FILTER (WHERE d.default_bid IS NOT NULL), 0)::BIGINT AS bid_clicks,
  coalesce(sum(s.clicks * d.default_bid), 0)::DOUBLE / 1000000 AS at_default_bid
FROM main.spend_daily AS s
JOIN day AS d ON d.account_id = s.account_id AND d.campaign_id = s.campaign_id AND d.report_date = s.report_date
-- The window once more, as a constant: what lies before it is not even read.
WHERE s.report_date >= (SELECT min(w.report_date) FROM mart.performance_window AS w)
GROUP BY s.account_id, s.campaign_id, s.source_id
