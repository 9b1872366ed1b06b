-- What did your own tracker count, by source: what was really earned, and which clicks get lost?
-- Trap: only days that are whole here and in the export are added up (days_compared), and a source that the export lacks on them counts as 0: see seen_by before you block it. A few clicks are always lost, to slow pages and to bots that the tracker drops: what counts is a source that loses more than the account does. Conversions on hold may still be refused, and those of the last days arrive on both sides. The tracker's days begin at its own midnight. The first row is all together.
-- Parameter campaign: "", campaign that is asked for, by its ID; empty: every campaign.
-- Parameter days: 30, days to look back from the last one that is proven complete.
-- Parameter rows: 50, sources to show, those that lose most first.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- None: No tracker's export is stored. SPENDSYNC_PAYOUTS names one: 'spendsync help config' describes it.
-- Alone: No source has spend or a row of the tracker on a day that both have.
-- Shown: verdict, source_id, spend, revenue, profit, approved_share, clicks, tracker_clicks, lost_share, conversions, tracker_conversions
-- Column verdict: loses_more: it loses a larger share of its clicks than all sources together, beyond chance (2.6 standard deviations, for many are compared); usual: chance may explain it; not_in_export: the tracker has no click of it, perhaps under another name; only_tracker: nothing was billed here. NULL: all sources, or it is not told.
-- Column clicks: Clicks that the service bills. NULL: some row lacks the number.
-- Column tracker_clicks: Clicks that arrived at the tracker. NULL: the export does not tell.
-- Column conversions: Conversions as the service counts them. NULL: some row lacks the number.
-- Column tracker_conversions: Conversions as the tracker counts them, of every state. NULL: the export does not tell.
-- Column source_id: Source. NULL: all sources together. Empty: no source was named.
-- Column lost_share: Clicks that did not arrive, as a share of those billed.
-- Column lost_share_low: The lowest that this share can be by chance (threshold bound_z), by how much it differs from day to day.
-- Column lost_share_high: The highest that it can be by chance.
-- Column lost_spend: US dollars spent on the clicks that did not arrive.
-- Column days_compared: Days that are compared: whole here, in the tracker's export, and with a row of the source.
-- Column seen_by: both; service: it spent here, and the export lacks it; tracker: the export has it, and nothing was spent here.
-- Column spend: US dollars spent on the days that are compared. NULL: there is no such day.
-- Column approved: Conversions that are approved. NULL: the export does not tell.
-- Column held: Conversions on which nobody has decided yet. NULL: the export does not tell.
-- Column refused: Conversions that were refused. NULL: the export does not tell.
-- Column revenue: US dollars that the tracker books. NULL: the export does not tell.
-- Column profit: Revenue less spend, in US dollars.
-- Column roi: Profit by spend.
-- Column approved_share: Approved conversions as a share of those decided on, approved or refused. NULL: none is, or the export does not tell.
-- Column approved_share_low: The lowest that this share can be by chance (threshold bound_z): the lower end of Wilson's interval, which adds z² to the decided ones, half of them as approved, so that few decided draw it toward a half.
-- Column approved_share_high: The highest that it can be by chance, in the same way.
-- Column days_apart: Whole days looked at that the export lacks.
WITH looked_at AS (
  SELECT c.account_id, c.report_date, k.account_id IS NOT NULL AS is_tracked
  FROM ops.day_coverage AS c
  JOIN main.today AS t ON t.account_id = c.account_id AND c.report_date > t.last_whole_date - $days::INTEGER AND c.report_date <= t.last_whole_date
  LEFT JOIN (SELECT DISTINCT d.account_id, d.report_date FROM main.tracker_daily AS d) AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('complete', 'final')
),
days AS (
  SELECT d.account_id, count(*) FILTER (WHERE d.is_tracked) AS compared, count(*) FILTER (WHERE NOT d.is_tracked) AS apart
  FROM looked_at AS d
  GROUP BY d.account_id
),
known AS (
  SELECT DISTINCT h.account_id, h.campaign_id FROM main.campaign_history AS h
  UNION
  SELECT DISTINCT s.account_id, s.campaign_id FROM int.campaign_spend AS s
),
-- Rows of the report (here) and of the tracker (there). In each row, the numbers of the other side are 0, and an
-- unknown number of its own side is NULL.
counted AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, s.source_id, 1 AS here, 0 AS there, s.spend, s.clicks, s.conversions,
    0 AS tracker_clicks, 0 AS tracker_conversions, 0 AS approved, 0 AS held, 0 AS refused, 0::DECIMAL(18,6) AS revenue
  FROM main.spend_daily AS s
  UNION ALL
  SELECT k.account_id, k.campaign_id, k.report_date, k.source_id, 0, 1, 0, 0, 0, k.clicks, k.conversions, k.approved, k.held, k.refused, k.revenue
  FROM main.tracker_daily AS k
),
-- Which columns the export has at all. In a column that the export has, a source that the export lacks counts as 0. In
-- any other column, all sources are unknown.
told AS (
  SELECT
    k.account_id, count(k.conversions) > 0 AS conversions, count(k.approved) > 0 AS approved, count(k.held) > 0 AS held, count(k.refused) > 0 AS refused,
    count(k.revenue) > 0 AS revenue
  FROM main.tracker_daily AS k
  JOIN looked_at AS d ON d.account_id = k.account_id AND d.report_date = k.report_date AND d.is_tracked
  GROUP BY k.account_id
),
by_day AS (
  SELECT
    c.account_id, grouping(c.source_id) = 1 AS is_total, c.source_id, c.report_date, sum(c.here) AS here, sum(c.there) AS there, sum(c.spend) AS spend,
    CASE WHEN count(c.clicks) = count(*) THEN sum(c.clicks) END AS clicks, CASE WHEN count(c.conversions) = count(*) THEN sum(c.conversions) END AS conversions,
    CASE WHEN count(c.tracker_clicks) = count(*) THEN sum(c.tracker_clicks) END AS tracker_clicks,
    CASE WHEN any_value(t.conversions) AND count(c.tracker_conversions) = count(*) THEN sum(c.tracker_conversions) END AS tracker_conversions,
    CASE WHEN any_value(t.approved) AND count(c.approved) = count(*) THEN sum(c.approved) END AS approved, CASE WHEN any_value(t.held) AND count(c.held) = count(*) THEN sum(c.held) END AS held,
    CASE WHEN any_value(t.refused) AND count(c.refused) = count(*) THEN sum(c.refused) END AS refused, CASE WHEN any_value(t.revenue) AND count(c.revenue) = count(*) THEN sum(c.revenue) END AS revenue
  FROM counted AS c
  JOIN looked_at AS d ON d.account_id = c.account_id AND d.report_date = c.report_date AND d.is_tracked
  JOIN known AS k ON k.account_id = c.account_id AND k.campaign_id = c.campaign_id
  JOIN told AS t ON t.account_id = c.account_id
  WHERE $campaign::VARCHAR = '' OR c.campaign_id = $campaign::VARCHAR
  GROUP BY GROUPING SETS ((c.account_id, c.report_date), (c.account_id, c.report_date, c.source_id))
),
-- Only integers are added up, so that the result does not depend on the order of the rows.
summed AS (
  SELECT
    b.account_id, b.is_total, b.source_id, sum(b.here) AS here, sum(b.there) AS there, sum(b.spend) AS spend, count(*) AS days, count(*) - 1 AS freedom,
    CASE WHEN count(b.clicks) = count(*) THEN sum(b.clicks) END AS clicks, CASE WHEN count(b.conversions) = count(*) THEN sum(b.conversions) END AS conversions,
    CASE WHEN count(b.tracker_clicks) = count(*) THEN sum(b.tracker_clicks) END AS arrived, CASE WHEN count(b.tracker_conversions) = count(*) THEN sum(b.tracker_conversions) END AS tracker_conversions,
    CASE WHEN count(b.approved) = count(*) THEN sum(b.approved) END AS approved, CASE WHEN count(b.held) = count(*) THEN sum(b.held) END AS held,
    CASE WHEN count(b.refused) = count(*) THEN sum(b.refused) END AS refused, CASE WHEN count(b.revenue) = count(*) THEN sum(b.revenue) END AS revenue,
    sum(b.clicks * b.clicks)::DOUBLE AS clicks_squared, sum(b.tracker_clicks * b.tracker_clicks)::DOUBLE AS arrived_squared, sum(b.clicks * b.tracker_clicks)::DOUBLE AS clicks_arrived
  FROM by_day AS b
  GROUP BY b.account_id, b.is_total, b.source_id
),
shared AS (
  SELECT
    s.*, s.arrived::DOUBLE / nullif(s.clicks, 0) AS share, s.revenue - s.spend AS profit, nullif(s.approved + s.refused, 0)::DOUBLE AS decided,
    max(s.arrived) FILTER (WHERE s.is_total) OVER of_account::DOUBLE / nullif(max(s.clicks) FILTER (WHERE s.is_total) OVER of_account, 0) AS usual,
    row_number() OVER (PARTITION BY s.account_id, s.is_total ORDER BY s.revenue - s.spend NULLS LAST, s.spend DESC, s.source_id) AS place
  FROM summed AS s
  WINDOW of_account AS (PARTITION BY s.account_id)
),
-- The standard deviation of the share: the larger of the deviation of a binomial count and the deviation between the
-- days.
deviating AS (
  SELECT
    s.*, safe_sqrt(greatest(
      greatest(s.share * (1 - s.share), s.usual * (1 - s.usual), 0) / nullif(s.clicks, 0),
      CASE WHEN s.freedom >= 2 THEN
        greatest(0, s.arrived_squared - 2 * s.share * s.clicks_arrived + s.share * s.share * s.clicks_squared) * s.days / s.freedom / nullif(s.clicks::DOUBLE * s.clicks, 0)
      ELSE 0 END)) AS deviation
  FROM shared AS s
),
level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'bound_z') AS z, (2.6::DOUBLE /* ctr_min_z */) AS sure
  FROM int.threshold AS t
),
-- With few days the deviation itself is uncertain, so use Student's quantile, by Cornish and Fisher's expansion.
bounded AS (
  SELECT
    p.*, l.z, l.sure, p.deviation
      * CASE WHEN p.freedom >= 2 THEN 1 + (l.z * l.z + 1) / (4 * p.freedom) + (5 * pow(l.z, 4) + 16 * l.z * l.z + 3) / (96.0 * p.freedom * p.freedom) ELSE 1 END AS width
  FROM deviating AS p
  CROSS JOIN level AS l
)
SELECT
  d.account_id, p.source_id,
  CASE
    WHEN p.is_total IS DISTINCT FROM false THEN NULL
    WHEN p.clicks = 0 THEN 'only_tracker'
    WHEN p.arrived = 0 THEN 'not_in_export'
    WHEN p.usual - p.share > p.sure * p.width THEN 'loses_more'
    WHEN p.clicks IS NOT NULL AND p.arrived IS NOT NULL THEN 'usual'
  END AS verdict,
  CASE WHEN p.is_total IS DISTINCT FROM false THEN NULL WHEN p.here = 0 THEN 'tracker' WHEN p.there = 0 THEN 'service' ELSE 'both' END AS seen_by,
  p.spend, p.revenue, p.profit, ratio(p.profit, p.spend)::DECIMAL(18,3) AS roi,
  p.conversions, p.tracker_conversions, p.approved, p.held, p.refused,
  (p.approved / p.decided)::DECIMAL(18,3) AS approved_share,
  ((p.approved + p.z * p.z / 2 - p.z * safe_sqrt(p.approved * p.refused / p.decided + p.z * p.z / 4)) / (p.decided + p.z * p.z))::DECIMAL(18,3) AS approved_share_low,
  ((p.approved + p.z * p.z / 2 + p.z * safe_sqrt(p.approved * p.refused / p.decided + p.z * p.z / 4)) / (p.decided + p.z * p.z))::DECIMAL(18,3) AS approved_share_high,
  p.clicks, p.arrived AS tracker_clicks, (1 - p.share)::DECIMAL(18,3) AS lost_share, (1 - p.share - p.z * p.width)::DECIMAL(18,3) AS lost_share_low,
  CASE WHEN p.share IS NOT NULL THEN least(1, 1 - p.share + p.z * p.width) END::DECIMAL(18,3) AS lost_share_high,
  CASE WHEN p.share <= 1 THEN (p.spend::DOUBLE * (1 - p.share))::DECIMAL(18,2) WHEN p.share > 1 THEN 0 END AS lost_spend,
  d.compared AS days_compared, d.apart AS days_apart
FROM days AS d
LEFT JOIN bounded AS p ON p.account_id = d.account_id AND (p.is_total OR p.place <= $rows::BIGINT)
WHERE EXISTS (SELECT 1 FROM main.tracker_daily AS k WHERE k.account_id = d.account_id)
ORDER BY d.account_id, p.is_total DESC, p.place
