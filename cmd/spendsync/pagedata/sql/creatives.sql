-- Which creatives are worn out?
-- Folded.
-- Block say
SELECT tone(f.verdict IN ('exhausted', 'fatiguing'), f.verdict = 'fell_with_campaign') AS tone,
  CASE WHEN count(*) = 0 THEN 'No creative that is active has enough impressions, now and earlier, to compare its CTR with its peak.'
    ELSE 'Of active creatives ' || tally(f.verdict) || '. A fall counts beside the campaign’s other creatives.' END AS text
FROM mart.creative_fatigue AS f WHERE f.verdict <> 'too_little_data' AND coalesce(f.status, 'active') = 'active'
-- Block cards
WITH shown AS (
  SELECT f.*, row_number() OVER (ORDER BY CASE f.verdict WHEN 'exhausted' THEN 0 WHEN 'fatiguing' THEN 1 WHEN 'steady' THEN 3 ELSE 2 END, f.decline DESC, f.creative_id) AS place
  FROM mart.creative_fatigue AS f WHERE f.verdict <> 'too_little_data' AND coalesce(f.status, 'active') = 'active'
),
day AS (
  SELECT c.campaign_id, c.creative_id, c.report_date, sum(c.clicks) OVER w AS clicks, sum(c.impressions) OVER w AS impressions
  FROM int.creative_spend AS c SEMI JOIN (SELECT s.creative_id FROM shown AS s WHERE s.place <= 8) AS s ON s.creative_id = c.creative_id WHERE c.impressions > 0
  WINDOW w AS (PARTITION BY c.campaign_id, c.creative_id ORDER BY c.report_date - DATE '2000-01-01' RANGE BETWEEN 6 PRECEDING AND CURRENT ROW)
)
SELECT s.creative_id AS key, coalesce(h.title, s.creative_id) AS title, h.message, label(s.campaign_id) AS campaign, replace(s.verdict, '_', ' ') AS state, s.ctr_recent AS "CTR now|percent", s.ctr_peak AS "at its peak|percent",
  s.decline AS "fallen by|percent", s.adjusted_decline AS "beside the others|percent", s.impressions_recent AS "impressions|count",
  (SELECT string_agg((d.clicks::DOUBLE / d.impressions)::VARCHAR, ',' ORDER BY d.report_date) FROM day AS d WHERE d.campaign_id = s.campaign_id AND d.creative_id = s.creative_id AND d.report_date > s.recent_to - 30) AS spark
FROM shown AS s LEFT JOIN main.creative_history AS h ON h.creative_id = s.creative_id AND h.is_current
WHERE s.place <= 8 ORDER BY s.place
