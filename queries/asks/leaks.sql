-- What was spent on what should have stopped?
-- Trap: a stop counts from when we saw it until it was last confirmed, and late clicks are billed for a while; only what exceeds that while is a leak and shown here.
-- Parameter rows: 20, entries to show, the most expensive first.
-- Shown: kind, reason, campaign_name, spend, clicks, stopped_since, first_day, last_day, campaign_id, creative_id, source_id
SELECT
  s.account_id, s.kind, s.reason, s.campaign_id, any_value(s.campaign_name) AS campaign_name, s.creative_id, s.source_id,
  s.stopped_since, count(*) AS days, min(s.report_date) AS first_day, max(s.report_date) AS last_day,
  sum(s.spend) AS spend, CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks) END AS clicks
FROM mart.spend_on_stopped AS s
WHERE s.is_leak
GROUP BY s.account_id, s.kind, s.reason, s.campaign_id, s.creative_id, s.source_id, s.stopped_since
ORDER BY sum(s.spend) DESC, s.account_id, s.campaign_id, s.creative_id, s.source_id
LIMIT $rows::BIGINT
