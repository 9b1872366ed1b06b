-- What did I spend yesterday?
-- Answer: one row: US dollars of the last day that is proven complete.
SELECT sum(s.spend) AS spend
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date = t.last_whole_date;

-- What did I spend this month?
-- Answer: one row: US dollars from the first day of this month to the last day that is over.
SELECT sum(s.spend) AS spend
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date BETWEEN t.month_from AND t.month_to;

-- What did each campaign cost last month, for the invoice?
-- Answer: one row per campaign; if days is less than the days of the month, the sum is too low.
SELECT s.campaign_id, any_value(s.campaign_name) AS campaign_name, sum(s.spend) AS spend,
  count(DISTINCT s.report_date) AS days
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.is_complete AND s.report_date BETWEEN t.last_month_from AND t.last_month_to
GROUP BY ALL ORDER BY spend DESC;

-- What is the CPA of each campaign?
-- Answer: one row per campaign; NULL: no conversion is expected of it.
SELECT s.campaign_id, any_value(s.campaign_name) AS campaign_name, sum(s.spend) AS spend,
  sum(s.spend) / nullif(sum(s.conversions_expected), 0) AS cpa
FROM main.spend AS s
GROUP BY s.campaign_id ORDER BY spend DESC;

-- What is the CPA of the last seven days?
-- Answer: one row: US dollars by conversion, with the conversions that are still to come.
SELECT sum(s.spend) / nullif(sum(s.conversions_expected), 0) AS cpa
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date > t.last_whole_date - 7;

-- How did the CPA develop by week?
-- Answer: one row per week, which begins on Monday; the first and the last one may be a part.
SELECT date_trunc('week', s.report_date)::DATE AS week, sum(s.spend) AS spend,
  sum(s.spend) / nullif(sum(s.conversions_expected), 0) AS cpa
FROM main.spend AS s
GROUP BY week ORDER BY week;

-- What does a click cost?
-- Answer: one row per campaign: US dollars per click.
SELECT s.campaign_id, any_value(s.campaign_name) AS campaign_name, sum(s.spend) / nullif(sum(s.clicks), 0) AS cpc
FROM main.spend AS s
GROUP BY s.campaign_id ORDER BY cpc DESC;

-- Which creatives have the best click rate?
-- Answer: one row per creative, clicks by impression; ask creative_performance(from_date, to_date) whether chance explains it.
SELECT s.campaign_id, s.creative_id, sum(s.impressions) AS impressions,
  sum(s.clicks) / nullif(sum(s.impressions), 0) AS ctr
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date > t.last_whole_date - 30
GROUP BY ALL ORDER BY ctr DESC;

-- Which sources cost most in the last 30 days?
-- Answer: one row per source, twenty at most.
SELECT s.source_id, sum(s.spend) AS spend, sum(s.conversions_expected) AS conversions_expected
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date > t.last_whole_date - 30
GROUP BY s.source_id ORDER BY spend DESC LIMIT 20;

-- Which sources spent without a conversion?
-- Answer: one row per source and campaign; ask the ready question sources_to_block which of them to block.
SELECT s.campaign_id, s.source_id, sum(s.spend) AS spend
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date > t.last_whole_date - 30
GROUP BY ALL HAVING sum(s.conversions_expected) = 0 ORDER BY spend DESC LIMIT 20;

-- Which sources are new?
-- Answer: one row per source that first had a row in the last seven days.
SELECT n.source_id, n.first_report_date, sum(s.spend) AS spend
FROM main.source AS n JOIN main.today AS t USING (account_id) JOIN main.spend AS s USING (account_id, source_id)
WHERE n.first_report_date > t.last_whole_date - 7
GROUP BY ALL ORDER BY spend DESC;

-- How many campaigns are active?
-- Answer: one row: campaigns whose status is active now.
SELECT count(*) AS campaigns FROM main.campaign AS c WHERE c.status = 'active';

-- What did the campaigns spend that are active now?
-- Answer: one row per campaign; coalesced to 0 where a campaign has no row on known days.
SELECT c.campaign_id, c.name, coalesce(sum(s.spend), 0) AS spend
FROM main.campaign AS c LEFT JOIN main.spend AS s ON s.account_id = c.account_id AND s.campaign_id = c.campaign_id
WHERE c.status = 'active'
GROUP BY ALL ORDER BY spend DESC;

-- What did each country cost?
-- Answer: one row per country of the campaign's audience on each day; NULL: everywhere.
SELECT s.country, sum(s.spend) AS spend, sum(s.spend) / nullif(sum(s.clicks), 0) AS cpc
FROM main.spend AS s
GROUP BY s.country ORDER BY spend DESC;

-- What did we spend under each target CPA?
-- Answer: one row per target CPA that was set on some day; the current target may be another.
SELECT s.target_cpa, sum(s.spend) AS spend, count(DISTINCT s.report_date) AS days
FROM main.spend AS s
GROUP BY s.target_cpa ORDER BY s.target_cpa;

-- What was a campaign's bid on the first of this month?
-- Answer: one row per campaign: US dollars per click at the end of that day.
SELECT DISTINCT s.campaign_id, s.campaign_name, s.default_bid
FROM main.spend AS s JOIN main.today AS t USING (account_id)
WHERE s.report_date = t.month_from ORDER BY s.campaign_id;

-- What changed last Tuesday?
-- Answer: one row per campaign and change that was first seen on that Chicago day.
SELECT h.campaign_id, h.name, h.changed_columns, h.valid_from
FROM main.campaign_history AS h
JOIN main.calendar AS k ON k.account_id = h.account_id AND h.valid_from >= k.starts_at AND h.valid_from < k.ends_at
JOIN main.today AS t ON t.account_id = h.account_id
WHERE isodow(k.report_date) = 2 AND k.report_date BETWEEN t.today - 7 AND t.today - 1 AND h.change_type = 'changed'
ORDER BY h.valid_from;

-- On which weekday do I spend most?
-- Answer: one row per weekday, 1 is Monday: US dollars of an average day.
SELECT isodow(s.report_date) AS weekday, sum(s.spend) / count(DISTINCT s.report_date) AS spend_per_day
FROM main.spend AS s
GROUP BY weekday ORDER BY spend_per_day DESC;

-- Which days are missing?
-- Answer: one row per gap of the days that could be asked for; none: nothing is missing.
SELECT c.account_id, c.report_date, c.state
FROM ops.day_coverage AS c
WHERE c.state NOT IN ('complete', 'final', 'open') ORDER BY ALL;

-- How fresh are the numbers?
-- Answer: one row per account: the last whole day, and the instant of the newest read.
SELECT t.account_id, t.last_whole_date, t.as_of_at FROM main.today AS t;
