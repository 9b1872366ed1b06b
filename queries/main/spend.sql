-- What did each creative spend and bring at each source on each Chicago day that was over, as known now?
-- Trap: the open day is left out (main.spend_daily and mart.intraday_hourly have it). Conversions of the last days still arrive: for a CPA divide by sum(conversions_expected), and profit_expected is the profit; both are NULL on days of which nobody knows yet how many are still to come, as in the first day of an account. Days that were not read after they were over have no rows (mart.coverage; main.spend_daily has what was read before). Settings are those at the end of the day; names are those of now.
-- Column campaign_name: Name of the campaign now, else as the report gave it.
-- Column campaign_status: Status of the campaign at the end of the day.
-- Column default_bid: US dollars per click that the campaign bid at the end of the day, if the source had no bid of its own.
-- Column daily_spend_limit: US dollars that the campaign was to spend at most on the day, at its end. NULL: no limit.
-- Column target_cpa: US dollars per conversion that the campaign aimed at, at the end of the day. NULL: none.
-- Column country: Country of the campaign's audience at the end of the day. NULL: everywhere, or never readable: group by coalesce(country, 'everywhere').
-- Column is_settings_assumed: Whether the campaign's settings were first read after the day: those of the first read are shown. NULL: they were never read.
-- Column is_open: Whether the day was last read before it was over: more of it may be missing.
-- Column is_complete: Whether the day is proven complete.
-- Column conversions_share: Share of the day's final conversions that has arrived by its age (int.day_maturity). NULL: not known, or the day is not proven complete.
-- Column conversions_expected: Conversions with those still to come: told so far, divided by conversions_share. A sum over many rows is as good as the share; of one row it is a guess. Sums are the totals to use; mart.source_performance is for comparing sources, and its sums differ, because it also makes up for days on which conversions had stopped (int.break_day). NULL: conversions are not known, or how many are still to come is not known yet.
-- Column revenue: US dollars that the conversions so far earned by your own payouts (mart.revenue). NULL: there are no payouts, or the row has none.
-- Column profit_expected: US dollars: revenue with the conversions still to come, less spend. NULL: revenue is, or how many are still to come is not known yet.
WITH finished AS (
  SELECT c.account_id, c.report_date, c.state, k.ends_at, m.conversions_share
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  LEFT JOIN int.day_maturity AS m ON m.account_id = c.account_id AND m.report_date = c.report_date
  WHERE c.last_read_at >= k.ends_at
),
version AS (
  SELECT h.*, CASE WHEN h.version_no = 1 THEN to_timestamp(0) ELSE h.valid_from END AS counts_from
  FROM main.campaign_history AS h
),
-- Join the settings of a day once per campaign, not once per row.
campaign_on AS (
  SELECT
    o.account_id, o.report_date, h.campaign_id, n.name, h.status, h.default_bid, h.daily_spend_limit, h.target_cpa, h.country,
    h.valid_from >= o.ends_at AS is_assumed
  FROM finished AS o
  JOIN version AS h ON h.account_id = o.account_id AND h.counts_from < o.ends_at AND h.valid_to >= o.ends_at
  JOIN main.campaign_history AS n ON n.account_id = h.account_id AND n.campaign_id = h.campaign_id AND n.is_current
)
SELECT
  s.account_id, s.report_date, s.campaign_id, coalesce(h.name, s.campaign_name) AS campaign_name, s.creative_id, r.title AS creative_title, s.source_id,
  s.spend, s.clicks, s.impressions, s.conversions,
  s.conversions / nullif(o.conversions_share, 0) AS conversions_expected, o.conversions_share,
  CASE WHEN y.account_id IS NOT NULL THEN CASE WHEN s.conversions = 0 THEN 0 ELSE v.revenue END END::DECIMAL(18, 6) AS revenue,
  CASE WHEN y.account_id IS NOT NULL THEN CASE WHEN s.conversions = 0 THEN 0 ELSE v.revenue END END::DOUBLE / nullif(o.conversions_share, 0) - s.spend::DOUBLE AS profit_expected,
  h.status AS campaign_status, h.default_bid, h.daily_spend_limit, h.target_cpa, h.country, h.is_assumed AS is_settings_assumed,
  false AS is_open, o.state IN ('complete', 'final') AS is_complete, o.state = 'final' AS is_final
FROM main.spend_daily AS s
JOIN finished AS o ON o.account_id = s.account_id AND o.report_date = s.report_date
LEFT JOIN campaign_on AS h ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.report_date = s.report_date
LEFT JOIN main.creative_history AS r ON r.account_id = s.account_id AND r.creative_id = s.creative_id AND r.is_current
LEFT JOIN (SELECT DISTINCT p.account_id FROM main.payout AS p) AS y ON y.account_id = s.account_id
LEFT JOIN mart.revenue AS v ON v.account_id = s.account_id AND v.report_date = s.report_date AND v.campaign_id = s.campaign_id
  AND v.creative_id = s.creative_id AND v.source_id = s.source_id
