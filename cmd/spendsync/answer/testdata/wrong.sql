-- Statements that give a wrong number, as analysts and assistants write them. The line above each names the kind of
-- caveat that it must get. {-3} is the day three days before the open day, {-0} that day itself.

-- open
SELECT sum(spend) FROM spend_daily;
-- open
SELECT sum(spend) AS total_spend, sum(clicks) AS total_clicks FROM main.spend_daily;
-- open
select report_date, sum(spend) from spend_daily group by report_date order by report_date;
-- open
SELECT campaign_id, SUM(spend) FROM spend_daily GROUP BY campaign_id ORDER BY 2 DESC LIMIT 5;
-- open
FROM spend_daily SELECT campaign_id, creative_id, sum(spend) AS s GROUP BY ALL ORDER BY s DESC LIMIT 10;
-- open
SELECT avg(s) FROM (SELECT report_date, sum(spend) AS s FROM spend_daily GROUP BY 1);
-- open
WITH daily AS (SELECT report_date AS day, sum(spend) AS spend FROM spend_daily GROUP BY 1) SELECT avg(spend) AS avg_daily_spend FROM daily;
-- open
SELECT sum(spend) FROM spend_daily WHERE report_date >= '{-7}';
-- open
SELECT sum(spend) FROM spend_daily WHERE report_date BETWEEN '{-6}' AND '{-0}';
-- open
SELECT sum(d.spend) FROM spend_daily d WHERE d.report_date > DATE '{-8}' AND d.campaign_id IN (SELECT campaign_id FROM campaign WHERE status = 'active');
-- open
SELECT date_trunc('month', report_date) AS m, sum(spend) FROM spend_daily GROUP BY m ORDER BY m;
-- open
SELECT strftime(report_date, '%Y-%W') AS week, sum(spend) AS spend, sum(clicks) AS clicks FROM spend_daily GROUP BY week;
-- open
SELECT source_id, sum(spend) AS cost FROM spend_daily WHERE report_date >= (SELECT max(report_date) - 6 FROM spend_daily) GROUP BY source_id ORDER BY cost DESC LIMIT 20;
-- open
SELECT sum(spend) FROM spend_daily WHERE report_date = (SELECT max(report_date) FROM spend_daily);
-- open
WITH last_day AS (SELECT max(report_date) AS d FROM spend_daily) SELECT sum(spend) FROM spend_daily, last_day WHERE report_date = last_day.d;
-- open
SELECT c.name, sum(s.spend) AS spend FROM spend_daily s JOIN campaign c ON c.campaign_id = s.campaign_id GROUP BY c.name ORDER BY spend DESC;
-- open
SELECT coalesce(c.name, s.campaign_name) AS campaign, sum(s.spend) FROM spend_daily AS s LEFT JOIN campaign AS c USING (account_id, campaign_id) GROUP BY 1;
-- open
SELECT k.title, sum(s.clicks) * 1.0 / sum(s.impressions) AS ctr FROM spend_daily s LEFT JOIN creative k USING (account_id, creative_id) GROUP BY k.title;
-- open
SELECT report_date, sum(spend) AS spend, lag(sum(spend)) OVER (ORDER BY report_date) AS day_before FROM spend_daily GROUP BY report_date;
-- open
SELECT report_date, sum(sum(spend)) OVER (ORDER BY report_date) AS running FROM spend_daily GROUP BY report_date ORDER BY 1;
-- open
SELECT min(day_spend), max(day_spend) FROM (SELECT sum(spend) AS day_spend FROM spend_daily GROUP BY report_date) AS x;
-- open
SELECT report_date, sum(clicks) FROM spend_daily GROUP BY 1 ORDER BY 1 DESC LIMIT 7;
-- open
SELECT sum(spend) / count(DISTINCT report_date) AS per_day FROM spend_daily;
-- open
SELECT sum(impressions) FROM spend_daily WHERE source_id <> '' AND report_date >= '{-14}';
-- open
SELECT 'this week' AS what, sum(spend) FROM spend_daily WHERE report_date >= '{-6}' UNION ALL SELECT 'last week', sum(spend) FROM spend_daily WHERE report_date BETWEEN '{-13}' AND '{-7}';
-- open
SELECT sum(spend) FILTER (WHERE report_date >= '{-6}') AS now, sum(spend) FILTER (WHERE report_date < '{-6}') AS before FROM spend_daily WHERE report_date >= '{-13}';
-- open
SELECT campaign_name, sum(spend) FROM mart.campaign_day GROUP BY campaign_name;
-- open
SELECT report_date, sum(spend) FROM mart.campaign_day WHERE report_date >= '{-3}' GROUP BY ALL;
-- open
SELECT date_day, sum(spend) FROM mart.campaign_report GROUP BY date_day ORDER BY date_day DESC LIMIT 5;
-- open
SELECT sum(spend) FROM mart.account_report;
-- open
SELECT sum(clicks) FROM mart.ad_report WHERE date_day >= '{-5}';
-- open
SELECT sum(spend) FROM mart.campaign_spend WHERE report_date >= DATE '{-2}';
-- open
WITH base AS (SELECT * FROM spend_daily), recent AS (SELECT * FROM base WHERE report_date >= '{-10}') SELECT campaign_id, sum(spend) FROM recent GROUP BY 1;
-- open
WITH a AS (SELECT report_date, campaign_id, sum(spend) AS spend FROM spend_daily GROUP BY ALL), b AS (SELECT campaign_id, avg(spend) AS mean FROM a GROUP BY ALL) SELECT * FROM b ORDER BY mean DESC;
-- open
SELECT round(sum(spend), 2) AS usd, count(DISTINCT campaign_id) AS campaigns FROM spend_daily WHERE report_date::VARCHAR >= '{-4}';
-- open
SELECT max_by(campaign_id, s) FROM (SELECT campaign_id, sum(spend) s FROM spend_daily GROUP BY 1) t;
-- open
SELECT isodow(report_date) AS weekday, sum(spend) / count(DISTINCT report_date) AS mean_spend FROM spend_daily GROUP BY 1 ORDER BY 1;
-- open
SELECT (SELECT sum(spend) FROM spend_daily) AS total;
-- open
SELECT name, (SELECT sum(spend) FROM spend_daily s WHERE s.campaign_id = c.campaign_id) AS spend FROM campaign c;
-- open
SELECT sum(spend) FROM (SELECT * EXCLUDE (source_id) FROM spend_daily WHERE clicks > 0);
-- young
SELECT sum(spend) / sum(conversions) AS cpa FROM spend WHERE report_date >= '{-7}';
-- young
SELECT campaign_name, sum(spend) / nullif(sum(conversions), 0) AS cpa FROM spend WHERE report_date >= '{-14}' GROUP BY 1 ORDER BY cpa;
-- young
SELECT report_date, sum(conversions) FROM spend GROUP BY 1 ORDER BY 1 DESC LIMIT 7;
-- young
SELECT s.report_date, sum(s.spend) / sum(s.conversions) AS cpa FROM spend s JOIN today t USING (account_id) WHERE s.report_date = t.last_whole_date GROUP BY 1;
-- young
SELECT sum(conversions) FROM spend, today WHERE report_date BETWEEN last_whole_date - 6 AND last_whole_date;
-- young
SELECT sum(conversions) * 1.0 / sum(clicks) AS cvr FROM spend WHERE report_date > (SELECT last_whole_date - 5 FROM today);
-- young
WITH week AS (SELECT campaign_id, sum(spend) AS spend, sum(conversions) AS conv FROM spend WHERE report_date >= '{-7}' GROUP BY ALL) SELECT campaign_id, spend / conv AS cpa FROM week WHERE conv > 0;
-- young
SELECT creative_id, sum(spend) AS spend, sum(conversions) AS conversions FROM spend WHERE report_date BETWEEN '{-3}' AND '{-1}' GROUP BY creative_id HAVING sum(conversions) = 0;
-- young
SELECT source_id FROM spend WHERE report_date >= '{-5}' GROUP BY source_id HAVING sum(spend) > 20 AND sum(conversions) < 2;
-- young
SELECT sum(conversions) - lag(sum(conversions)) OVER (ORDER BY report_date) AS change FROM spend WHERE report_date >= '{-6}' GROUP BY report_date;
-- young
SELECT x.d, x.c FROM (SELECT report_date AS d, sum(conversions) AS c FROM spend WHERE report_date >= '{-9}' GROUP BY report_date) AS x ORDER BY x.d;
-- young
SELECT country, sum(spend) / sum(conversions) FROM spend WHERE report_date >= '{-4}' GROUP BY country;
-- young
SELECT sum(CASE WHEN report_date >= '{-3}' THEN conversions END) AS recent FROM spend WHERE report_date >= '{-3}';
-- young
SELECT sum(spend) / sum(conversions) FROM spend_daily WHERE report_date BETWEEN '{-7}' AND '{-1}';
-- young
SELECT campaign_id, sum(conversions) FROM mart.campaign_day WHERE report_date BETWEEN '{-4}' AND '{-1}' GROUP BY 1;
-- young
SELECT sum(conversions) FROM mart.campaign_spend WHERE report_date = '{-1}';
-- young
WITH r AS (SELECT * FROM spend WHERE report_date >= '{-6}') SELECT campaign_name, sum(conversions) FROM r GROUP BY ALL;
-- young
SELECT avg(c) FROM (SELECT report_date, sum(conversions) c FROM spend WHERE report_date >= (SELECT last_whole_date - 6 FROM today) GROUP BY 1) q;
-- young
SELECT ROUND(SUM(spend)/NULLIF(SUM(conversions),0),2) CPA, campaign_status FROM spend WHERE report_date>'{-4}' GROUP BY campaign_status;
-- young
SELECT target_cpa, sum(spend) / sum(conversions) > any_value(target_cpa) AS misses FROM spend WHERE report_date >= '{-2}' GROUP BY target_cpa;
-- clock
SELECT sum(spend) FROM spend WHERE report_date = current_date - 1;
-- clock
SELECT sum(spend) FROM spend WHERE report_date >= current_date - 7;
-- clock
SELECT sum(spend) FROM spend WHERE report_date = today() - 1;
-- clock
SELECT sum(spend) FROM spend_daily WHERE report_date = CURRENT_DATE - INTERVAL 1 DAY;
-- clock
SELECT sum(spend) FROM spend WHERE report_date >= date_trunc('month', current_date);
-- clock
SELECT sum(spend) FROM spend WHERE report_date >= date_trunc('month', now());
-- clock
SELECT sum(spend) FROM spend WHERE report_date > now() - INTERVAL 7 DAY;
-- clock
SELECT sum(spend) FROM spend WHERE report_date = now()::DATE - 1;
-- clock
SELECT sum(spend) FROM spend WHERE report_date BETWEEN current_date - 30 AND current_date - 1;
-- clock
SELECT campaign_name, sum(spend) FROM spend WHERE report_date >= CAST(now() AS DATE) - 3 GROUP BY 1;
-- clock
SELECT sum(spend) FROM spend WHERE year(report_date) = year(current_date) AND month(report_date) = month(current_date);
-- clock
WITH d AS (SELECT current_date - 1 AS yesterday) SELECT sum(spend) FROM spend, d WHERE report_date = d.yesterday;
-- clock
SELECT sum(spend) FROM spend WHERE strftime(report_date, '%Y-%m') = strftime(now(), '%Y-%m');
-- clock
SELECT sum(spend) FROM spend WHERE report_date >= (SELECT current_date - 14);
-- clock
SELECT sum(spend) FROM spend WHERE report_date = get_current_timestamp()::DATE - 1;
-- clock
SELECT sum(spend) FROM spend WHERE date_diff('day', report_date, current_date) <= 7;
-- clock
SELECT * FROM campaign_at(current_date);
-- clock
SELECT valid_from::DATE AS day, count(*) FROM campaign_history WHERE change_type = 'changed' GROUP BY 1;
-- clock
SELECT count(*) FROM campaign_history WHERE valid_from::DATE = '{-5}' AND change_type = 'changed';
-- clock
SELECT count(*) FROM campaign_history WHERE valid_from >= '{-7}' AND valid_from < '{-6}';
-- clock
SELECT date_trunc('day', seen_at) AS day, min(balance) FROM account_snapshot GROUP BY day;
-- clock
SELECT campaign_id, default_bid FROM campaign_history WHERE valid_from <= DATE '{-9}' AND valid_to > DATE '{-9}';
-- clock
SELECT s.report_date, s.spend, h.default_bid FROM spend s JOIN campaign_history h ON h.campaign_id = s.campaign_id AND s.report_date >= h.valid_from AND s.report_date < h.valid_to;
-- clock
SELECT strftime(valid_from, '%Y-%m-%d') AS d, count(*) FROM source_rule_history WHERE rule = 'blocked' GROUP BY d;
-- clock
SELECT dayname(valid_from), count(*) FROM campaign_history WHERE version_no > 1 GROUP BY 1;
-- clock
SELECT entity_id, changed_column FROM mart.change_log WHERE seen_at::DATE = '{-4}' UNION ALL SELECT campaign_id, changed_columns FROM campaign_history WHERE valid_from::DATE = '{-4}';
-- clock
SELECT extract(hour FROM seen_at) AS h, count(*) FROM account_snapshot GROUP BY h;
-- clock
SELECT CAST(valid_from AS DATE), name FROM campaign_history WHERE change_type = 'deleted';
-- clock
SELECT count(*) FROM creative_history WHERE valid_from BETWEEN '{-10}' AND '{-3}' AND change_type = 'first_seen';
-- clock
SELECT sum(spend) FROM spend s JOIN calendar k USING (account_id, report_date) WHERE k.report_date = current_date - 1;
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN campaign_history h ON s.campaign_id = h.campaign_id;
-- fan-out
SELECT h.name, sum(s.spend) FROM spend s JOIN campaign_history h USING (account_id, campaign_id) GROUP BY h.name;
-- fan-out
SELECT h.status, sum(s.spend) AS spend, sum(s.clicks) AS clicks FROM spend AS s LEFT JOIN campaign_history AS h ON h.campaign_id = s.campaign_id AND h.account_id = s.account_id GROUP BY h.status;
-- fan-out
SELECT sum(spend) FROM spend NATURAL LEFT JOIN (SELECT 1 AS one) JOIN campaign_history USING (campaign_id);
-- fan-out
SELECT k.title, sum(s.spend) FROM spend s JOIN creative_history k ON k.creative_id = s.creative_id GROUP BY k.title ORDER BY 2 DESC;
-- fan-out
SELECT c.name, sum(s.spend) FROM campaign c JOIN spend s USING (campaign_id) JOIN creative k USING (campaign_id) GROUP BY c.name;
-- fan-out
SELECT r.rule, sum(s.spend) FROM spend s JOIN source_rule r ON r.source_id = s.source_id GROUP BY r.rule;
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN source_rule r ON r.campaign_id = s.campaign_id WHERE r.rule = 'blocked';
-- fan-out
SELECT s.campaign_id, sum(s.spend), count(r.source_id) FROM spend s LEFT JOIN source_rule r ON r.campaign_id = s.campaign_id GROUP BY 1;
-- fan-out
SELECT sum(a.spend) FROM spend a JOIN spend b ON a.campaign_id = b.campaign_id AND a.report_date = b.report_date + 7;
-- fan-out
SELECT a.report_date, sum(a.spend) AS this, sum(b.spend) AS last FROM spend a JOIN spend b ON a.campaign_id = b.campaign_id AND b.report_date = a.report_date - 1 GROUP BY 1;
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN campaign_delivery_history d USING (campaign_id) WHERE d.delivery_status = 'Active';
-- fan-out
SELECT s.campaign_id, sum(s.spend) FROM spend s JOIN campaign_history h ON h.campaign_id = s.campaign_id WHERE h.status = 'active' GROUP BY ALL;
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN campaign_history h ON h.campaign_id = s.campaign_id AND h.valid_from <= s.report_date;
-- fan-out
SELECT sum(s.clicks * h.default_bid) FROM spend s, campaign_history h WHERE h.campaign_id = s.campaign_id;
-- fan-out
SELECT s.report_date, s.campaign_id, s.spend, h.daily_spend_limit FROM spend s JOIN campaign_history h USING (campaign_id) WHERE s.report_date = '{-3}';
-- fan-out
SELECT sum(c.daily_spend_limit) FROM campaign c JOIN spend s USING (campaign_id) WHERE s.report_date = '{-2}';
-- fan-out
SELECT c.name, sum(c.daily_spend_limit) AS budget, sum(s.spend) AS spent FROM campaign c JOIN spend s ON s.campaign_id = c.campaign_id WHERE s.report_date = '{-2}' GROUP BY c.name;
-- fan-out
SELECT sum(d.spend) FROM (SELECT campaign_id, report_date, sum(spend) AS spend FROM spend GROUP BY ALL) d JOIN campaign_history h ON h.campaign_id = d.campaign_id;
-- fan-out
WITH totals AS (SELECT campaign_id, sum(spend) AS spend FROM spend GROUP BY 1) SELECT h.country, sum(t.spend) FROM totals t JOIN campaign_history h USING (campaign_id) GROUP BY 1;
-- fan-out
WITH totals AS (SELECT campaign_id, sum(spend) AS spend FROM spend GROUP BY 1), creatives AS (SELECT campaign_id, creative_id FROM creative) SELECT sum(t.spend) FROM totals t JOIN creatives USING (campaign_id);
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN source_mode_history m ON m.campaign_id = s.campaign_id WHERE m.source_mode = 'block_list';
-- fan-out
SELECT sum(s.spend) / max(a.balance) FROM spend s JOIN account_snapshot a USING (account_id);
-- fan-out
SELECT a.balance_status, sum(s.spend) FROM spend s JOIN account_snapshot a ON a.account_id = s.account_id GROUP BY 1;
-- fan-out
SELECT sum(s.spend) FROM spend s JOIN spend_change x USING (report_date, campaign_id);
-- fan-out
SELECT s.campaign_name, sum(s.spend), sum(i.spend) FROM spend s JOIN spend_intraday i ON i.campaign_id = s.campaign_id AND i.report_date = s.report_date GROUP BY 1;
-- fan-out
SELECT k.campaign_id, sum(s.spend) FROM creative k JOIN spend s ON s.campaign_id = k.campaign_id GROUP BY k.campaign_id;
-- fan-out
SELECT sum(s.spend) FROM spend s LEFT JOIN source_rule_history r ON r.campaign_id = s.campaign_id AND r.source_id = s.source_id AND r.rule = 'blocked';
-- fan-out
SELECT avg(d.spend) FROM (SELECT report_date, campaign_id, sum(spend) AS spend FROM spend GROUP BY 1, 2) d JOIN creative USING (campaign_id);
-- fan-out
SELECT h.country, SUM(s.spend) OVER () FROM spend s JOIN campaign_history h ON h.campaign_id = s.campaign_id GROUP BY h.country, s.spend HAVING sum(s.spend) > 1;
-- versions
SELECT count(*) FROM campaign_history WHERE status = 'active';
-- versions
SELECT count(*) FROM campaign_history;
-- versions
SELECT status, count(*) FROM campaign_history GROUP BY status;
-- versions
SELECT count(DISTINCT campaign_id) FROM campaign_history WHERE status = 'active';
-- versions
SELECT name, default_bid FROM campaign_history WHERE status = 'active' ORDER BY default_bid DESC;
-- versions
SELECT avg(default_bid) FROM campaign_history;
-- versions
SELECT sum(daily_spend_limit) FROM campaign_history WHERE status = 'active';
-- versions
SELECT campaign_id FROM campaign_history WHERE daily_spend_limit IS NULL;
-- versions
SELECT count(*) FROM creative_history WHERE status = 'rejected';
-- versions
SELECT campaign_id, title, status FROM creative_history WHERE status = 'pending_review';
-- versions
SELECT count(*) FROM source_rule_history WHERE rule = 'blocked';
-- versions
SELECT source_id FROM source_rule_history WHERE campaign_id = 'C1' AND rule = 'blocked';
-- versions
SELECT rule, count(*) AS n FROM source_rule_history GROUP BY rule;
-- versions
SELECT sum(spend) FROM spend WHERE campaign_id IN (SELECT campaign_id FROM campaign_history WHERE status = 'active');
-- versions
SELECT sum(spend) FROM spend s WHERE EXISTS (SELECT campaign_id FROM campaign_history h WHERE h.campaign_id = s.campaign_id AND h.status = 'paused');
-- versions
SELECT delivery_status, count(*) FROM campaign_delivery_history GROUP BY 1;
-- versions
SELECT balance FROM account_snapshot;
-- versions
SELECT avg(balance) FROM account_snapshot;
-- versions
SELECT sum(balance) AS money FROM account_snapshot GROUP BY payment_mode;
-- versions
SELECT sum(spend) FROM spend_intraday WHERE report_date = '{-0}';
-- versions
SELECT campaign_id, sum(spend) FROM spend_intraday GROUP BY campaign_id;
-- versions
SELECT source_mode, count(*) FROM source_mode_history GROUP BY source_mode;
-- versions
SELECT country, count(campaign_id) FROM campaign_history WHERE NOT is_deleted GROUP BY country;
-- versions
WITH active AS (SELECT campaign_id FROM campaign_history WHERE status = 'active') SELECT count(*) FROM active;
-- versions
SELECT max(default_bid) FROM campaign_history WHERE status = 'active';
-- versions
SELECT c.name, count(r.source_id) FROM campaign c JOIN source_rule_history r ON r.campaign_id = c.campaign_id WHERE r.rule = 'blocked' GROUP BY c.name;
-- versions
SELECT count(*) FROM payout_history;
-- versions
SELECT payout FROM payout_history WHERE campaign_id = 'C1';
-- mean
SELECT avg(spend / clicks) FROM spend WHERE clicks > 0;
-- mean
SELECT campaign_name, avg(spend / nullif(clicks, 0)) AS cpc FROM spend GROUP BY campaign_name;
-- mean
SELECT avg(clicks::DOUBLE / impressions) AS ctr FROM spend WHERE impressions > 0;
-- mean
SELECT avg(cpa) FROM mart.campaign_performance;
-- mean
SELECT avg(cpc), avg(ctr) FROM mart.source_performance;
-- mean
WITH d AS (SELECT report_date, sum(spend) / sum(clicks) AS cpc FROM spend GROUP BY 1) SELECT avg(cpc) FROM d;
-- mean
SELECT avg(x.r) FROM (SELECT campaign_id, sum(clicks) * 1.0 / sum(impressions) AS r FROM spend GROUP BY 1) AS x;
-- mean
SELECT round(avg(coalesce(spend / nullif(conversions_expected, 0), 0)), 2) FROM spend;
-- mean
SELECT median(spend / clicks) FROM spend WHERE clicks > 0;
-- mean
SELECT country, mean(spend / clicks) FROM spend WHERE clicks <> 0 GROUP BY ALL;
-- mean
SELECT sum(spend / nullif(clicks, 0)) FROM spend;
-- mean
SELECT sum(cpc) FROM mart.campaign_performance;
-- mean
SELECT avg(spend) FROM spend;
-- mean
SELECT campaign_name, avg(spend) AS avg_daily_spend FROM spend WHERE report_date >= '{-7}' GROUP BY 1;
-- mean
SELECT avg(clicks) FROM spend WHERE report_date = '{-1}';
-- mean
SELECT sum(daily_spend_limit) FROM spend WHERE report_date = '{-1}';
-- mean
SELECT sum(spend) / sum(daily_spend_limit) AS utilization FROM spend WHERE report_date = '{-2}';
-- mean
SELECT avg(default_bid) FROM spend WHERE report_date = '{-1}';
-- mean
SELECT campaign_id, avg(target_cpa) FROM spend GROUP BY campaign_id HAVING count(DISTINCT target_cpa) > 1;
-- mean
SELECT count(campaign_id) FROM spend WHERE report_date = '{-1}';
-- mean
SELECT count(source_id) AS sources FROM spend WHERE report_date >= '{-7}';
-- mean
SELECT report_date, count(creative_id) FROM spend GROUP BY 1;
-- mean
SELECT avg(cpm) FROM (SELECT campaign_id, 1000 * sum(spend) / sum(impressions) AS cpm FROM spend GROUP BY ALL);
-- mean
SELECT avg(s.spend / s.clicks) OVER (PARTITION BY s.campaign_id) FROM spend s WHERE s.clicks > 0;
-- mean
SELECT quantile_cont(cpa, 0.5) FROM mart.source_performance;
-- now
SELECT c.name, sum(s.spend) / any_value(c.daily_spend_limit) AS used FROM spend s JOIN campaign c USING (account_id, campaign_id) GROUP BY c.name;
-- now
SELECT s.report_date, c.campaign_id, sum(s.spend) >= c.daily_spend_limit AS at_limit FROM spend s JOIN campaign c ON c.campaign_id = s.campaign_id GROUP BY s.report_date, c.campaign_id, c.daily_spend_limit;
-- now
SELECT sum(s.clicks * c.default_bid) AS max_cost FROM spend s JOIN campaign c USING (campaign_id);
-- now
SELECT c.default_bid, sum(s.spend) / sum(s.clicks) AS cpc FROM spend s JOIN campaign c USING (campaign_id) GROUP BY 1;
-- now
SELECT count(*) FROM (SELECT report_date, campaign_id, sum(spend) AS spend FROM spend GROUP BY ALL) d JOIN campaign c USING (campaign_id) WHERE d.spend > 0.95 * c.daily_spend_limit;
-- now
WITH d AS (SELECT campaign_id, report_date, sum(spend) AS spend FROM spend GROUP BY 1, 2) SELECT d.report_date, c.name, d.spend / c.daily_spend_limit FROM d JOIN campaign AS c ON c.campaign_id = d.campaign_id;
-- now
SELECT c.name, sum(s.spend) / nullif(sum(s.clicks), 0) - c.default_bid AS over FROM spend s LEFT JOIN campaign c USING (account_id, campaign_id) GROUP BY c.name, c.default_bid;
-- now
SELECT b.default_bid >= 0.5 AS expensive, sum(s.spend) FROM spend s JOIN (SELECT campaign_id, default_bid FROM campaign) b USING (campaign_id) GROUP BY 1;
-- now
SELECT sum(s.spend) FROM spend s JOIN campaign c USING (campaign_id) WHERE c.default_bid > 0.3;
-- differences
SELECT sum(new_spend) FROM spend_change;
-- differences
SELECT report_date, sum(new_conversions) FROM spend_change GROUP BY 1;
-- differences
SELECT campaign_id, sum(x.new_spend) AS spend, sum(x.new_clicks) AS clicks FROM spend_change x GROUP BY ALL;
-- no day
SELECT sum(spend) FROM spend WHERE report_date = '2020-01-01';
-- no day
SELECT sum(spend) FROM spend WHERE report_date = '{-0}';
-- no day
SELECT sum(spend) FROM spend WHERE report_date > '2031-01-01';
-- no day
SELECT sum(spend) FROM spend s JOIN today t USING (account_id) WHERE s.report_date = t.today;
-- before
SELECT sum(spend) FROM spend WHERE report_date BETWEEN '{-90}' AND '{-40}';
-- before
SELECT sum(spend) FROM spend WHERE report_date >= '{-70}';
-- before
SELECT campaign_name, sum(clicks) FROM spend WHERE report_date > DATE '{-80}' AND report_date < DATE '{-30}' GROUP BY 1;
-- open
SELECT campaign_id, sum(spend) AS spend FROM (SELECT s.* FROM spend_daily s WHERE s.report_date > '{-4}') GROUP BY campaign_id;
-- open
SELECT quarter(report_date) AS q, sum(d.spend)::DECIMAL(18,2) AS usd FROM main.spend_daily AS d GROUP BY q;
-- young
SELECT campaign_id, max_by(creative_id, c) FROM (SELECT campaign_id, creative_id, sum(conversions) AS c FROM spend WHERE report_date >= '{-6}' GROUP BY ALL) GROUP BY 1;
-- clock
SELECT campaign_name, sum(spend) FILTER (WHERE report_date = current_date - 1) AS yesterday, sum(spend) AS all_time FROM spend GROUP BY ALL;
-- clock
SELECT sum(spend) FROM spend WHERE report_date >= date_add(today(), INTERVAL (-6) DAY);
-- fan-out
WITH v AS (SELECT campaign_id, name, status FROM campaign_history WHERE version_no >= 1) SELECT v.status, sum(s.spend) FROM spend s JOIN v ON v.campaign_id = s.campaign_id GROUP BY v.status;
-- versions
SELECT h.name FROM campaign_history AS h WHERE h.country = 'US' AND h.status = 'active' ORDER BY h.name;
-- mean
SELECT campaign_id, avg(ctr) FROM (SELECT campaign_id, report_date, sum(clicks) / sum(impressions) AS ctr FROM spend WHERE impressions > 0 GROUP BY ALL) GROUP BY campaign_id;
