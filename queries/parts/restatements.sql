-- How much did the service change days that were over, and how late?
-- Trap: seen_at is when we saw it; the change lies between that and the read before. Growth of a day that was not over is not a restatement and is left out.
restatements AS (
  WITH seen AS (
    SELECT
      s.account_id, s.report_date, s.seen_at,
      count(*) FILTER (WHERE s.op = 'insert') AS rows_inserted,
      count(*) FILTER (WHERE s.op = 'update') AS rows_updated,
      count(*) FILTER (WHERE s.op = 'delete') AS rows_deleted,
      sum(coalesce(s.new_spend, 0) - coalesce(s.old_spend, 0))::DECIMAL(18,6) AS spend_change,
      sum(coalesce(s.new_clicks, 0) - coalesce(s.old_clicks, 0))::BIGINT AS clicks_change,
      sum(coalesce(s.new_impressions, 0) - coalesce(s.old_impressions, 0))::BIGINT AS impressions_change,
      sum(coalesce(s.new_conversions, 0) - coalesce(s.old_conversions, 0))::BIGINT AS conversions_change
    FROM main.spend_change AS s
    GROUP BY s.account_id, s.report_date, s.seen_at
  ),
  undone AS (
    -- From what is stored now, this change and all later ones are taken away.
    SELECT
      s.*,
      (c.spend - sum(s.spend_change) OVER (PARTITION BY s.account_id, s.report_date ORDER BY s.seen_at DESC))::DECIMAL(18,6) AS spend_before
    FROM seen AS s
    LEFT JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date = s.report_date
  )
  SELECT
    u.account_id, u.report_date, u.seen_at, z.report_date - u.report_date AS age_days,
    (epoch(u.seen_at) - epoch(k.ends_at)) / 3600 AS hours_after_end,
    u.rows_inserted, u.rows_updated, u.rows_deleted, u.spend_before, u.spend_change,
    u.spend_change::DOUBLE / nullif(u.spend_before, 0)::DOUBLE AS spend_change_share,
    u.clicks_change, u.impressions_change, u.conversions_change
  FROM undone AS u
  JOIN main.calendar AS k ON k.account_id = u.account_id AND k.report_date = u.report_date
  JOIN main.calendar AS z ON z.account_id = u.account_id AND z.starts_at <= u.seen_at AND u.seen_at < z.ends_at
),
