-- What did each creative bring on each day that is known whole, and what would its campaign's other creatives have brought in its places?
-- Trap: days that are not proven complete have no rows here; ask creative_performance for rates and comparisons, and ad_report for days that go on.
-- Column campaign_name: Name of the campaign as the report gave it; the last by the alphabet where it gave several.
-- Column counted_spend: US dollars of the rows whose conversions are known.
-- Column counted_conversions: Conversions so far of the rows that tell them. NULL: none does.
-- Column shown_clicks: Clicks of the rows that tell them and have impressions. NULL: there is none.
-- Column shown_impressions: Impressions of the rows that have some and tell their clicks. NULL: there is none.
-- Column own_clicks: Clicks, each row's by the share of impressions that the campaign's other creatives had at the same source (Mantel-Haenszel). NULL: it had none beside it.
-- Column other_clicks: Clicks of the campaign's other creatives at the same sources, each by this creative's share of impressions there. own_clicks by other_clicks is how much better its CTR is in the same places.
-- Column click_variance: What the variance of the logarithm of that ratio is made of (Greenland and Robins, 1985): divided by own_clicks and by other_clicks.
-- Column place_clicks: Clicks of all creatives of the campaign at sources where another one ran beside it.
-- Column place_impressions: Impressions of all creatives of the campaign at sources where another one ran beside it.
WITH placed AS MATERIALIZED (
  -- A place is a source of a campaign on a day. Hashes in place of the keys halve the time. Among a million rows a day,
  -- two hashes collide once in thirty million days.
  SELECT
    hash(d.account_id, d.report_date, d.campaign_id, d.source_id) AS place,
    hash(d.account_id, d.report_date, d.campaign_id, d.creative_id) AS creative,
    d.clicks::DOUBLE AS clicks, d.impressions::DOUBLE AS impressions
  FROM main.spend_daily AS d
  -- The CASE keeps DuckDB from evaluating the conditions on texts while it decompresses them, which takes longer.
  WHERE CASE WHEN d.creative_id <> '' AND d.source_id <> '' THEN d.clicks IS NOT NULL AND d.impressions > 0 END
)
SELECT
  s.account_id, s.report_date, s.campaign_id, s.creative_id, s.campaign_name, s.spend, s.clicks, s.impressions, s.conversions,
  s.counted_spend, s.counted_conversions, s.shown_clicks, s.shown_impressions,
  b.own_clicks, b.other_clicks, b.click_variance, b.place_clicks, b.place_impressions
FROM (
  SELECT
    d.account_id, d.report_date, d.campaign_id, d.creative_id, max(d.campaign_name) AS campaign_name, sum(d.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(d.clicks) = count(*) THEN sum(d.clicks)::BIGINT END AS clicks,
    CASE WHEN count(d.impressions) = count(*) THEN sum(d.impressions)::BIGINT END AS impressions,
    CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions)::BIGINT END AS conversions,
    (sum(d.spend) FILTER (WHERE d.conversions IS NOT NULL))::DECIMAL(18, 6) AS counted_spend, sum(d.conversions)::BIGINT AS counted_conversions,
    (sum(d.clicks) FILTER (WHERE d.impressions > 0))::BIGINT AS shown_clicks,
    (sum(d.impressions) FILTER (WHERE d.clicks IS NOT NULL AND d.impressions > 0))::BIGINT AS shown_impressions
  FROM main.spend_daily AS d
  GROUP BY d.account_id, d.report_date, d.campaign_id, d.creative_id
) AS s
JOIN int.whole_day AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
LEFT JOIN (
  -- Add up integers of 1e-11, so that the result does not depend on the order of the rows.
  SELECT
    d.creative,
    sum((1e11 * d.clicks * (p.impressions - d.impressions) / p.impressions)::HUGEINT)::DOUBLE / 1e11 AS own_clicks,
    sum((1e11 * (p.clicks - d.clicks) * d.impressions / p.impressions)::HUGEINT)::DOUBLE / 1e11 AS other_clicks,
    sum((1e11 * p.clicks * d.impressions * (p.impressions - d.impressions) / (p.impressions * p.impressions))::HUGEINT)::DOUBLE / 1e11 AS click_variance,
    sum(p.clicks::BIGINT)::BIGINT AS place_clicks, sum(p.impressions::BIGINT)::BIGINT AS place_impressions
  FROM placed AS d
  -- Compare creatives only at places that several creatives share.
  JOIN (
    SELECT d.place, sum(d.clicks) AS clicks, sum(d.impressions) AS impressions
    FROM placed AS d
    GROUP BY d.place
    HAVING count(*) > 1
  ) AS p ON p.place = d.place
  GROUP BY d.creative
) AS b ON b.creative = hash(s.account_id, s.report_date, s.campaign_id, s.creative_id)
