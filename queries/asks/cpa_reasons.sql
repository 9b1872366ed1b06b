-- Why did the CPA rise or fall: price, conversion rate, or mix of sources?
-- Trap: the reason is arithmetic, not a cause: the three parts multiply to cpa_change. Only a verdict of dearer or cheaper (mart.campaign_performance, at equal age) is beyond chance. Conversions still to come are included, days of a break that is over (mart.break_day) left out.
-- Parameter campaign: "", campaign that is asked for, by its ID; empty: every campaign.
-- Parameter rows: 20, campaigns to show, those that the change cost most first.
-- Shown: verdict, reason, campaign_name, cpa_before, cpa, cpa_change, by_price, by_conversion_rate, by_mix, new_share, campaign_id
-- Column verdict: dearer, cheaper, unclear or unknown, as change_verdict of mart.campaign_performance.
-- Column reason: The largest part: price, conversion_rate or mix_of_sources. NULL: the verdict is neither dearer nor cheaper, or the parts are not known.
-- Column cpa_before: US dollars per conversion in the days before the recent ones (threshold recent_days).
-- Column cpa: US dollars per conversion in the recent days.
-- Column cpa_change: Change from the one to the other, as a share.
-- Column by_price: By how much clicks became dearer at the same sources: 0.25 makes the CPA a quarter higher.
-- Column by_conversion_rate: By how much more clicks a conversion takes at the same sources.
-- Column by_mix: By how much the clicks moved to sources that were dearer before. A new source counts here, as it is now.
-- Column new_share: Share of the recent clicks that came from sources without clicks in the days before.
WITH known AS (
  SELECT w.account_id, w.report_date, w.report_date > w.window_to - t.value::INTEGER AS is_recent, coalesce(m.conversions_share, 1) AS share
  FROM mart.performance_window AS w
  CROSS JOIN mart.threshold AS t
  LEFT JOIN mart.day_maturity AS m ON m.account_id = w.account_id AND m.report_date = w.report_date
  WHERE t.name = 'recent_days' AND w.report_date > w.window_to - 2 * t.value::INTEGER
),
source AS (
  SELECT
    s.account_id, s.campaign_id, s.source_id, count(*) - least(count(s.clicks), count(s.conversions)) AS unknown,
    coalesce(sum(s.spend) FILTER (WHERE NOT k.is_recent), 0)::DOUBLE AS spend_0, coalesce(sum(s.spend) FILTER (WHERE k.is_recent), 0)::DOUBLE AS spend_1,
    coalesce(sum(s.clicks) FILTER (WHERE NOT k.is_recent), 0)::DOUBLE AS clicks_0, coalesce(sum(s.clicks) FILTER (WHERE k.is_recent), 0)::DOUBLE AS clicks_1,
    coalesce(sum((1e6 * s.conversions / nullif(k.share, 0))::BIGINT) FILTER (WHERE NOT k.is_recent), 0)::DOUBLE / 1e6 AS conversions_0,
    coalesce(sum((1e6 * s.conversions / nullif(k.share, 0))::BIGINT) FILTER (WHERE k.is_recent), 0)::DOUBLE / 1e6 AS conversions_1
  FROM main.spend_daily AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  LEFT JOIN mart.break_day AS b ON b.account_id = s.account_id AND b.campaign_id = s.campaign_id AND b.report_date = s.report_date AND b.is_over
  WHERE b.account_id IS NULL AND ($campaign::VARCHAR = '' OR s.campaign_id = $campaign::VARCHAR)
    AND s.report_date >= (SELECT min(k.report_date) FROM known AS k)
  GROUP BY s.account_id, s.campaign_id, s.source_id
),
-- What the recent clicks would have cost and brought at their sources' earlier price and rate.
summed AS (
  SELECT
    s.account_id, s.campaign_id, nullif(sum((1e6 * s.spend_0)::BIGINT), 0)::DOUBLE / 1e6 AS spend_0, nullif(sum((1e6 * s.spend_1)::BIGINT), 0)::DOUBLE / 1e6 AS spend_1,
    nullif(sum(s.clicks_0), 0) AS clicks_0, nullif(sum(s.clicks_1), 0) AS clicks_1, sum(s.clicks_1) FILTER (WHERE s.clicks_0 = 0) AS new_clicks,
    nullif(sum((1e6 * s.conversions_0)::BIGINT), 0)::DOUBLE / 1e6 AS conversions_0, nullif(sum((1e6 * s.conversions_1)::BIGINT), 0)::DOUBLE / 1e6 AS conversions_1,
    nullif(sum((1e6 * CASE WHEN s.clicks_0 > 0 THEN s.clicks_1 * s.spend_0 / s.clicks_0 ELSE s.spend_1 END)::BIGINT), 0)::DOUBLE / 1e6 AS spend_at_old,
    nullif(sum((1e6 * CASE WHEN s.clicks_0 > 0 THEN s.clicks_1 * s.conversions_0 / s.clicks_0 ELSE s.conversions_1 END)::BIGINT), 0)::DOUBLE / 1e6 AS conversions_at_old
  FROM source AS s
  GROUP BY s.account_id, s.campaign_id
  HAVING sum(s.unknown) = 0
),
parted AS (
  SELECT
    s.*, s.spend_0 / s.conversions_0 AS cpa_0, s.spend_1 / s.conversions_1 AS cpa_1,
    s.spend_1 / s.spend_at_old AS price, s.conversions_at_old / s.conversions_1 AS rate, (s.spend_at_old / s.conversions_at_old) / (s.spend_0 / s.conversions_0) AS mix
  FROM summed AS s
)
SELECT
  c.account_id, c.change_verdict AS verdict,
  CASE
    WHEN c.change_verdict = 'dearer' AND p.price >= greatest(p.rate, p.mix) OR c.change_verdict = 'cheaper' AND p.price <= least(p.rate, p.mix) THEN 'price'
    WHEN c.change_verdict = 'dearer' AND p.rate >= p.mix OR c.change_verdict = 'cheaper' AND p.rate <= p.mix THEN 'conversion_rate'
    WHEN c.change_verdict IN ('dearer', 'cheaper') AND p.mix IS NOT NULL THEN 'mix_of_sources'
  END AS reason,
  c.campaign_id, c.campaign_name, p.cpa_0::DECIMAL(18,2) AS cpa_before, p.cpa_1::DECIMAL(18,2) AS cpa, (p.cpa_1 / p.cpa_0 - 1)::DECIMAL(18,3) AS cpa_change,
  (p.price - 1)::DECIMAL(18,3) AS by_price, (p.rate - 1)::DECIMAL(18,3) AS by_conversion_rate, (p.mix - 1)::DECIMAL(18,3) AS by_mix,
  (coalesce(p.new_clicks, 0) / p.clicks_1)::DECIMAL(18,3) AS new_share
FROM mart.campaign_performance AS c
JOIN parted AS p ON p.account_id = c.account_id AND p.campaign_id = c.campaign_id
ORDER BY (p.cpa_1 / p.cpa_0 - 1) * p.conversions_1 * p.cpa_0 DESC NULLS LAST, c.account_id, c.campaign_id
LIMIT $rows::BIGINT
