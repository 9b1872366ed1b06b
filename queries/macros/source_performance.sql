-- What did each source of each campaign bring over a span of days, and within which bounds does its CPA lie?
-- Trap: days of the span that are not proven complete are left out (days_known counts the others), and the settings are those of now.
-- Parameters: from_date, to_date
WITH known AS (
  SELECT c.account_id, c.report_date, c.conversions_share
  FROM mart.day_maturity AS c
  WHERE c.report_date BETWEEN from_date::DATE AND to_date::DATE
),
spans AS (
  SELECT k.account_id, any_value(from_date::DATE) AS window_from, any_value(to_date::DATE) AS window_to, count(*) AS days_known
  FROM known AS k
  GROUP BY k.account_id
),
measured AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
    sum(s.spend) FILTER (WHERE s.conversions IS NOT NULL) AS counted_spend, sum(s.conversions) AS counted_conversions,
    CASE
      WHEN count(s.conversions) < count(*) THEN NULL
      WHEN sum(s.conversions) = 0 THEN 0
      ELSE sum(s.conversions) * sum(s.spend)::DOUBLE / nullif(sum((1e6 * s.spend::DOUBLE * coalesce(k.conversions_share, 1))::BIGINT)::DOUBLE / 1e6, 0)
    END AS conversions_expected
  FROM main.spend_daily AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id, s.source_id
),
-- Part: source_campaigns
-- Part: source_rates
