-- Which sources does the report know, and since when?
-- Trap: the dates are of rows in the report; a day that is not covered may have had others. It answers about all history: every row of spend_daily is read.
-- Column first_report_date: First Chicago day on which the report has the source.
-- Column last_report_date: Last Chicago day on which the report has the source.
-- Column campaigns: Campaigns that the report has the source with.
SELECT
  s.account_id, s.source_id, min(s.report_date) AS first_report_date, max(s.report_date) AS last_report_date,
  count(DISTINCT s.campaign_id) AS campaigns
FROM main.spend_daily AS s
WHERE s.source_id <> ''
GROUP BY s.account_id, s.source_id
