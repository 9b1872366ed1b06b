-- How was the last whole day, against the seven days before it?
-- Trap: it is the last day that is proven complete, which need not be yesterday (report_date). Of its conversions few have arrived: conversions_expected and cpa_expected allow for those to come, by the account's own curve (mart.day_maturity). The usual is the mean of those of the seven days before that are proven complete.
-- Parameter rows: 20, campaigns to show, those that spent most first.
-- Alone: No campaign is listed: none had spend on that day or the days before, or rows is 0.
-- Days: s.report_date >= t.last_whole_date - 7 AND s.report_date <= t.last_whole_date
-- Shown: campaign_name, spend, spend_usual, spend_change, conversions_expected, cpa_expected, cpa_usual, conversions, campaign_id
SELECT
  y.account_id, y.report_date, y.campaign_id, y.campaign_name, y.spend, y.spend_usual, y.spend_change, y.clicks, y.conversions,
  y.conversions_expected, y.conversions_share, y.cpa, y.cpa_expected, y.cpa_usual, y.days_before, y.is_total
FROM mart.yesterday AS y
QUALIFY y.is_total OR row_number() OVER (PARTITION BY y.account_id, y.is_total ORDER BY y.spend DESC, y.campaign_id) <= $rows::INTEGER
ORDER BY y.account_id, y.is_total DESC, y.spend DESC, y.campaign_id
