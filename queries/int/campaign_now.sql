-- What is set for each campaign now, and what is a conversion of it worth?
-- Trap: campaigns of the report whose settings were never read have a row, with NULLs.
-- Column campaign_name: Name of the campaign now, else the newest one of the report.
-- Column is_paid: Whether the account has payouts of its own (SPENDSYNC_PAYOUTS).
WITH named AS (
  SELECT s.account_id, s.campaign_id, arg_max(s.campaign_name, s.report_date) AS reported_name
  FROM int.campaign_spend AS s
  GROUP BY s.account_id, s.campaign_id
),
paid AS (
  SELECT DISTINCT p.account_id
  FROM main.payout AS p
)
SELECT
  n.account_id, n.campaign_id, coalesce(h.name, nullif(n.reported_name, '')) AS campaign_name,
  CASE WHEN h.is_deleted THEN 'deleted' ELSE h.status END AS campaign_status,
  coalesce(o.source_mode, h.source_mode) AS source_mode, h.default_bid, h.target_cpa, v.worth, v.worth_origin,
  y.account_id IS NOT NULL AS is_paid
FROM named AS n
LEFT JOIN main.campaign_history AS h ON h.account_id = n.account_id AND h.campaign_id = n.campaign_id AND h.is_current
LEFT JOIN int.conversion_worth AS v ON v.account_id = n.account_id AND v.campaign_id = n.campaign_id AND v.source_id = ''
LEFT JOIN main.source_mode_history AS o
  ON o.account_id = n.account_id AND o.campaign_id = n.campaign_id AND o.is_current AND NOT o.is_deleted
LEFT JOIN paid AS y ON y.account_id = n.account_id
