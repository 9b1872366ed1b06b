-- What did each campaign earn and cost on each day?
-- Trap: revenue is of the operator's own payouts (mart.revenue), not the service's; conversions of young days still arrive, so their profit so far is too low. Days that are not covered have no rows.
WITH earned AS (
  SELECT r.account_id, r.report_date, r.campaign_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM mart.revenue AS r
  GROUP BY r.account_id, r.report_date, r.campaign_id
),
measured AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.campaign_name, s.spend,
    CASE WHEN s.rows_with_clicks = s.rows THEN s.clicks END AS clicks,
    CASE WHEN s.rows_with_impressions = s.rows THEN s.impressions END AS impressions,
    CASE WHEN s.rows_with_conversions = s.rows THEN s.conversions END AS conversions,
    CASE WHEN s.rows_with_conversions = s.rows AND y.account_id IS NOT NULL THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END AS revenue
  FROM int.campaign_spend AS s
  LEFT JOIN (SELECT DISTINCT p.account_id FROM main.payout AS p) AS y ON y.account_id = s.account_id
  LEFT JOIN earned AS e ON e.account_id = s.account_id AND e.report_date = s.report_date AND e.campaign_id = s.campaign_id
)
SELECT
  m.account_id, m.report_date, m.campaign_id, coalesce(h.name, m.campaign_name) AS campaign_name,
  m.spend, m.clicks, m.impressions, m.conversions, m.revenue::DECIMAL(18, 6) AS revenue, (m.revenue - m.spend)::DECIMAL(18, 6) AS profit_so_far,
  (m.revenue - m.spend)::DOUBLE / nullif(m.spend, 0)::DOUBLE AS roi_so_far, m.revenue::DOUBLE / nullif(m.clicks, 0) AS epc
FROM measured AS m
LEFT JOIN main.campaign_history AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id AND h.is_current
