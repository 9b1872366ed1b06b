-- Where do clicks get lost between the service and your own tracker?
-- Trap: only days that both have are added up (days_compared). A few clicks are always lost, to slow pages and to bots that the tracker drops: what counts is a source that loses more than the account does (verdict). The tracker's days begin at its own midnight, which the bounds of a few days allow for; a share below 0 means that the tracker has more clicks. The first row is all sources together.
-- Parameter campaign: "", campaign whose sources are asked for, by its ID; empty: every campaign.
-- Parameter days: 30, days to look back from the last one that is proven complete.
-- Parameter rows: 50, sources to show, those that lose most clicks first.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Alone: no source has a click on a day that both have
-- Shown: verdict, source_id, clicks, tracker_clicks, lost_share, lost_share_low, lost_share_high, lost_spend, days_compared
-- Column source_id: Source. NULL: all sources together.
-- Column clicks: Clicks that the service bills. NULL: some row lacks the number.
-- Column tracker_clicks: Clicks that arrived at the tracker, of campaigns of this account. NULL: the export has none.
-- Column lost_share: Clicks that did not arrive, as a share of those billed.
-- Column lost_share_low: The lowest that this share can be by chance (threshold bound_z), by how much it differs from day to day.
-- Column lost_share_high: The highest that it can be by chance.
-- Column lost_spend: US dollars spent on the clicks that did not arrive.
-- Column verdict: loses_more: it loses a larger share than all sources together, beyond chance (threshold ctr_min_z, for many are compared); usual: chance may explain the difference; not_in_export: the tracker has no click of it, perhaps under another name; only_tracker: nothing was billed here. NULL: all sources.
-- Column days_compared: Days that are compared: whole here, in the tracker's export, and with a row of the source.
WITH tracked AS (
  SELECT c.account_id, c.report_date
  FROM ops.day_coverage AS c
  JOIN main.today AS t ON t.account_id = c.account_id AND c.report_date > t.last_whole_date - $days::INTEGER AND c.report_date <= t.last_whole_date
  JOIN (SELECT DISTINCT d.account_id, d.report_date FROM main.tracker_daily AS d) AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('complete', 'final')
),
known AS (
  SELECT DISTINCT h.account_id, h.campaign_id FROM main.campaign_history AS h
  UNION
  SELECT DISTINCT s.account_id, s.campaign_id FROM mart.campaign_spend AS s
),
counted AS (
  SELECT s.account_id, s.report_date, s.source_id, s.spend, s.clicks, CASE WHEN s.clicks IS NULL THEN 1 ELSE 0 END AS unread, 0 AS arrived, 0 AS untold
  FROM main.spend_daily AS s
  JOIN tracked AS d ON d.account_id = s.account_id AND d.report_date = s.report_date
  WHERE $campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR
  UNION ALL
  SELECT k.account_id, k.report_date, k.source_id, 0, 0, 0, k.clicks, CASE WHEN k.clicks IS NULL THEN 1 ELSE 0 END
  FROM main.tracker_daily AS k
  JOIN tracked AS d ON d.account_id = k.account_id AND d.report_date = k.report_date
  JOIN known AS n ON n.account_id = k.account_id AND n.campaign_id = k.campaign_id
  WHERE $campaign::VARCHAR = '' OR k.campaign_id = $campaign::VARCHAR
),
by_day AS (
  SELECT
    c.account_id, grouping(c.source_id) = 1 AS is_total, c.source_id, c.report_date, sum(c.spend) AS spend,
    CASE WHEN sum(c.unread) = 0 THEN sum(c.clicks) END AS clicks, CASE WHEN sum(c.untold) = 0 THEN sum(c.arrived) END AS arrived
  FROM counted AS c
  GROUP BY GROUPING SETS ((c.account_id, c.report_date), (c.account_id, c.report_date, c.source_id))
),
-- Sums of whole numbers: in any order they give the same.
summed AS (
  SELECT
    b.account_id, b.is_total, b.source_id, sum(b.spend) AS spend, count(*) AS days, count(b.clicks) = count(*) AND count(b.arrived) = count(*) AS is_told,
    CASE WHEN count(b.clicks) = count(*) THEN sum(b.clicks) END AS clicks, CASE WHEN count(b.arrived) = count(*) THEN sum(b.arrived) END AS arrived,
    sum(b.clicks * b.clicks)::DOUBLE AS clicks_squared, sum(b.arrived * b.arrived)::DOUBLE AS arrived_squared, sum(b.clicks * b.arrived)::DOUBLE AS clicks_arrived
  FROM by_day AS b
  GROUP BY b.account_id, b.is_total, b.source_id
),
shared AS (
  SELECT
    s.*, s.arrived::DOUBLE / nullif(s.clicks, 0) AS share, s.days - 1 AS freedom,
    max(s.arrived) FILTER (WHERE s.is_total) OVER of_account::DOUBLE / nullif(max(s.clicks) FILTER (WHERE s.is_total) OVER of_account, 0) AS usual
  FROM summed AS s
  WINDOW of_account AS (PARTITION BY s.account_id)
),
-- The deviation of the share: that of clicks that arrive or do not, or what the days themselves show if that is more.
deviating AS (
  SELECT
    s.*, sqrt(greatest(
      greatest(s.share * (1 - s.share), s.usual * (1 - s.usual), 0) / nullif(s.clicks, 0),
      CASE WHEN s.freedom >= 2 THEN
        greatest(0, s.arrived_squared - 2 * s.share * s.clicks_arrived + s.share * s.share * s.clicks_squared) * s.days / s.freedom / nullif(s.clicks::DOUBLE * s.clicks, 0)
      ELSE 0 END)) AS deviation
  FROM shared AS s
),
placed AS (
  SELECT d.*, row_number() OVER (PARTITION BY d.account_id, d.is_total ORDER BY d.clicks - d.arrived DESC NULLS LAST, d.spend DESC, d.source_id) AS place
  FROM deviating AS d
),
-- Of few days the deviation itself is uncertain: Student's quantile, by Cornish and Fisher.
level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'bound_z') AS z, max(t.value) FILTER (WHERE t.name = 'ctr_min_z') AS sure
  FROM mart.threshold AS t
),
bounded AS (
  SELECT
    p.*, CASE WHEN p.freedom >= 2 THEN 1 + (l.z * l.z + 1) / (4 * p.freedom) + (5 * pow(l.z, 4) + 16 * l.z * l.z + 3) / (96.0 * p.freedom * p.freedom) ELSE 1 END AS widened, l.z, l.sure
  FROM placed AS p
  CROSS JOIN level AS l
)
SELECT
  t.account_id, b.source_id,
  CASE
    WHEN b.is_total THEN NULL
    WHEN b.clicks = 0 THEN 'only_tracker'
    WHEN b.arrived = 0 THEN 'not_in_export'
    WHEN b.usual - b.share > b.sure * b.widened * b.deviation THEN 'loses_more'
    WHEN b.is_told THEN 'usual'
  END AS verdict,
  b.spend, b.clicks, b.arrived AS tracker_clicks, (1 - b.share)::DECIMAL(18,3) AS lost_share,
  (1 - b.share - b.z * b.widened * b.deviation)::DECIMAL(18,3) AS lost_share_low, CASE WHEN b.share IS NOT NULL THEN least(1, 1 - b.share + b.z * b.widened * b.deviation) END::DECIMAL(18,3) AS lost_share_high,
  CASE WHEN b.share <= 1 THEN (b.spend::DOUBLE * (1 - b.share))::DECIMAL(18,2) WHEN b.share > 1 THEN 0 END AS lost_spend, coalesce(b.days, 0) AS days_compared
FROM main.today AS t
LEFT JOIN bounded AS b ON b.account_id = t.account_id AND (b.is_total OR b.place <= $rows::BIGINT)
ORDER BY t.account_id, b.is_total DESC, b.place
