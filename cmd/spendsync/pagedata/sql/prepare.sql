-- Macros and tables that several sections use: numbers in sentences, names of campaigns, and days with their results.
CREATE MACRO usd(x) AS CASE WHEN x < 0 THEN '−$' ELSE '$' END
  || CASE WHEN abs(x) >= 1000 THEN format('{:,}', round(abs(x))::BIGINT) ELSE printf('%.2f', abs(x)) END;
CREATE MACRO share(x) AS CASE WHEN x < 0 THEN '−' ELSE '' END
  || CASE WHEN abs(x) < 0.0995 THEN printf('%.1f', 100 * abs(x)) ELSE format('{:,}', round(100 * abs(x))::BIGINT) END || chr(160) || '%';
CREATE MACRO moved(x) AS CASE WHEN x >= 0 THEN '+' ELSE '' END || share(x);
CREATE MACRO many(n, noun) AS format('{:,}', n::BIGINT) || ' ' || noun || CASE WHEN n = 1 THEN '' ELSE 's' END;
-- A count with its verdict: 11 pay, 1 loses, 2 are unclear.
CREATE MACRO judged(n, word) AS n || ' ' || CASE WHEN word IN ('pays', 'loses') THEN word[:CASE WHEN n = 1 THEN -1 ELSE -2 END]
  WHEN word IN ('unclear', 'unknown') THEN CASE WHEN n = 1 THEN 'is ' ELSE 'are ' END || word ELSE replace(word, '_', ' ') END;
-- The number of each verdict, most frequent first. words is a list of verdicts; NULLs are not counted.
CREATE MACRO tally(words) AS array_to_string(list_transform(list_sort(list_transform(map_entries(histogram(words)),
  lambda e: {'n': -e.value::BIGINT, 'word': e.key})), lambda e: judged(-e.n, e.word)), ', ');
-- The state of a section: act on it, watch it, unknown if it has no rows, or fine.
CREATE MACRO tone(acts, watches) AS CASE WHEN bool_or(acts) THEN 'act' WHEN bool_or(watches) THEN 'watch' WHEN count(*) = 0 THEN 'unknown' ELSE 'fine' END;
CREATE MACRO on_day(d) AS strftime(d, '%a %-d %b');
CREATE MACRO plain_value(v) AS regexp_replace(v, '([.][0-9][0-9])0+$', '\1');

-- If two campaigns have the same name, add the ID.
CREATE TABLE page.named AS
SELECT n.campaign_id, CASE WHEN trim(coalesce(n.name, '')) = '' THEN n.campaign_id
  WHEN count(*) OVER (PARTITION BY n.name) > 1 THEN n.name || ' (' || n.campaign_id || ')' ELSE n.name END AS label
FROM (SELECT d.campaign_id, arg_max(d.campaign_name, d.report_date) AS name FROM mart.campaign_day AS d GROUP BY d.campaign_id) AS n;
CREATE MACRO label(id) AS coalesce((SELECT n.label FROM page.named AS n WHERE n.campaign_id = id), id);

-- Days, each with the sums of the week that ends on it: of known days only, with the conversions still to come.
CREATE TABLE page.day AS
WITH day AS (
  SELECT
    d.report_date, any_value(d.coverage_state) AS state, bool_or(d.is_covered) AS is_covered, sum(d.spend) AS spend,
    CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions) END AS conversions, any_value(m.conversions_share) AS share, any_value(m.is_young) AS is_young,
    CASE WHEN count(*) FILTER (WHERE d.spend > 0 AND d.target_cpa IS NULL) = 0 THEN sum(d.conversions * d.target_cpa) END AS allowed,
    CASE WHEN EXISTS (FROM main.payout) AND count(p.revenue) = count(p.account_id) THEN coalesce(sum(p.revenue), 0) END AS revenue
  FROM mart.campaign_day AS d
  LEFT JOIN int.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
  LEFT JOIN int.campaign_profit AS p ON p.account_id = d.account_id AND p.campaign_id = d.campaign_id AND p.report_date = d.report_date
  GROUP BY d.report_date
),
week AS (
  SELECT
    d.*, count(*) FILTER (WHERE d.state IN ('complete', 'final') AND d.conversions IS NOT NULL AND d.share IS NOT NULL) OVER w = 7 AS is_known,
    sum(d.spend) OVER w AS week_spend, sum(d.conversions / nullif(d.share, 0)) OVER w AS week_conversions,
    CASE WHEN count(d.allowed) OVER w = 7 THEN sum(d.allowed / nullif(d.share, 0)) OVER w END AS week_allowed,
    CASE WHEN count(d.revenue) OVER w = 7 THEN sum(d.revenue::DOUBLE / nullif(d.share, 0)) OVER w END AS week_revenue,
    bool_or(coalesce(d.is_young, d.state = 'complete')) OVER w AS is_young_week
  FROM day AS d
  WINDOW w AS (ORDER BY d.report_date - DATE '2000-01-01' RANGE BETWEEN 6 PRECEDING AND CURRENT ROW)
)
SELECT
  w.report_date, w.state, w.is_covered, w.spend, w.conversions, w.share, w.revenue, w.is_young_week AS is_young,
  CASE WHEN w.is_known THEN w.week_spend::DOUBLE / nullif(w.week_conversions, 0) END AS cpa,
  CASE WHEN w.is_known THEN w.week_allowed::DOUBLE / nullif(w.week_conversions, 0) END AS allowed_cpa,
  CASE WHEN w.is_known THEN w.week_revenue / 7 END AS revenue_a_day, CASE WHEN w.is_known THEN (w.week_revenue - w.week_spend::DOUBLE) / 7 END AS profit_a_day,
  CASE WHEN w.is_known THEN (w.week_revenue - w.week_spend::DOUBLE) / nullif(w.week_spend, 0)::DOUBLE END AS roi
FROM week AS w
WHERE w.report_date > (SELECT max(d.report_date) FROM day AS d) - 45;
