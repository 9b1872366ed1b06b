WITH newest AS (
  SELECT account_id, max(last_read_at) AS as_of_at FROM @ops_day_coverage GROUP BY account_id
),
finished AS (
  SELECT c.account_id, c.report_date, c.state, k.ends_at
  FROM @ops_day_coverage AS c
  JOIN @calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  JOIN newest AS t ON t.account_id = c.account_id AND k.ends_at <= t.as_of_at
),
campaign_on AS (
  SELECT
    o.account_id, o.report_date, h.campaign_id, n.name, h.status, h.default_bid, h.daily_spend_limit, h.target_cpa,
    h.country, h.valid_from >= o.ends_at AS is_assumed
  FROM finished AS o
  JOIN @campaign_history AS h
    ON h.account_id = o.account_id AND (h.version_no = 1 OR h.valid_from < o.ends_at) AND h.valid_to >= o.ends_at
  JOIN @campaign_history AS n ON n.account_id = h.account_id AND n.campaign_id = h.campaign_id AND n.is_current
)
SELECT
  s.account_id, s.report_date, s.campaign_id, coalesce(h.name, s.campaign_name) AS campaign_name, s.creative_id,
  r.title AS creative_title, s.source_id, s.spend, s.clicks, s.impressions, s.conversions, s.conversions_fractional,
  h.status AS campaign_status, h.default_bid, h.daily_spend_limit, h.target_cpa, h.country,
  h.is_assumed AS is_settings_assumed,
  o.state = 'open' AS is_open, o.state IN ('complete', 'final') AS is_complete, o.state = 'final' AS is_final
FROM @spend_daily AS s
JOIN finished AS o ON o.account_id = s.account_id AND o.report_date = s.report_date
LEFT JOIN campaign_on AS h
  ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.report_date = s.report_date
LEFT JOIN @creative_history AS r ON r.account_id = s.account_id AND r.creative_id = s.creative_id AND r.is_current
