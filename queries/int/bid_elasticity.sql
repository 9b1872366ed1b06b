-- How do the clicks of an account follow its bids?
-- Trap: it is read from the account's own changes of campaigns' default bids, where nothing else changed in the same version; until there are some it is 1, which is an assumption.
WITH account AS (
  -- bid_elasticity: How the clicks of a source follow its bid before an account has changed bids of its own: 1 is a tenth more clicks for a bid a tenth higher.
  SELECT c.account_id, 1::DOUBLE /* bid_elasticity */ AS usual
  FROM main.calendar AS c
  GROUP BY c.account_id
),
change AS (
  SELECT
    h.account_id, h.campaign_id, h.version_no, h.changed_columns, h.change_type, coalesce(h.changed_after, h.valid_from) AS since, h.valid_from AS until,
    safe_ln(h.default_bid::DOUBLE / nullif(lag(h.default_bid) OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.version_no), 0)::DOUBLE) AS bid_change
  FROM main.campaign_history AS h
  WHERE h.default_bid > 0
),
placed AS (
  SELECT c.account_id, c.campaign_id, c.version_no, c.bid_change, a.report_date AS first_date, z.report_date AS last_date
  FROM change AS c
  JOIN main.calendar AS a ON a.account_id = c.account_id AND a.starts_at <= c.since AND c.since < a.ends_at
  JOIN main.calendar AS z ON z.account_id = c.account_id AND z.starts_at <= c.until AND c.until < z.ends_at
  WHERE c.change_type = 'changed' AND c.changed_columns = 'default_bid' AND abs(c.bid_change) > 0.01
),
sided AS (
  SELECT
    p.account_id, p.campaign_id, p.version_no, p.bid_change,
    sum(s.clicks) FILTER (WHERE s.report_date < p.first_date)::DOUBLE / nullif(count(*) FILTER (WHERE s.report_date < p.first_date), 0) AS clicks_before,
    sum(s.clicks) FILTER (WHERE s.report_date > p.last_date)::DOUBLE / nullif(count(*) FILTER (WHERE s.report_date > p.last_date), 0) AS clicks_after,
    least(count(*) FILTER (WHERE s.report_date < p.first_date), count(*) FILTER (WHERE s.report_date > p.last_date)) AS days
  FROM placed AS p
  JOIN int.campaign_spend AS s
    ON s.account_id = p.account_id AND s.campaign_id = p.campaign_id AND s.report_date BETWEEN p.first_date - 7 AND p.last_date + 7
  JOIN int.whole_day AS c ON c.account_id = s.account_id AND c.report_date = s.report_date
  GROUP BY p.account_id, p.campaign_id, p.version_no, p.bid_change
),
told AS (
  SELECT
    s.account_id, count(*) AS changes, sum((1e9 * s.bid_change * s.bid_change)::BIGINT)::DOUBLE / 1e9 AS squares,
    sum((1e9 * s.bid_change * safe_ln(s.clicks_after / s.clicks_before))::BIGINT)::DOUBLE / 1e9 AS products
  FROM sided AS s
  WHERE s.days >= 3 AND s.clicks_before > 0 AND s.clicks_after > 0
  GROUP BY s.account_id
)
-- A Bayesian estimate. The assumed elasticity has a standard deviation of 0.5. Without any change of bids, the
-- logarithm of a week's clicks has a standard deviation of 0.4.
SELECT
  a.account_id, coalesce(t.changes, 0) AS changes,
  least(3, greatest(0.2, (4 * a.usual + coalesce(t.products, 0) / 0.15) / (4 + coalesce(t.squares, 0) / 0.15))) AS elasticity
FROM account AS a
LEFT JOIN told AS t ON t.account_id = a.account_id
