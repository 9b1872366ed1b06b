-- Is everything there, how old is it, and what should be done?
-- Trap: it is as of now, not as of the last sync; a day that is there may still be restated, and settings are seen only when a sync reads them.
-- Shown: what_to_do, gaps, days_left_for_gap, is_stale, hours_old, last_whole_date
-- Column as_of_at: When the newest numbers here were read. NULL: none were.
-- Column hours_old: Hours since then.
-- Column is_stale: Whether that is longer than threshold stale_hours, or nothing was ever read.
-- Column last_whole_date: Newest Chicago day that is proven complete. NULL: none.
-- Column days_behind: Chicago days that are over and newer than that. NULL: none is proven complete.
-- Column days_missing: Days not read, or last read before they were over, that can still be read; today is not counted.
-- Column days_lost: Days that were never proven complete and can no longer be read.
-- Column oldest_gap_date: Oldest day among days_missing. NULL: none.
-- Column days_left_for_gap: Days left in which that one can be read, today included.
-- Column campaigns_unconfirmed: Campaigns, neither archived nor deleted, whose settings were last confirmed longer ago than threshold stale_hours.
-- Column last_run_at: When the last run that is known here ended.
-- Column last_run_exit_code: How it ended: 'spendsync help config' lists the exit codes.
-- Column last_run_outcome: The same in words.
-- Column what_to_do: What to do first.
WITH
-- Part: freshness
gap AS (
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
FROM freshness AS f
JOIN gap AS g ON g.account_id = f.account_id
ORDER BY f.account_id
