-- What did your own tracker count, by source or by day: what was really earned, and which clicks get lost?
-- Trap: only days that are whole here and in the export are added up (days_compared), and a source that the export lacks on them counts as 0: see seen_by before you block it. A few clicks are always lost, to slow pages and to bots that the tracker drops: what counts is a source that loses more than the account does, and a day that differs from what is usual between the two beyond chance (threshold break_min_z) and by more than 2 %. Conversions on hold may still be refused, and those of the last days arrive on both sides. The tracker's days begin at its own midnight. By source the first row is all together.
-- Parameter by: source, source or day.
-- Parameter campaign: "", campaign that is asked for, by its ID; empty: every campaign.
-- Parameter days: 30, days to look back from the last one that is proven complete.
-- Parameter rows: 50, sources to show, those that lose most first, or days, those that disagree first.
-- Days: s.report_date > t.last_whole_date - $days::INTEGER AND s.report_date <= t.last_whole_date
-- Alone: No source has spend or a row of the tracker on a day that both have.
-- Shown: verdict, report_date, source_id, spend, revenue, profit, approved_share, clicks, tracker_clicks, lost_share, clicks_usual, conversions, tracker_conversions, conversions_usual
-- Column verdict: Of a day: agree; clicks, conversions, or both differ from what is usual between the two; not_in_export: the export lacks the day; unclear: fewer than 7 days are compared, or the numbers are not told. Of a source: loses_more: it loses a larger share of its clicks than all sources together, beyond chance (2.6 standard deviations, for many are compared); usual: chance may explain the difference; not_in_export: the tracker has no click of it, perhaps under another name; only_tracker: nothing was billed here. NULL: all sources, or it is not told.
-- Column clicks: Clicks that the service bills. NULL: some row lacks the number.
-- Column tracker_clicks: Clicks that arrived at the tracker. NULL: the export does not tell.
-- Column clicks_usual: Clicks that would have arrived of those billed at the usual share: the median of the days.
-- Column conversions: Conversions as the service counts them. NULL: some row lacks the number.
-- Column tracker_conversions: Conversions as the tracker counts them, of every state. NULL: the export does not tell.
-- Column conversions_usual: Conversions that the tracker would have had for those of the service at the usual share.
-- Column clicks_z: How far the tracker's clicks are from the usual, in standard deviations.
-- Column conversions_z: The same of its conversions.
-- Column source_id: Source. NULL: all sources together, those of a campaign that only the tracker knows, or a day. Empty: no source was named.
-- Column lost_share: Clicks that did not arrive, as a share of those billed.
-- Column lost_share_low: The lowest that this share can be by chance (threshold bound_z), by how much it differs from day to day.
-- Column lost_share_high: The highest that it can be by chance.
-- Column lost_spend: US dollars spent on the clicks that did not arrive.
-- Column days_compared: Days that are compared: whole here, in the tracker's export, and with a row of the source.
-- Column campaign_id: Campaign of the tracker that this account does not have, perhaps of another network or named otherwise. NULL: the row is of campaigns of this account.
-- Column seen_by: both; service: it spent here, and the export lacks it; tracker: the export has it, and nothing was spent here; unknown_campaign: the account has no such campaign.
-- Column spend: US dollars spent on the days that are compared. NULL: there is no such day, or the campaign is not of this account.
-- Column approved: Conversions that are approved. NULL: the export does not tell.
-- Column held: Conversions on which nobody has decided yet. NULL: the export does not tell.
-- Column refused: Conversions that were refused. NULL: the export does not tell.
-- Column revenue: US dollars that the tracker books. NULL: the export does not tell.
-- Column profit: Revenue less spend, in US dollars.
-- Column roi: Profit by spend.
-- Column approved_share: Approved conversions as a share of those decided on, approved or refused. NULL: none is, or the export does not tell.
-- Column approved_share_low: The lowest that this share can be by chance (threshold bound_z).
-- Column approved_share_high: The highest that it can be by chance.
-- Column days_apart: Whole days looked at that the export lacks.
-- Column report_date: Day. NULL: the row is of a source.
WITH looked_at AS (
  SELECT c.account_id, c.report_date, k.account_id IS NOT NULL AS is_tracked
  FROM ops.day_coverage AS c
  JOIN main.today AS t ON t.account_id = c.account_id AND c.report_date > t.last_whole_date - $days::INTEGER AND c.report_date <= t.last_whole_date
  LEFT JOIN (SELECT DISTINCT d.account_id, d.report_date FROM main.tracker_daily AS d) AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.state IN ('complete', 'final')
),
known AS (
  SELECT DISTINCT h.account_id, h.campaign_id FROM main.campaign_history AS h
  UNION
  SELECT DISTINCT s.account_id, s.campaign_id FROM mart.campaign_spend AS s
),
day_here AS (
  SELECT
    s.account_id, s.report_date, CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks) END AS clicks, CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions) END AS conversions
  FROM main.spend_daily AS s
  WHERE $campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR
  GROUP BY s.account_id, s.report_date
),
day_there AS (
  SELECT
    k.account_id, k.report_date, CASE WHEN count(k.clicks) = count(*) THEN sum(k.clicks) END AS clicks, CASE WHEN count(k.conversions) = count(*) THEN sum(k.conversions) END AS conversions
  FROM main.tracker_daily AS k
  JOIN known AS n ON n.account_id = k.account_id AND n.campaign_id = k.campaign_id
  WHERE $campaign::VARCHAR = '' OR k.campaign_id = $campaign::VARCHAR
  GROUP BY k.account_id, k.report_date
),
-- A day without a row is 0 where it was looked at.
day_measured AS (
  SELECT d.account_id, d.report_date, d.is_tracked, m.measure, m.ours::DOUBLE AS ours, CASE WHEN d.is_tracked THEN m.theirs::DOUBLE END AS theirs
  FROM looked_at AS d
  JOIN (SELECT k.account_id, min(k.report_date) AS since FROM main.tracker_daily AS k GROUP BY k.account_id) AS f ON f.account_id = d.account_id AND d.report_date >= f.since
  LEFT JOIN day_here AS h ON h.account_id = d.account_id AND h.report_date = d.report_date
  LEFT JOIN day_there AS t ON t.account_id = d.account_id AND t.report_date = d.report_date
  CROSS JOIN LATERAL (
    VALUES ('clicks', CASE WHEN h.account_id IS NULL THEN 0 ELSE h.clicks END, CASE WHEN t.account_id IS NULL THEN 0 ELSE t.clicks END),
      ('conversions', CASE WHEN h.account_id IS NULL THEN 0 ELSE h.conversions END, CASE WHEN t.account_id IS NULL THEN 0 ELSE t.conversions END)
  ) AS m(measure, ours, theirs)
),
day_shared AS (
  SELECT m.*, median(m.theirs / nullif(m.ours, 0)) OVER of_measure AS usual, count(m.ours + m.theirs) OVER of_measure AS days
  FROM day_measured AS m
  WINDOW of_measure AS (PARTITION BY m.account_id, m.measure)
),
-- The usual spread by the median of what differs, so that a broken day does not widen it.
day_spread AS (
  SELECT s.*, 1.4826 * median(abs(s.theirs - s.usual * s.ours) / sqrt(nullif(s.ours, 0))) OVER of_measure AS scatter
  FROM day_shared AS s
  WINDOW of_measure AS (PARTITION BY s.account_id, s.measure)
),
day_tested AS (
  SELECT
    s.*, (s.theirs - s.usual * s.ours) / sqrt(1 + greatest(s.scatter * s.scatter, s.usual * (1 - s.usual), 0) * s.ours) AS z,
    abs(s.theirs - s.usual * s.ours) > 0.02 * s.usual * s.ours AS is_large
  FROM day_spread AS s
),
day_level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'break_min_z') AS sure, (7::DOUBLE /* impact_days */) AS days
  FROM mart.threshold AS t
),
day_day AS (
  SELECT
    t.account_id, t.report_date, any_value(t.is_tracked) AS is_tracked,
    max(t.ours) FILTER (WHERE t.measure = 'clicks') AS clicks, max(t.theirs) FILTER (WHERE t.measure = 'clicks') AS tracker_clicks,
    max(t.usual * t.ours) FILTER (WHERE t.measure = 'clicks') AS clicks_usual, max(t.z) FILTER (WHERE t.measure = 'clicks') AS clicks_z,
    max(t.ours) FILTER (WHERE t.measure = 'conversions') AS conversions, max(t.theirs) FILTER (WHERE t.measure = 'conversions') AS tracker_conversions,
    max(t.usual * t.ours) FILTER (WHERE t.measure = 'conversions') AS conversions_usual, max(t.z) FILTER (WHERE t.measure = 'conversions') AS conversions_z,
    coalesce(bool_or(t.z IS NOT NULL AND t.days >= l.days), false) AS is_tested,
    coalesce(bool_or(abs(t.z) > l.sure AND t.is_large AND t.days >= l.days) FILTER (WHERE t.measure = 'clicks'), false) AS clicks_differ,
    coalesce(bool_or(abs(t.z) > l.sure AND t.is_large AND t.days >= l.days) FILTER (WHERE t.measure = 'conversions'), false) AS conversions_differ
  FROM day_tested AS t
  CROSS JOIN day_level AS l
  GROUP BY t.account_id, t.report_date
),
click_counted AS (
  SELECT s.account_id, s.report_date, s.source_id, s.spend, s.clicks, CASE WHEN s.clicks IS NULL THEN 1 ELSE 0 END AS unread, 0 AS arrived, 0 AS untold
  FROM main.spend_daily AS s
  JOIN looked_at AS d ON d.account_id = s.account_id AND d.report_date = s.report_date AND d.is_tracked
  WHERE $campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR
  UNION ALL
  SELECT k.account_id, k.report_date, k.source_id, 0, 0, 0, k.clicks, CASE WHEN k.clicks IS NULL THEN 1 ELSE 0 END
  FROM main.tracker_daily AS k
  JOIN looked_at AS d ON d.account_id = k.account_id AND d.report_date = k.report_date AND d.is_tracked
  JOIN known AS n ON n.account_id = k.account_id AND n.campaign_id = k.campaign_id
  WHERE $campaign::VARCHAR = '' OR k.campaign_id = $campaign::VARCHAR
),
click_by_day AS (
  SELECT
    c.account_id, grouping(c.source_id) = 1 AS is_total, c.source_id, c.report_date, sum(c.spend) AS spend,
    CASE WHEN sum(c.unread) = 0 THEN sum(c.clicks) END AS clicks, CASE WHEN sum(c.untold) = 0 THEN sum(c.arrived) END AS arrived
  FROM click_counted AS c
  GROUP BY GROUPING SETS ((c.account_id, c.report_date), (c.account_id, c.report_date, c.source_id))
),
-- Sums of whole numbers: in any order they give the same.
click_summed AS (
  SELECT
    b.account_id, b.is_total, b.source_id, sum(b.spend) AS spend, count(*) AS days, count(b.clicks) = count(*) AND count(b.arrived) = count(*) AS is_told,
    CASE WHEN count(b.clicks) = count(*) THEN sum(b.clicks) END AS clicks, CASE WHEN count(b.arrived) = count(*) THEN sum(b.arrived) END AS arrived,
    sum(b.clicks * b.clicks)::DOUBLE AS clicks_squared, sum(b.arrived * b.arrived)::DOUBLE AS arrived_squared, sum(b.clicks * b.arrived)::DOUBLE AS clicks_arrived
  FROM click_by_day AS b
  GROUP BY b.account_id, b.is_total, b.source_id
),
click_shared AS (
  SELECT
    s.*, s.arrived::DOUBLE / nullif(s.clicks, 0) AS share, s.days - 1 AS freedom,
    max(s.arrived) FILTER (WHERE s.is_total) OVER of_account::DOUBLE / nullif(max(s.clicks) FILTER (WHERE s.is_total) OVER of_account, 0) AS usual
  FROM click_summed AS s
  WINDOW of_account AS (PARTITION BY s.account_id)
),
-- The deviation of the share: that of clicks that arrive or do not, or what the days themselves show if that is more.
click_deviating AS (
  SELECT
    s.*, sqrt(greatest(
      greatest(s.share * (1 - s.share), s.usual * (1 - s.usual), 0) / nullif(s.clicks, 0),
      CASE WHEN s.freedom >= 2 THEN
        greatest(0, s.arrived_squared - 2 * s.share * s.clicks_arrived + s.share * s.share * s.clicks_squared) * s.days / s.freedom / nullif(s.clicks::DOUBLE * s.clicks, 0)
      ELSE 0 END)) AS deviation
  FROM click_shared AS s
),
click_placed AS (
  SELECT d.*, row_number() OVER (PARTITION BY d.account_id, d.is_total ORDER BY d.clicks - d.arrived DESC NULLS LAST, d.spend DESC, d.source_id) AS place
  FROM click_deviating AS d
),
-- Of few days the deviation itself is uncertain: Student's quantile, by Cornish and Fisher.
click_level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'bound_z') AS z, (2.6::DOUBLE /* ctr_min_z */) AS sure
  FROM mart.threshold AS t
),
click_bounded AS (
  SELECT
    p.*, CASE WHEN p.freedom >= 2 THEN 1 + (l.z * l.z + 1) / (4 * p.freedom) + (5 * pow(l.z, 4) + 16 * l.z * l.z + 3) / (96.0 * p.freedom * p.freedom) ELSE 1 END AS widened, l.z, l.sure
  FROM click_placed AS p
  CROSS JOIN click_level AS l
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
),
by_day AS (
  SELECT
    d.account_id, d.report_date, row_number() OVER (PARTITION BY d.account_id ORDER BY d.clicks_differ OR d.conversions_differ DESC, d.report_date DESC) AS place,
    CASE
      WHEN NOT d.is_tracked THEN 'not_in_export'
      WHEN d.clicks_differ AND d.conversions_differ THEN 'both'
      WHEN d.clicks_differ THEN 'clicks'
      WHEN d.conversions_differ THEN 'conversions'
      WHEN d.is_tested THEN 'agree'
      ELSE 'unclear'
    END AS verdict,
    d.clicks::BIGINT AS clicks, d.tracker_clicks::BIGINT AS tracker_clicks, d.clicks_usual::DECIMAL(18,1) AS clicks_usual, d.clicks_z::DECIMAL(18,1) AS clicks_z,
    d.conversions::BIGINT AS conversions, d.tracker_conversions::BIGINT AS tracker_conversions, d.conversions_usual::DECIMAL(18,1) AS conversions_usual, d.conversions_z::DECIMAL(18,1) AS conversions_z
  FROM day_day AS d
),
clicks_lost AS (
  SELECT
    b.account_id, b.source_id, b.is_total,
    CASE
      WHEN b.is_total THEN NULL
      WHEN b.clicks = 0 THEN 'only_tracker'
      WHEN b.arrived = 0 THEN 'not_in_export'
      WHEN b.usual - b.share > b.sure * b.widened * b.deviation THEN 'loses_more'
      WHEN b.is_told THEN 'usual'
    END AS verdict,
    b.clicks, b.arrived AS tracker_clicks, (1 - b.share)::DECIMAL(18,3) AS lost_share,
    (1 - b.share - b.z * b.widened * b.deviation)::DECIMAL(18,3) AS lost_share_low, CASE WHEN b.share IS NOT NULL THEN least(1, 1 - b.share + b.z * b.widened * b.deviation) END::DECIMAL(18,3) AS lost_share_high,
    CASE WHEN b.share <= 1 THEN (b.spend::DOUBLE * (1 - b.share))::DECIMAL(18,2) WHEN b.share > 1 THEN 0 END AS lost_spend
  FROM click_bounded AS b
),
by_source AS (
  SELECT
    d.account_id, p.source_id, p.campaign_id, p.is_total, p.place,
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
)
SELECT * EXCLUDE (place, is_total)
FROM (
  SELECT d.*, NULL::BOOLEAN AS is_total
  FROM by_day AS d
  WHERE d.place <= $rows::BIGINT AND $by::VARCHAR = 'day'
  UNION ALL BY NAME
  SELECT s.*, c.* EXCLUDE (account_id, source_id, is_total)
  FROM by_source AS s
  LEFT JOIN clicks_lost AS c ON c.account_id = s.account_id AND c.source_id IS NOT DISTINCT FROM s.source_id AND c.is_total = s.is_total AND s.campaign_id IS NULL
  WHERE CASE $by::VARCHAR WHEN 'source' THEN true WHEN 'day' THEN false ELSE error('--param by=' || $by::VARCHAR || ': it is source or day') END
) AS a
ORDER BY a.account_id, a.is_total DESC, a.place
