-- What broke lately and is to be looked at before any advice is followed?
-- Trap: it names what differs from before, not why; a campaign that you stopped or changed by hand may be among them.
-- Shown: kind, campaign_name, since_date, observed, expected, what_to_do, delivery_status, campaign_id
SELECT
  b.account_id, b.kind, b.campaign_id, b.campaign_name, b.since_date,
  b.observed::DECIMAL(18,2) AS observed, b.expected::DECIMAL(18,2) AS expected, b.delivery_status, b.what_to_do
FROM mart.breaks AS b
ORDER BY b.account_id, b.kind, b.campaign_id
