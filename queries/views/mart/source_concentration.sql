-- How much of each account's spend depends on how few sources?
-- Trap: a large share is not a fault of the source; it shows what its loss would cost.
-- Column campaigns_with_spend: Campaigns that spent on the source within the window.
-- Column spend_rank: 1 is the source with the largest spend of the account.
-- Column share_of_account: Share of the account's spend over the window, 0 to 1.
-- Column cumulative_share: Share of the account's spend of this source and all larger ones, 0 to 1.
-- Column is_core: Whether it is one of the fewest sources that together make concentration_share of the spend.
-- Column sources_with_spend: Sources with spend in the account over the window.
WITH totals AS (
  SELECT
    w.account_id, w.source_id,
    count(*) FILTER (WHERE w.spend > 0) AS campaigns_with_spend,
    sum(w.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(w.conversions) = count(*) THEN sum(w.conversions)::BIGINT END AS conversions
  FROM mart.source_evidence AS w
  -- Of rows in the window.
  WHERE w.spend IS NOT NULL AND (w.source_id <> '' OR w.spend <> 0)
  GROUP BY w.account_id, w.source_id
  HAVING sum(w.spend) > 0
),
spans AS (
  SELECT DISTINCT w.account_id, w.window_from, w.window_to, w.days_known
  FROM mart.performance_window AS w
),
ranked AS (
  SELECT
    t.*,
    row_number() OVER by_spend AS spend_rank,
    sum(t.spend) OVER by_spend AS running_spend,
    sum(t.spend) OVER (PARTITION BY t.account_id) AS account_spend,
    count(*) OVER (PARTITION BY t.account_id) AS sources_with_spend
  FROM totals AS t
  WINDOW by_spend AS (PARTITION BY t.account_id ORDER BY t.spend DESC, t.source_id ROWS UNBOUNDED PRECEDING)
)
SELECT
  r.account_id, r.spend_rank, r.source_id, p.window_from, p.window_to, p.days_known, r.campaigns_with_spend, r.spend, r.conversions,
  r.spend::DOUBLE / nullif(r.conversions, 0) AS cpa,
  r.spend::DOUBLE / r.account_spend::DOUBLE AS share_of_account,
  r.running_spend::DOUBLE / r.account_spend::DOUBLE AS cumulative_share,
  (r.running_spend - r.spend)::DOUBLE < (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'concentration_share') * r.account_spend::DOUBLE AS is_core,
  r.sources_with_spend
FROM ranked AS r
JOIN spans AS p ON p.account_id = r.account_id
