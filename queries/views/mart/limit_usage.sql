-- How much of each daily change budget was used when last seen to differ?
-- Trap: a row is stored when something differs, so seen_at may be long ago; once resets_at has passed, used counts a day that is over.
-- Column seen_at: When this count was first seen.
-- Column remaining: Changes left until the reset: allowed less used. NULL: not limited or not reported.
-- Column used_share: Share of the budget that was used, 0 to 1. NULL: not limited or not reported.
-- Column is_over: Whether resets_at has passed, so that the count has started over. NULL: resets_at unknown.
SELECT
  l.account_id, l.kind, l.used, l.allowed, l.allowed - l.used AS remaining,
  l.used::DOUBLE / nullif(l.allowed, 0) AS used_share,
  l.resets_at, l.resets_at <= now() AS is_over, l.seen_at
FROM main.account_limit AS l
QUALIFY row_number() OVER (PARTITION BY l.account_id, l.kind ORDER BY l.seen_at DESC) = 1
