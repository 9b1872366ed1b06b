-- What did the conversions of each row of the report earn, by the operator's own payouts (SPENDSYNC_PAYOUTS)?
-- Trap: the service knows no revenue: a conversion counts on the day of its click, and payouts of now count for past days. Accounts without payouts have no rows here, and rows without conversions none. It answers about all history: without a condition on report_date it reads every row of spend_daily.
-- Column payout: US dollars that a conversion of the row earns. Of several payouts that hold on the day counts that of the creative and source, else of the campaign and source, the creative, the campaign, the source, all. NULL: none fits.
-- Column conversions: Conversions so far.
-- Column revenue: US dollars: conversions times payout. NULL: no payout fits.
WITH priced AS (
  SELECT p.account_id, p.from_date, coalesce(p.to_date, DATE '9999-12-31') AS to_date, p.campaign_id, p.creative_id, p.source_id, p.payout
  FROM main.payout AS p
)
SELECT
  s.account_id, s.report_date, s.campaign_id, s.creative_id, s.source_id, s.conversions,
  coalesce(ks.payout, cs.payout, k.payout, c.payout, o.payout, a.payout) AS payout,
  (s.conversions * coalesce(ks.payout, cs.payout, k.payout, c.payout, o.payout, a.payout))::DECIMAL(18, 6) AS revenue
FROM main.spend_daily AS s
-- Without payouts, read nothing.
JOIN (SELECT DISTINCT p.account_id FROM main.payout AS p) AS y ON y.account_id = s.account_id
LEFT JOIN priced AS ks
  ON ks.account_id = s.account_id AND ks.creative_id = s.creative_id AND ks.source_id = s.source_id AND ks.creative_id <> '' AND ks.source_id <> '' AND s.report_date BETWEEN ks.from_date AND ks.to_date
LEFT JOIN priced AS cs
  ON cs.account_id = s.account_id AND cs.campaign_id = s.campaign_id AND cs.source_id = s.source_id AND cs.campaign_id <> '' AND cs.source_id <> '' AND s.report_date BETWEEN cs.from_date AND cs.to_date
LEFT JOIN priced AS k
  ON k.account_id = s.account_id AND k.creative_id = s.creative_id AND k.creative_id <> '' AND k.source_id = '' AND s.report_date BETWEEN k.from_date AND k.to_date
LEFT JOIN priced AS c
  ON c.account_id = s.account_id AND c.campaign_id = s.campaign_id AND c.campaign_id <> '' AND c.source_id = '' AND s.report_date BETWEEN c.from_date AND c.to_date
LEFT JOIN priced AS o
  ON o.account_id = s.account_id AND o.source_id = s.source_id AND o.source_id <> '' AND o.campaign_id = '' AND o.creative_id = '' AND s.report_date BETWEEN o.from_date AND o.to_date
LEFT JOIN priced AS a
  ON a.account_id = s.account_id AND a.campaign_id = '' AND a.creative_id = '' AND a.source_id = '' AND s.report_date BETWEEN a.from_date AND a.to_date
WHERE s.conversions <> 0
