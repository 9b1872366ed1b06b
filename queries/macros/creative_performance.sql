-- What did each creative bring over a span of days, and is it better or worse than its campaign beyond chance?
-- Trap: creatives of a campaign ran on different days and sources, so the one with the better CTR or CPA may have had the better places: ctr_ratio compares at the same sources on the same days. Days of the span that are not proven complete are left out.
-- Shown: cpa_vs_campaign, creative_id, campaign_name, spend, conversions, cpa_expected, ctr_vs_siblings, ctr_ratio, creative_title, clicks, impressions, status
-- Parameters: from_date, to_date
-- Column status: Status of the creative now: active, paused, pending_review, rejected, draft or archived; deleted: the service no longer lists it. NULL: unknown.
-- Column ctr_ratio: Its CTR by that of the campaign's other creatives at the same sources on the same days (Mantel-Haenszel): 1.2 is a fifth better. NULL: it never ran beside another one, or nobody clicked.
-- Column ctr_ratio_low: ctr_ratio if luck was with it (bound_z).
-- Column ctr_ratio_high: ctr_ratio if luck was against it.
-- Column ctr_mix_adjusted: Clicks per impression that it would have with the sources and days of the campaign as a whole: the campaign's CTR where creatives ran side by side, times ctr_ratio. NULL: see ctr_ratio.
-- Column ctr_vs_siblings: better, worse: beyond 2.6; unclear: chance may explain it. NULL: see ctr_ratio.
-- Column cpa_vs_campaign: better: even its worst-case CPA is below the campaign's; worse: even its best-case CPA is above; unclear: chance may explain the difference. NULL: conversions unknown, or the campaign has none.
WITH known AS (
  SELECT m.account_id, m.report_date, m.conversions_share, count(*) OVER (PARTITION BY m.account_id) AS days_known
  FROM int.day_maturity AS m
  WHERE m.report_date BETWEEN from_date::DATE AND to_date::DATE
),
measured AS (
  SELECT
    s.account_id, s.campaign_id, s.creative_id,
    any_value(w.days_known) AS days_known,
    arg_max(s.campaign_name, s.report_date) AS reported_name,
    sum(s.spend)::DECIMAL(18, 6) AS spend,
    CASE WHEN count(s.clicks) = count(*) THEN sum(s.clicks)::BIGINT END AS clicks,
    CASE WHEN count(s.impressions) = count(*) THEN sum(s.impressions)::BIGINT END AS impressions,
    CASE WHEN count(s.conversions) = count(*) THEN sum(s.conversions)::BIGINT END AS conversions,
    CASE WHEN count(w.conversions_share) = count(*) THEN sum((1e6 * s.counted_spend::DOUBLE * w.conversions_share)::BIGINT)::DOUBLE / 1e6 END AS arrived_spend,
    sum(s.counted_spend) AS counted_spend, sum(s.counted_conversions) AS counted_conversions,
    -- The ratio, its variance (Greenland and Robins, 1985), and the CTR of the places where the creative ran.
    sum(s.own_clicks) / nullif(sum(s.other_clicks), 0) AS ctr_ratio,
    safe_sqrt(sum(s.click_variance) / nullif(sum(s.own_clicks) * sum(s.other_clicks), 0)) AS deviation,
    sum(s.place_clicks)::DOUBLE / sum(s.place_impressions) AS place_ctr
  FROM int.creative_spend AS s
  JOIN known AS w ON w.account_id = s.account_id AND w.report_date = s.report_date
  GROUP BY s.account_id, s.campaign_id, s.creative_id
),
with_campaign AS (
  SELECT
    m.*,
    sum(m.spend) OVER of_campaign AS campaign_spend,
    (sum(m.counted_spend) OVER of_campaign)::DOUBLE / nullif(sum(m.counted_conversions) OVER of_campaign, 0) AS campaign_cpa
  FROM measured AS m
  WINDOW of_campaign AS (PARTITION BY m.account_id, m.campaign_id)
),
earned AS (
  SELECT r.account_id, r.campaign_id, r.creative_id, CASE WHEN count(r.revenue) = count(*) THEN sum(r.revenue) END AS revenue
  FROM mart.revenue AS r
  JOIN known AS w ON w.account_id = r.account_id AND w.report_date = r.report_date
  GROUP BY r.account_id, r.campaign_id, r.creative_id
),
paid AS (
  SELECT DISTINCT p.account_id
  FROM main.payout AS p
),
-- Byar's bounds on a Poisson count, as in source_performance.
bounded AS (
  SELECT
    c.*, CASE WHEN c.conversions IS NOT NULL AND y.account_id IS NOT NULL THEN CASE WHEN e.account_id IS NULL THEN 0 ELSE e.revenue END END::DECIMAL(18, 6) AS revenue,
    ratio(nullif(c.spend, 0), count_most(c.conversions, z.value)) AS cpa_best_case,
    ratio(nullif(c.spend, 0), count_fewest(c.conversions, z.value)) AS cpa_worst_case
  FROM with_campaign AS c
  LEFT JOIN paid AS y ON y.account_id = c.account_id
  LEFT JOIN earned AS e ON e.account_id = c.account_id AND e.campaign_id = c.campaign_id AND e.creative_id = c.creative_id
  CROSS JOIN (SELECT t.value FROM int.threshold AS t WHERE t.name = 'bound_z') AS z
)
SELECT
  b.account_id, b.campaign_id, coalesce(h.name, b.reported_name) AS campaign_name, b.creative_id, k.title AS creative_title, k.message, k.image_url,
  CASE WHEN k.is_deleted THEN 'deleted' ELSE k.status END AS status,
  from_date::DATE AS window_from, to_date::DATE AS window_to, b.days_known, b.spend, b.clicks, b.impressions, b.conversions,
  b.spend::DOUBLE / nullif(b.clicks, 0) AS cpc,
  b.clicks::DOUBLE / nullif(b.impressions, 0) AS ctr,
  b.conversions::DOUBLE / nullif(b.clicks, 0) AS cvr,
  b.spend::DOUBLE / nullif(b.conversions, 0) AS cpa,
  b.cpa_best_case, b.cpa_worst_case,
  ratio(b.spend::DOUBLE + b.campaign_cpa, b.conversions + 1) AS cpa_shrunk,
  b.campaign_cpa,
  b.spend::DOUBLE / nullif(b.campaign_spend, 0)::DOUBLE AS share_of_campaign,
  CASE
    WHEN b.conversions IS NULL OR b.campaign_cpa IS NULL THEN NULL
    WHEN b.cpa_worst_case < b.campaign_cpa THEN 'better'
    WHEN b.cpa_best_case > b.campaign_cpa THEN 'worse'
    ELSE 'unclear'
  END AS cpa_vs_campaign,
  b.ctr_ratio, b.ctr_ratio * exp(-z.bound * b.deviation) AS ctr_ratio_low, b.ctr_ratio * exp(z.bound * b.deviation) AS ctr_ratio_high,
  b.place_ctr * b.ctr_ratio AS ctr_mix_adjusted,
  CASE
    WHEN b.ctr_ratio IS NULL OR b.deviation IS NULL THEN NULL
    WHEN safe_ln(b.ctr_ratio) > z.beyond * b.deviation THEN 'better'
    WHEN safe_ln(b.ctr_ratio) < -z.beyond * b.deviation THEN 'worse'
    ELSE 'unclear'
  END AS ctr_vs_siblings,
  b.revenue, (b.revenue - b.spend)::DECIMAL(18, 6) AS profit_so_far, ratio(b.revenue - b.spend, b.spend) AS roi_so_far, ratio(b.revenue, b.clicks) AS epc,
  CASE WHEN b.conversions = 0 AND b.arrived_spend IS NOT NULL THEN 0 ELSE b.conversions * b.counted_spend::DOUBLE / nullif(b.arrived_spend, 0) END AS conversions_expected,
  CASE WHEN b.conversions > 0 THEN b.spend::DOUBLE * b.arrived_spend / nullif(b.conversions * b.counted_spend::DOUBLE, 0) END AS cpa_expected
FROM bounded AS b
LEFT JOIN main.creative_history AS k ON k.account_id = b.account_id AND k.creative_id = b.creative_id AND k.is_current
LEFT JOIN main.campaign_history AS h ON h.account_id = b.account_id AND h.campaign_id = b.campaign_id AND h.is_current
CROSS JOIN (
  -- ctr_min_z: A creative's CTR differs from that of its siblings when it is this far from chance: 2.6 leaves 1 %, for many creatives are compared.
  SELECT max(t.value) FILTER (WHERE t.name = 'bound_z') AS bound, (2.6::DOUBLE /* ctr_min_z */) AS beyond
  FROM int.threshold AS t
) AS z
