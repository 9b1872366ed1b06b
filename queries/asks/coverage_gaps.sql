-- Is everything there, how old is it, and what should be done?
-- Trap: it is as of now, not as of the last sync; a day that is there may still be restated, and settings are seen only when a sync reads them.
-- Shown: what_to_do, gaps, days_left_for_gap, is_stale, hours_old, last_whole_date
WITH gap AS (
  SELECT
    c.account_id,
    count(*) FILTER (WHERE c.state_now IN ('complete', 'final')) AS days_whole,
    count(*) FILTER (WHERE c.control_total_state = 'matched' AND c.state_now IN ('complete', 'final')) AS days_matched,
    string_agg(c.report_date || ' ' || c.state_now, ', ' ORDER BY c.report_date)
      FILTER (WHERE c.state_now IN ('lost', 'incomplete') OR (c.state_now IN ('missing', 'partial') AND c.report_date <= f.last_over)) AS gaps
  FROM mart.coverage AS c
  JOIN (
    SELECT k.account_id, max(k.report_date) AS last_over
    FROM main.calendar AS k
    WHERE k.ends_at <= now()
    GROUP BY k.account_id
  ) AS f ON f.account_id = c.account_id
  GROUP BY c.account_id
)
SELECT
  f.account_id, f.as_of_at, f.hours_old::DECIMAL(18,1) AS hours_old, f.is_stale, f.last_whole_date,
  g.days_whole, g.days_matched, f.days_missing, f.days_lost, g.gaps, f.days_left_for_gap,
  f.campaigns_unconfirmed, f.last_run_at, f.last_run_exit_code, f.what_to_do
FROM mart.freshness AS f
JOIN gap AS g ON g.account_id = f.account_id
ORDER BY f.account_id
