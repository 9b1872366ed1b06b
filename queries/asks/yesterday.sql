-- How was the last whole day, against the seven days before it?
-- Trap: it is the last day that is proven complete, which need not be yesterday (report_date). Of its conversions few have arrived: conversions_expected and cpa_expected allow for those to come, by the account's own curve; they are NULL, not known yet, until there is one: from the second day of syncs on. The usual is the mean of those of the seven days before that are proven complete.
-- Parameter rows: 20, campaigns to show, those that spent most first.
-- Alone: No campaign is listed: none had spend on that day or the days before, or rows is 0.
-- Days: s.report_date >= t.last_whole_date - 7 AND s.report_date <= t.last_whole_date
-- Shown: campaign_name, spend, spend_change, cpa_expected, cpa_usual, conversions_expected, spend_usual, conversions, campaign_id
-- Column spend_usual: US dollars of the mean of the days before.
-- Column spend_change: Change of the spend as a share of spend_usual.
-- Column cpa_usual: US dollars per conversion of the days before, with those still to come. NULL: no conversion, or not known yet.
-- Column report_date: The last day that is proven complete.
-- Column campaign_id: Campaign ID; NULL: all campaigns together.
-- Column campaign_name: Name of the campaign, or all campaigns.
-- Column conversions_share: Share of the day's conversions that has arrived by now. NULL: not known.
-- Column days_before: Days of the seven before that are proven complete.
WITH last AS (
  SELECT m.account_id, max(m.report_date) AS report_date
  FROM int.day_maturity AS m
  GROUP BY m.account_id
),
day AS (
  SELECT
    d.account_id, d.campaign_id, d.campaign_name, l.report_date, d.report_date = l.report_date AS is_last, m.report_date AS known_date, d.spend, d.clicks, d.conversions,
    (1e6 * CASE WHEN d.conversions > 0 THEN d.conversions / nullif(m.conversions_share, 0) WHEN m.conversions_share IS NOT NULL THEN d.conversions END)::BIGINT AS expected, m.conversions_share
  FROM mart.campaign_day AS d
  JOIN last AS l ON l.account_id = d.account_id AND d.report_date BETWEEN l.report_date - 7 AND l.report_date
  JOIN int.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
),
known AS (
  SELECT d.account_id, count(DISTINCT d.known_date) FILTER (WHERE NOT d.is_last) AS days_before
  FROM day AS d
  GROUP BY d.account_id
),
summed AS (
  SELECT
    d.account_id, d.campaign_id, grouping(d.campaign_id) = 1 AS is_total, any_value(d.report_date) AS report_date, arg_max(d.campaign_name, d.known_date) AS campaign_name,
    max(d.conversions_share) FILTER (WHERE d.is_last) AS conversions_share,
    coalesce(sum(d.spend) FILTER (WHERE d.is_last), 0) AS spend, coalesce(sum(d.spend) FILTER (WHERE NOT d.is_last), 0) AS spend_before,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.clicks IS NULL) = 0 THEN sum(d.clicks) FILTER (WHERE d.is_last) END AS clicks,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.conversions IS NULL) = 0 THEN sum(d.conversions) FILTER (WHERE d.is_last) END AS conversions,
    CASE WHEN count(*) FILTER (WHERE d.is_last AND d.expected IS NULL) = 0 THEN sum(d.expected) FILTER (WHERE d.is_last) / 1e6 END AS expected,
    CASE WHEN count(*) FILTER (WHERE NOT d.is_last AND d.expected IS NULL) = 0 THEN sum(d.expected) FILTER (WHERE NOT d.is_last) / 1e6 END AS expected_before
  FROM day AS d
  GROUP BY GROUPING SETS ((d.account_id), (d.account_id, d.campaign_id))
),
yesterday AS (
  SELECT
    s.account_id, s.report_date, s.campaign_id, s.is_total, CASE WHEN s.is_total THEN 'all campaigns' ELSE s.campaign_name END AS campaign_name,
    s.spend, (s.spend_before::DOUBLE / nullif(k.days_before, 0))::DECIMAL(18,2) AS spend_usual,
    (s.spend::DOUBLE * k.days_before / nullif(s.spend_before, 0)::DOUBLE - 1)::DECIMAL(18,3) AS spend_change,
    s.clicks, s.conversions,
    s.expected::DECIMAL(18,1) AS conversions_expected, s.conversions_share::DECIMAL(18,3) AS conversions_share,
    (s.spend::DOUBLE / nullif(s.conversions, 0))::DECIMAL(18,2) AS cpa, (s.spend::DOUBLE / nullif(s.expected, 0))::DECIMAL(18,2) AS cpa_expected,
    (s.spend_before::DOUBLE / nullif(s.expected_before, 0))::DECIMAL(18,2) AS cpa_usual, k.days_before
  FROM summed AS s
  JOIN known AS k ON k.account_id = s.account_id
  WHERE s.is_total OR s.spend <> 0 OR s.spend_before <> 0
)
SELECT
  y.account_id, y.report_date, y.campaign_id, y.campaign_name, y.spend, y.spend_usual, y.spend_change, y.clicks, y.conversions,
  y.conversions_expected, y.conversions_share, y.cpa, y.cpa_expected, y.cpa_usual, y.days_before, y.is_total
FROM yesterday AS y
QUALIFY y.is_total OR row_number() OVER (PARTITION BY y.account_id, y.is_total ORDER BY y.spend DESC, y.campaign_id) <= $rows::INTEGER
ORDER BY y.account_id, y.is_total DESC, y.spend DESC, y.campaign_id
