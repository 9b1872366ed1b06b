-- What is a conversion of each campaign worth, and at which sources is it worth something else?
-- Trap: a payout of your own (SPENDSYNC_PAYOUTS) stands before the campaign's target CPA; the payouts are those that hold on the last day that is proven complete. A campaign with neither has no row.
-- Column source_id: Source that the worth is of; empty: every source of the campaign that has no row of its own.
-- Column worth: US dollars that a conversion may cost at most.
-- Column worth_origin: payout: a line of your own payouts (of lines of creatives the mean over the campaign's creatives); target_cpa: the campaign's setting.
WITH holding AS (
  SELECT p.account_id, p.campaign_id, p.creative_id, p.source_id, p.payout::DOUBLE AS payout
  FROM main.payout AS p
  JOIN (SELECT w.account_id, max(w.window_to) AS window_to FROM int.performance_window AS w GROUP BY w.account_id) AS d
    ON d.account_id = p.account_id AND d.window_to BETWEEN p.from_date AND coalesce(p.to_date, DATE '9999-12-31')
),
campaign AS (
  SELECT h.account_id, h.campaign_id, h.target_cpa::DOUBLE AS target_cpa, c.payout AS campaign_payout, a.payout AS any_payout
  FROM main.campaign_history AS h
  LEFT JOIN holding AS c ON c.account_id = h.account_id AND c.campaign_id = h.campaign_id AND c.creative_id = '' AND c.source_id = ''
  LEFT JOIN holding AS a ON a.account_id = h.account_id AND a.campaign_id = '' AND a.creative_id = '' AND a.source_id = ''
  WHERE h.is_current
),
-- A payout for a creative takes precedence over the payout for its campaign.
of_creatives AS (
  SELECT k.account_id, k.campaign_id, avg(coalesce(p.payout, c.campaign_payout, c.any_payout)) AS payout
  FROM main.creative_history AS k
  JOIN campaign AS c ON c.account_id = k.account_id AND c.campaign_id = k.campaign_id
  LEFT JOIN holding AS p ON p.account_id = k.account_id AND p.creative_id = k.creative_id AND p.source_id = ''
  WHERE k.is_current AND NOT k.is_deleted
    AND k.account_id IN (SELECT h.account_id FROM holding AS h WHERE h.creative_id <> '' AND h.source_id = '')
  GROUP BY k.account_id, k.campaign_id
  HAVING count(p.payout) > 0
),
whole AS (
  SELECT
    c.account_id, c.campaign_id, coalesce(k.payout, c.campaign_payout, c.any_payout) AS payout, c.target_cpa,
    k.payout IS NOT NULL OR c.campaign_payout IS NOT NULL AS is_own
  FROM campaign AS c
  LEFT JOIN of_creatives AS k ON k.account_id = c.account_id AND k.campaign_id = c.campaign_id
)
SELECT
  w.account_id, w.campaign_id, '' AS source_id, coalesce(w.payout, w.target_cpa) AS worth,
  CASE WHEN w.payout IS NOT NULL THEN 'payout' ELSE 'target_cpa' END AS worth_origin
FROM whole AS w
WHERE coalesce(w.payout, w.target_cpa) > 0
UNION ALL
-- A payout for a source in all campaigns applies only where the campaign has no payout of its own.
SELECT w.account_id, w.campaign_id, h.source_id, arg_max(h.payout, h.campaign_id) AS worth, 'payout' AS worth_origin
FROM whole AS w
JOIN holding AS h
  ON h.account_id = w.account_id AND h.source_id <> '' AND h.creative_id = '' AND (h.campaign_id = w.campaign_id OR h.campaign_id = '' AND NOT w.is_own)
WHERE h.payout > 0
GROUP BY w.account_id, w.campaign_id, h.source_id
