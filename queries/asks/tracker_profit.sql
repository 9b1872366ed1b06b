-- What did each source really earn, by your own tracker?
-- Trap: only days that are whole here and in the tracker's export are added up (days_compared), and a source that the export lacks on them counts as 0: see seen_by before you block it, for the tracker may be passed another name. Revenue is what the tracker books; conversions on hold may still be refused or approved, and come late. The tracker's days begin at its own midnight. The first row is all sources together.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter days: 30, days to look back from the last one that is proven complete.
-- Parameter rows: 50, sources to show, those that lose most first.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Alone: no source has spend or a tracker's row on a day that both have
-- Shown: source_id, seen_by, spend, revenue, profit, approved_share, approved_share_low, approved_share_high, held, days_compared
-- Column source_id: Source. NULL: all sources together, or those of a campaign that only the tracker knows. Empty: no source was named.
-- Column campaign_id: Campaign of the tracker that this account does not have, perhaps of another network or named otherwise. NULL: the row is of campaigns of this account.
-- Column seen_by: both; service: it spent here, and the export lacks it; tracker: the export has it, and nothing was spent here; unknown_campaign: the account has no such campaign.
-- Column spend: US dollars spent on the days that are compared. NULL: there is no such day, or the campaign is not of this account.
-- Column conversions: Conversions as the service counts them.
-- Column tracker_conversions: Conversions as the tracker counts them, of every state. NULL: the export does not tell.
-- Column approved: Conversions that are approved. NULL: the export does not tell.
-- Column held: Conversions on which nobody has decided yet. NULL: the export does not tell.
-- Column refused: Conversions that were refused. NULL: the export does not tell.
-- Column revenue: US dollars that the tracker books. NULL: the export does not tell.
-- Column profit: Revenue less spend, in US dollars.
-- Column roi: Profit by spend.
-- Column approved_share: Approved conversions as a share of those decided on, approved or refused. NULL: none is, or the export does not tell.
-- Column approved_share_low: The lowest that this share can be by chance (threshold bound_z).
-- Column approved_share_high: The highest that it can be by chance.
-- Column days_compared: Days that both have: whole here, and in the tracker's export.
-- Column days_apart: Whole days looked at that the export lacks.
WITH looked_at AS (
  SELECT c.account_id, c.report_date, k.account_id IS NOT NULL AS is_tracked
  FROM ops.day_coverage AS c
  JOIN main.today AS t ON t.account_id = c.account_id AND c.report_date > t.last_whole_date - $days::INTEGER AND c.report_date <= t.last_whole_date
  LEFT JOIN (SELECT DISTINCT d.account_id, d.report_date FROM main.tracker_daily AS d) AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('complete', 'final')
),
-- What the export tells at all: of a source that it lacks the number is then 0, and else unknown.
told AS (
  SELECT
    k.account_id, count(k.conversions) > 0 AS conversions, count(k.approved) > 0 AS approved, count(k.held) > 0 AS held, count(k.refused) > 0 AS refused,
    count(k.revenue) > 0 AS revenue
  FROM main.tracker_daily AS k
  JOIN looked_at AS d ON d.account_id = k.account_id AND d.report_date = k.report_date AND d.is_tracked
  GROUP BY k.account_id
),
known AS (
  SELECT DISTINCT h.account_id, h.campaign_id FROM main.campaign_history AS h
  UNION
  SELECT DISTINCT s.account_id, s.campaign_id FROM mart.campaign_spend AS s
),
counted AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, 1 AS here, 0 AS there, s.spend, CASE WHEN s.conversions IS NULL THEN 1 ELSE 0 END AS unread, s.conversions,
    0 AS tracker_conversions, 0 AS approved, 0 AS held, 0 AS refused, 0::DECIMAL(18,6) AS revenue
  FROM main.spend_daily AS s
  JOIN looked_at AS d ON d.account_id = s.account_id AND d.report_date = s.report_date AND d.is_tracked
  UNION ALL
  SELECT k.account_id, k.campaign_id, k.source_id, 0, 1, 0, 0, 0, k.conversions, k.approved, k.held, k.refused, k.revenue
  FROM main.tracker_daily AS k
  JOIN looked_at AS d ON d.account_id = k.account_id AND d.report_date = k.report_date AND d.is_tracked
),
summed AS (
  SELECT
    c.account_id, c.is_known, grouping(c.source_id) = 1 AS is_total, c.campaign_id, c.source_id,
    sum(c.here) AS here, sum(c.there) AS there, sum(c.spend) AS spend, CASE WHEN sum(c.unread) = 0 THEN sum(c.conversions) END AS conversions,
    CASE WHEN any_value(t.conversions) AND count(c.tracker_conversions) = count(*) THEN sum(c.tracker_conversions) END AS tracker_conversions, CASE WHEN any_value(t.approved) AND count(c.approved) = count(*) THEN sum(c.approved) END AS approved,
    CASE WHEN any_value(t.held) AND count(c.held) = count(*) THEN sum(c.held) END AS held, CASE WHEN any_value(t.refused) AND count(c.refused) = count(*) THEN sum(c.refused) END AS refused,
    CASE WHEN any_value(t.revenue) AND count(c.revenue) = count(*) THEN sum(c.revenue) END AS revenue
  FROM (
    SELECT
      a.* EXCLUDE (campaign_id, source_id), k.campaign_id IS NOT NULL AS is_known,
      CASE WHEN k.campaign_id IS NULL THEN a.campaign_id END AS campaign_id, CASE WHEN k.campaign_id IS NOT NULL THEN a.source_id END AS source_id
    FROM counted AS a
    LEFT JOIN known AS k ON k.account_id = a.account_id AND k.campaign_id = a.campaign_id
    WHERE $campaign::VARCHAR = '' OR a.campaign_id = $campaign::VARCHAR
  ) AS c
  JOIN told AS t ON t.account_id = c.account_id
  GROUP BY GROUPING SETS ((c.account_id, c.is_known), (c.account_id, c.is_known, c.campaign_id, c.source_id))
  HAVING c.is_known OR grouping(c.source_id) = 0
),
placed AS (
  SELECT
    s.*, CASE WHEN s.is_known THEN s.revenue - s.spend END AS profit, nullif(s.approved + s.refused, 0)::DOUBLE AS decided,
    row_number() OVER (PARTITION BY s.account_id, s.is_total ORDER BY NOT s.is_known, s.revenue - s.spend NULLS LAST, s.spend DESC, s.campaign_id, s.source_id) AS place
  FROM summed AS s
),
days AS (
  SELECT d.account_id, count(*) FILTER (WHERE d.is_tracked) AS compared, count(*) FILTER (WHERE NOT d.is_tracked) AS apart
  FROM looked_at AS d
  GROUP BY d.account_id
)
SELECT
  d.account_id, p.source_id, p.campaign_id,
  CASE WHEN p.is_total IS DISTINCT FROM false THEN NULL WHEN NOT p.is_known THEN 'unknown_campaign' WHEN p.here = 0 THEN 'tracker' WHEN p.there = 0 THEN 'service' ELSE 'both' END AS seen_by,
  CASE WHEN p.is_known THEN p.spend END AS spend, p.revenue, p.profit, (p.profit::DOUBLE / nullif(p.spend, 0)::DOUBLE)::DECIMAL(18,3) AS roi,
  CASE WHEN p.is_known THEN p.conversions END AS conversions, p.tracker_conversions, p.approved, p.held, p.refused,
  (p.approved / p.decided)::DECIMAL(18,3) AS approved_share,
  ((p.approved + z.z * z.z / 2 - z.z * sqrt(p.approved * p.refused / p.decided + z.z * z.z / 4)) / (p.decided + z.z * z.z))::DECIMAL(18,3) AS approved_share_low,
  ((p.approved + z.z * z.z / 2 + z.z * sqrt(p.approved * p.refused / p.decided + z.z * z.z / 4)) / (p.decided + z.z * z.z))::DECIMAL(18,3) AS approved_share_high,
  d.compared AS days_compared, d.apart AS days_apart
FROM days AS d
LEFT JOIN placed AS p ON p.account_id = d.account_id AND (p.is_total OR p.place <= $rows::BIGINT)
CROSS JOIN (SELECT t.value AS z FROM mart.threshold AS t WHERE t.name = 'bound_z') AS z
ORDER BY d.account_id, p.is_total DESC, p.place
