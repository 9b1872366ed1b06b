-- Which share of its final conversions has arrived by now, for the days of the performance window by how young they are?
-- Of maturity, the rows of mart.day_maturity. Before the account's days have been followed for long enough nothing is known and all counts as arrived.
window_share AS (
  SELECT
    w.account_id,
    CASE
      WHEN w.window_to - w.report_date < 3 THEN 'spend_day_' || (w.window_to - w.report_date + 1)
      WHEN w.window_to - w.report_date < 5 THEN 'spend_day_4_5'
      WHEN w.window_to - w.report_date < 8 THEN 'spend_day_6_8'
      WHEN w.window_to - w.report_date < 14 THEN 'spend_day_9_14'
      ELSE 'spend_day_15'
    END AS days,
    count(*) AS days_known,
    CASE WHEN count(m.conversions_share) = count(*) THEN sum((1e9 * m.conversions_share)::BIGINT)::DOUBLE / 1e9 / count(*) END AS conversions_share
  FROM mart.performance_window AS w
  LEFT JOIN maturity AS m ON m.account_id = w.account_id AND m.report_date = w.report_date
  GROUP BY ALL
),
