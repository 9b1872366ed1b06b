-- What broke lately and is to be looked at before any advice is followed?
-- Trap: it names what differs from before, not why; a campaign that you stopped or changed by hand may be among them. Verdict over: conversions broke in the last 30 days, and came back.
-- Shown: verdict, campaign_name, since_date, reason, at_stake, action
SELECT
  b.account_id, b.verdict, b.kind, b.campaign_id, b.campaign_name, b.since_date, NULL::DATE AS until_date,
  b.observed::DECIMAL(18,2) AS observed, b.expected::DECIMAL(18,2) AS expected, b.delivery_status, b.reason, b.at_stake::DECIMAL(18,2) AS at_stake, b.action
FROM mart.breaks AS b
UNION ALL
SELECT DISTINCT
  d.account_id, d.verdict, d.kind, d.campaign_id, h.name, d.since_date, d.until_date, d.observed::DECIMAL(18,2), d.expected::DECIMAL(18,2), NULL, d.reason, d.at_stake::DECIMAL(18,2), NULL
FROM int.break_day AS d
JOIN main.today AS t ON t.account_id = d.account_id AND d.until_date >= t.last_whole_date - 30
LEFT JOIN main.campaign_history AS h ON h.account_id = d.account_id AND h.campaign_id = d.campaign_id AND h.is_current
WHERE d.is_over
ORDER BY ALL
