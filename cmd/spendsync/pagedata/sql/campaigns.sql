-- Which campaigns pay?
-- Block say
SELECT CASE WHEN bool_and(p.verdict IN ('no_target', 'unknown')) THEN 'unknown' ELSE tone(p.verdict = 'loses', p.verdict IN ('unclear', 'broken_tracking')) END AS tone,
  CASE WHEN count(*) = 0 THEN 'No campaign spent anything in the known days, so there is nothing to judge.'
    ELSE tally(p.verdict) || ', of ' || many(any_value(p.days_known), 'known day') || ' to ' || on_day(any_value(p.window_to)) || CASE WHEN count(p.cpa_expected) > 0 THEN '. Conversions, CPA, profit and verdict count those to come in.'
      ELSE '. Nothing is judged: how many conversions are to come is known from the second day of syncs on.' END END AS text
FROM mart.campaign_performance AS p WHERE p.spend > 0
-- Block table
WITH rated AS (
  SELECT p.clicks, p.impressions, w.campaign_id IS NOT NULL AS is_shown
  FROM mart.campaign_performance AS p LEFT JOIN page.which_campaigns_pay AS w ON w.campaign_id = p.campaign_id
  WHERE p.spend <> 0 OR coalesce(p.conversions <> 0, true)
),
grouped AS (
  SELECT CASE WHEN grouping(r.is_shown) = 1 THEN 'all campaigns' ELSE 'other campaigns' END AS campaign_name,
    CASE WHEN count(r.clicks) = count(*) AND count(r.impressions) = count(*) THEN sum(r.clicks)::DOUBLE / nullif(sum(r.impressions), 0)::DOUBLE END AS ctr
  FROM rated AS r GROUP BY GROUPING SETS ((), (r.is_shown)) HAVING grouping(r.is_shown) = 1 OR NOT r.is_shown
)
SELECT coalesce(w.campaign_id, w.campaign_name) AS key, CASE WHEN w.campaign_id IS NULL THEN w.campaign_name ELSE label(w.campaign_id) END AS "Campaign|name", w.verdict AS "Verdict|chip", w.spend AS "Spend|money", coalesce(w.conversions_expected, w.conversions) AS "Conv.|count",
  w.cpa_expected AS "CPA|money", p.worth AS "Worth|money", w.profit_expected AS "Profit|money", w.roi_expected AS "ROI|percent", coalesce(p.ctr, g.ctr) AS "CTR|percent", CASE WHEN w.campaign_name = 'all campaigns' AND w.campaign_id IS NULL THEN (SELECT l.cpa_change FROM page.last_week AS l WHERE l.is_total) ELSE w.cpa_change END AS "CPA change|change", CASE WHEN w.verdict = 'loses' THEN -p.at_stake ELSE p.at_stake END AS "Profit a day|money"
FROM page.which_campaigns_pay AS w LEFT JOIN mart.campaign_performance AS p ON p.campaign_id = w.campaign_id
LEFT JOIN grouped AS g ON w.campaign_id IS NULL AND g.campaign_name = w.campaign_name
ORDER BY w.campaign_id IS NOT NULL, w.campaign_name = 'other campaigns', CASE WHEN w.verdict = 'loses' THEN w.excess_spend END DESC NULLS LAST, w.spend DESC LIMIT 32
