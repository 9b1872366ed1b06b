-- What changed in the settings, from what to what, and did it help?
-- Trap: campaigns and sources come first, then creatives; the newest first in each. Before and after is not proof; several changes between two reads appear as one; and a CPA of few days after is too high, for conversions still arrive: cpa_change compares at equal age, and verdict says whether chance explains it, less what the account's other campaigns did in those days (control_cpa_change). The service's own reviews of creatives are one row a day.
-- Parameter days: 14, Chicago days to look back from the day of the newest numbers, which is shown, too.
-- Parameter rows: 30, changes to show: campaigns and sources first, then creatives; the newest first in each.
-- Shown: seen_on, place, change, verdict, cpa_change, control_cpa_change
-- Column seen_on: Chicago day of seen_at.
-- Column change: What changed: old value -> new value.
-- Column reviews: Steps of the service's own reviews that the row stands for. NULL: it is a change.
WITH change AS (
  SELECT c.*
  FROM mart.change_log AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.starts_at <= c.seen_at AND c.seen_at < k.ends_at
  LEFT JOIN main.calendar AS n ON n.account_id = c.account_id AND n.starts_at <= now() AND now() < n.ends_at
  LEFT JOIN main.today AS t ON t.account_id = c.account_id
  WHERE c.kind <> 'delivery' AND k.report_date >= coalesce(t.today, n.report_date) - $days::INTEGER
),
found AS (
  SELECT
    c.account_id, c.seen_at, c.not_before, c.kind, c.campaign_id, c.campaign_name, c.creative_id, c.creative_title, c.source_id, c.rule,
    c.change_type, c.field, c.old_value, c.new_value, c.reason AS change, c.place, c.version_no, NULL::BIGINT AS reviews
  FROM change AS c
  WHERE NOT c.is_review
  UNION ALL
  SELECT
    c.account_id, max(c.seen_at), min(c.not_before), 'creative', NULL, NULL, NULL, NULL, NULL, NULL, 'changed', NULL, NULL, NULL,
    'reviews: ' || count(*) || CASE count(*) WHEN 1 THEN ' step' ELSE ' steps' END,
    count(DISTINCT c.creative_id) || CASE count(DISTINCT c.creative_id) WHEN 1 THEN ' creative' ELSE ' creatives' END, NULL, count(*)
  FROM change AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND c.seen_at >= k.starts_at AND c.seen_at < k.ends_at
  WHERE c.is_review
  GROUP BY c.account_id, k.report_date
)
SELECT
  c.account_id, c.seen_at, k.report_date AS seen_on, c.change, c.place, i.verdict, c.not_before, c.kind, c.campaign_id, c.campaign_name, c.creative_id, c.creative_title, c.source_id, c.rule,
  c.change_type, c.field, c.old_value, c.new_value, c.reviews,
  i.days_before, i.cpa_before::DECIMAL(18,2) AS cpa_before, i.days_after, i.cpa_after::DECIMAL(18,2) AS cpa_after,
  i.spend_per_day_change::DECIMAL(18,3) AS spend_per_day_change, i.other_changes,
  i.cpa_change::DECIMAL(18,3) AS cpa_change, i.compared_by, i.control_campaigns, i.control_cpa_change::DECIMAL(18,3) AS control_cpa_change, i.at_stake::DECIMAL(18,2) AS at_stake
FROM found AS c
JOIN main.calendar AS k ON k.account_id = c.account_id AND k.starts_at <= c.seen_at AND c.seen_at < k.ends_at
LEFT JOIN mart.change_impact AS i
  ON c.kind = 'campaign' AND i.account_id = c.account_id AND i.campaign_id = c.campaign_id AND i.version_no = c.version_no
ORDER BY c.kind = 'creative', c.seen_at DESC, c.account_id, c.kind, c.campaign_id, c.creative_id, c.source_id, c.rule, c.field
LIMIT $rows::BIGINT
