-- Which sources cost most without a single conversion?
-- Trap: little spend proves nothing; set it against what a conversion may cost.
SELECT
  s.source_id,
  count(DISTINCT s.campaign_id) AS campaigns,
  sum(s.spend) AS spend,
  sum(s.clicks) AS clicks
FROM spend_daily AS s
WHERE s.source_id <> ''
GROUP BY s.account_id, s.source_id
HAVING sum(s.conversions) = 0 AND sum(s.spend) > 0
ORDER BY sum(s.spend) DESC, s.source_id
LIMIT 5
