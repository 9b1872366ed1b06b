-- Which campaigns hit their daily limits, and what would a raised limit buy?
-- Trap: a limited campaign sells out early in the day, so its CPA is that of its first hours; a limit is compared as it was at the end of the day.
-- Parameter rows: 20, campaigns to show, those that were held back most often first.
-- Days: s.report_date > t.last_whole_date - 7 AND s.report_date <= t.last_whole_date
-- Shown: verdict, campaign_name, days_limited, days_known, daily_spend_limit, spend, cpa, at_stake, action, campaign_id
SELECT
  l.account_id, l.verdict, l.campaign_id, l.campaign_name, l.days_limited, l.days_known, l.daily_spend_limit, l.spend, l.utilization::DECIMAL(18,3) AS utilization,
  l.conversions, l.cpa::DECIMAL(18,2) AS cpa, l.target_cpa, l.reason, l.at_stake::DECIMAL(18,2) AS at_stake, l.action
FROM mart.campaign_limit AS l
WHERE l.days_limited > 0
ORDER BY l.days_limited::DOUBLE / l.days_known DESC, l.spend DESC, l.account_id, l.campaign_id
LIMIT $rows::BIGINT
