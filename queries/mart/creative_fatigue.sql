-- Which creatives have lost their CTR and should be replaced?
-- Trap: the peak is the best of many weeks, so part of every fall is chance (z_needed allows for it), and the CTR of a whole campaign falls with its sources and days: what counts is adjusted_decline, the fall beside the campaign's other creatives. Young creatives start on the most willing subscribers.
-- Shown: verdict, creative_id, campaign_name, decline, adjusted_decline, creative_title, ctr_recent, ctr_peak, impressions_recent, status, action
-- Column status: Status of the creative now: active, paused, pending_review, rejected, draft or archived; deleted: the service no longer lists it. NULL: unknown.
-- Column first_shown_on: First Chicago day with impressions within 90 days; it may have been shown before.
-- Column age_days: Days from first_shown_on to recent_to, both included.
-- Column recent_to: Last day of the recent window of recent_days: the last one that is proven complete.
-- Column impressions_recent: Impressions in the recent window, of its days that are proven complete.
-- Column clicks_recent: Clicks in the recent window, of its days that are proven complete.
-- Column ctr_recent: Clicks per impression in the recent window. NULL without impressions.
-- Column peak_to: Day that ends the earlier stretch of recent_days with the highest CTR, of those with 10,000 impressions. NULL: there is none.
-- Column impressions_peak: Impressions in the stretch that ends on peak_to. NULL: there is none.
-- Column ctr_peak: Clicks per impression in the stretch that ends on peak_to. NULL: there is none.
-- Column decline: Fall of the CTR from the peak to the recent window as a share of the peak; negative: it rose. NULL: nothing to compare.
-- Column z_score: The same fall in standard deviations of chance (two proportions, pooled). NULL: nothing to compare.
-- Column windows: Earlier stretches among which the peak is the best: the more, the higher a peak by chance.
-- Column adjusted_decline: Fall of the CTR from the peak to the recent window beside the campaign's other creatives at the same sources on the same days (Mantel-Haenszel), as a share. Where it had no others beside it, decline.
-- Column adjusted_z: adjusted_decline in standard deviations of chance.
-- Column z_needed: What adjusted_z must reach: 2, raised for the number of windows (the root of 2 squared plus 2 ln windows).
-- Column compared_with: siblings: the campaign's other creatives; itself: it had none beside it in both windows.
-- Column verdict: too_little_data: fewer than 10,000 impressions in either window, or no earlier one; steady; fatiguing: adjusted_decline reaches threshold fatigue_decline; exhausted: it reaches 40 %; both if adjusted_z reaches z_needed; fell_with_campaign: its CTR fell by as much, and no further than its siblings' did. Of creatives that never tired it names less than 5 %.
-- Column reason: How far its CTR fell, in a sentence. NULL: too little data.
-- Column at_stake: US dollars a day that the clicks it no longer brings would earn, at what a click of its campaign earns. NULL: it is not tired, or its campaign's clicks are not known to earn.
WITH lengths AS (
  SELECT
    max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS recent,
    -- fatigue_days: Length of the time in which a creative's best CTR is looked for.
    (90::DOUBLE /* fatigue_days */)::INTEGER AS total,
    -- fatigue_min_impressions: Fewer impressions in a window say nothing about a creative's CTR.
    (10000::DOUBLE /* fatigue_min_impressions */) AS enough,
    max(t.value) FILTER (WHERE t.name = 'fatigue_decline') AS fatiguing,
    -- exhausted_decline: A fall of the CTR below its peak by this share is exhaustion.
    (0.4::DOUBLE /* exhausted_decline */) AS exhausted,
    -- fatigue_min_z: A fall of the CTR counts when it is this far from chance.
    (2::DOUBLE /* fatigue_min_z */) AS min_z
  FROM int.threshold AS t
),
spans AS (
  SELECT c.account_id, max(c.report_date) AS recent_to, max(c.report_date) - (SELECT l.total FROM lengths AS l) AS before
  FROM int.whole_day AS c
  GROUP BY c.account_id
),
known AS (
  SELECT c.account_id, c.report_date, s.recent_to
  FROM int.whole_day AS c
  JOIN spans AS s ON s.account_id = c.account_id AND c.report_date > s.before
),
shown AS (
  SELECT s.account_id, s.campaign_id, s.creative_id, s.report_date, k.recent_to, s.shown_clicks AS clicks, s.shown_impressions AS impressions
  FROM int.creative_spend AS s
  JOIN known AS k ON k.account_id = s.account_id AND k.report_date = s.report_date
  WHERE s.creative_id <> '' AND s.shown_impressions > 0
),
-- Each day on which a creative was shown is the end of a window of recent_days.
windows AS (
  SELECT
    s.account_id, s.campaign_id, s.creative_id, s.report_date, s.recent_to,
    sum(s.clicks) OVER reaching_back AS clicks, sum(s.impressions) OVER reaching_back AS impressions
  FROM shown AS s
  CROSS JOIN lengths AS l
  WHERE s.report_date <= s.recent_to - l.recent
  WINDOW reaching_back AS (
    PARTITION BY s.account_id, s.campaign_id, s.creative_id
    ORDER BY s.report_date - DATE '2000-01-01' RANGE BETWEEN l.recent - 1 PRECEDING AND CURRENT ROW
  )
),
peaks AS (
  SELECT
    w.account_id, w.campaign_id, w.creative_id, w.report_date AS peak_to,
    count(*) OVER (PARTITION BY w.account_id, w.campaign_id, w.creative_id) AS windows, w.clicks::BIGINT AS clicks, w.impressions::BIGINT AS impressions,
    w.clicks::DOUBLE / w.impressions AS ctr
  FROM windows AS w
  CROSS JOIN lengths AS l
  WHERE w.impressions >= l.enough
  QUALIFY row_number() OVER (PARTITION BY w.account_id, w.campaign_id, w.creative_id ORDER BY w.clicks::DOUBLE / w.impressions DESC, w.report_date DESC) = 1
),
recent AS (
  SELECT
    s.account_id, s.campaign_id, s.creative_id, any_value(s.recent_to) AS recent_to, min(s.report_date) AS first_shown_on,
    coalesce(sum(s.impressions) FILTER (WHERE s.report_date > s.recent_to - l.recent), 0)::BIGINT AS impressions,
    coalesce(sum(s.clicks) FILTER (WHERE s.report_date > s.recent_to - l.recent), 0)::BIGINT AS clicks
  FROM shown AS s
  CROSS JOIN lengths AS l
  GROUP BY s.account_id, s.campaign_id, s.creative_id
),
compared AS (
  SELECT
    r.account_id, r.campaign_id, r.creative_id, r.first_shown_on, r.recent_to,
    r.impressions AS impressions_recent, r.clicks AS clicks_recent,
    r.clicks::DOUBLE / nullif(r.impressions, 0) AS ctr_recent,
    p.peak_to, p.windows, p.impressions AS impressions_peak, p.clicks AS clicks_peak, p.ctr AS ctr_peak,
    (p.clicks + r.clicks)::DOUBLE / nullif(p.impressions + r.impressions, 0) AS ctr_pooled
  FROM recent AS r
  LEFT JOIN peaks AS p ON p.account_id = r.account_id AND p.campaign_id = r.campaign_id AND p.creative_id = r.creative_id
),
measured AS (
  SELECT
    c.*,
    1 - c.ctr_recent / nullif(c.ctr_peak, 0) AS decline,
    (c.ctr_peak - c.ctr_recent)
      / nullif(safe_sqrt(c.ctr_pooled * (1 - c.ctr_pooled) * (1.0 / nullif(c.impressions_peak, 0) + 1.0 / nullif(c.impressions_recent, 0))), 0) AS z_score
  FROM compared AS c
),
-- Only creatives whose CTR fell are compared source by source.
fallen AS (
  SELECT m.account_id, m.campaign_id, m.creative_id, m.recent_to, m.peak_to
  FROM measured AS m
  CROSS JOIN lengths AS l
  WHERE m.impressions_recent >= l.enough AND m.decline >= l.fatiguing AND m.z_score >= l.min_z
),
looked AS (
  SELECT DISTINCT f.account_id, f.campaign_id, d.report_date
  FROM fallen AS f
  CROSS JOIN lengths AS l
  JOIN known AS d
    ON d.account_id = f.account_id
    AND ((d.report_date > f.recent_to - l.recent AND d.report_date <= f.recent_to) OR (d.report_date > f.peak_to - l.recent AND d.report_date <= f.peak_to))
),
cell AS (
  SELECT
    s.account_id, s.campaign_id, s.report_date, s.source_id, s.creative_id, sum(s.clicks) AS clicks, sum(s.impressions) AS impressions,
    sum(sum(s.clicks)) OVER in_cell AS all_clicks, sum(sum(s.impressions)) OVER in_cell AS all_impressions
  FROM main.spend_daily AS s
  JOIN looked AS d ON d.account_id = s.account_id AND d.campaign_id = s.campaign_id AND d.report_date = s.report_date
  WHERE s.creative_id <> '' AND s.clicks IS NOT NULL AND s.impressions > 0
  GROUP BY s.account_id, s.campaign_id, s.report_date, s.source_id, s.creative_id
  WINDOW in_cell AS (PARTITION BY s.account_id, s.campaign_id, s.report_date, s.source_id)
),
beside AS (
  SELECT
    f.account_id, f.campaign_id, f.creative_id, c.report_date > f.recent_to - l.recent AS is_recent,
    sum(c.clicks::DOUBLE * (c.all_impressions - c.impressions) / c.all_impressions) AS own,
    sum((c.all_clicks - c.clicks)::DOUBLE * c.impressions / c.all_impressions) AS others,
    sum(c.all_clicks::DOUBLE * c.impressions * (c.all_impressions - c.impressions) / (c.all_impressions::DOUBLE * c.all_impressions)) AS noise
  FROM fallen AS f
  CROSS JOIN lengths AS l
  JOIN cell AS c
    ON c.account_id = f.account_id AND c.campaign_id = f.campaign_id AND c.creative_id = f.creative_id AND c.all_impressions > c.impressions
    AND (c.report_date > f.recent_to - l.recent OR (c.report_date > f.peak_to - l.recent AND c.report_date <= f.peak_to))
  GROUP BY f.account_id, f.campaign_id, f.creative_id, is_recent
),
net AS (
  SELECT
    b.account_id, b.campaign_id, b.creative_id,
    max(b.own / nullif(b.others, 0)) FILTER (WHERE b.is_recent) / nullif(max(b.own / nullif(b.others, 0)) FILTER (WHERE NOT b.is_recent), 0) AS ratio,
    safe_sqrt(sum(b.noise / nullif(b.own * b.others, 0))) AS deviation
  FROM beside AS b
  GROUP BY b.account_id, b.campaign_id, b.creative_id
  HAVING count(b.noise / nullif(b.own * b.others, 0)) = 2
),
judged AS (
  SELECT
    m.*, l.enough, l.fatiguing, l.exhausted, l.recent AS recent_days, safe_sqrt(l.min_z * l.min_z + 2 * safe_ln(m.windows)) AS z_needed,
    CASE WHEN n.ratio IS NOT NULL THEN 'siblings' WHEN m.ctr_peak IS NOT NULL THEN 'itself' END AS compared_with,
    coalesce(1 - n.ratio, m.decline) AS adjusted_decline,
    coalesce(safe_ln(1 / nullif(n.ratio, 0)) / nullif(n.deviation, 0), m.z_score) AS adjusted_z
  FROM measured AS m
  CROSS JOIN lengths AS l
  LEFT JOIN net AS n ON n.account_id = m.account_id AND n.campaign_id = m.campaign_id AND n.creative_id = m.creative_id
),
stated AS (
  SELECT
    m.account_id, m.campaign_id, h.name AS campaign_name, m.creative_id, k.title AS creative_title,
    CASE WHEN k.is_deleted THEN 'deleted' ELSE k.status END AS status,
    m.first_shown_on, m.recent_to - m.first_shown_on + 1 AS age_days, m.recent_to,
    m.impressions_recent, m.clicks_recent, m.ctr_recent, m.peak_to, m.impressions_peak, m.ctr_peak, m.decline, m.z_score,
    CASE
      WHEN m.impressions_recent < m.enough OR m.ctr_peak IS NULL THEN 'too_little_data'
      WHEN m.adjusted_decline >= m.exhausted AND m.adjusted_z >= m.z_needed THEN 'exhausted'
      WHEN m.adjusted_decline >= m.fatiguing AND m.adjusted_z >= m.z_needed THEN 'fatiguing'
      WHEN m.compared_with = 'siblings' AND m.decline >= m.fatiguing AND m.z_score >= m.z_needed THEN 'fell_with_campaign'
      ELSE 'steady'
    END AS verdict,
    m.windows, m.adjusted_decline, m.adjusted_z, m.z_needed, m.compared_with, m.clicks_recent::DOUBLE / m.recent_days AS clicks_a_day
  FROM judged AS m
  LEFT JOIN main.creative_history AS k ON k.account_id = m.account_id AND k.creative_id = m.creative_id AND k.is_current
  LEFT JOIN main.campaign_history AS h ON h.account_id = m.account_id AND h.campaign_id = m.campaign_id AND h.is_current
)
SELECT
  s.* EXCLUDE (clicks_a_day),
  CASE s.verdict
    WHEN 'steady' THEN 'its CTR holds'
    WHEN 'fell_with_campaign' THEN format('its CTR is {:.0f} % below its peak, as that of its campaign', 100 * s.decline)
    WHEN 'too_little_data' THEN NULL
    ELSE format('its CTR is {:.0f} % below its peak', 100 * s.decline) || CASE s.compared_with WHEN 'siblings' THEN format(', and {:.0f} % beside the campaign''s other creatives', 100 * s.adjusted_decline) ELSE '' END
  END AS reason,
  CASE WHEN s.verdict IN ('exhausted', 'fatiguing') AND p.excess_spend < 0 THEN
    s.clicks_a_day * s.adjusted_decline / nullif(1 - s.adjusted_decline, 0) * -p.excess_spend::DOUBLE / nullif(p.clicks, 0)
  END AS at_stake,
  CASE
    WHEN coalesce(s.status, 'active') <> 'active' THEN NULL
    WHEN s.verdict IN ('exhausted', 'fatiguing') THEN 'replace it'
    WHEN s.verdict = 'fell_with_campaign' THEN 'look at the campaign''s sources, audience and offer: a new creative alone does not help'
  END AS action
FROM stated AS s
LEFT JOIN mart.campaign_performance AS p ON p.account_id = s.account_id AND p.campaign_id = s.campaign_id
