-- Which campaigns hit their daily limits, and what would a raised limit buy?
-- Trap: a limited campaign sells out early in the day, so its CPA is that of its first hours; a limit is compared as it was at the end of the day.
-- Parameter rows: 20, campaigns to show, those that were held back most often first.
-- Days: s.report_date > t.last_whole_date - 7 AND s.report_date <= t.last_whole_date
-- Shown: verdict, campaign_name, days_limited, days_known, daily_spend_limit, spend, cpa, at_stake, action, campaign_id
-- Column days_known: Whole days of the last ones (threshold recent_days) on which the campaign had a row.
-- Column days_limited: Of those, days on which it spent all of its limit (95 %).
-- Column daily_spend_limit: US dollars a day that it may spend, on the last of these days. NULL: no limit, or never readable.
-- Column spend: US dollars in these days.
-- Column utilization: Spend as a share of the limits, of the days that had one.
-- Column conversions: Conversions in these days so far. NULL: some row lacks the number.
-- Column target_cpa: US dollars per conversion that it aimed at on the last of these days. NULL: none set, or never readable.
-- Column verdict: held_back: it pays and spent all of its limit on three of the days or more; limited: on as many, and it is not known to pay; sometimes: on fewer; free: on none; no_limit.
-- Column reason: How often it was at its limit, in a sentence. NULL: never.
-- Column at_stake: US dollars a day that a limit a tenth higher is expected to earn, at what a dollar of the campaign earned. NULL: it is not held back.
-- Column action: What to do. NULL: nothing.
WITH
-- Part: campaign_limit
SELECT
  l.account_id, l.verdict, l.campaign_id, l.campaign_name, l.days_limited, l.days_known, l.daily_spend_limit, l.spend, l.utilization::DECIMAL(18,3) AS utilization,
  l.conversions, l.cpa::DECIMAL(18,2) AS cpa, l.target_cpa, l.reason, l.at_stake::DECIMAL(18,2) AS at_stake, l.action
FROM campaign_limit AS l
WHERE l.days_limited > 0
ORDER BY l.days_limited::DOUBLE / l.days_known DESC, l.spend DESC, l.account_id, l.campaign_id
LIMIT $rows::BIGINT
