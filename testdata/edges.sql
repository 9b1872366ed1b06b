-- Edge cases of rates and logarithms, one account each: numbers that a service may truthfully report. The statements
-- fill the tables of an empty warehouse whose calendar covers 2025 to 2027.
CREATE TEMP TABLE edge AS
SELECT v.account_id, v.last_date FROM (VALUES
  ('credits', DATE '2026-11-19'), ('zero_weeks', DATE '2026-11-19'), ('clicks_above', DATE '2026-11-19'), ('one_row', DATE '2026-11-19'),
  ('no_row', DATE '2026-11-19'), ('no_settings', DATE '2026-11-19'), ('no_conversions', DATE '2026-11-19'), ('null_counts', DATE '2026-11-19'),
  ('autumn', DATE '2026-11-05'), ('spring', DATE '2026-03-12'), ('free', DATE '2026-11-19'), ('stopped', DATE '2026-11-19'), ('open_day', DATE '2026-11-19'),
  ('net_credits', DATE '2026-11-19'), ('minus_one', DATE '2026-11-19'), ('all_minus_one', DATE '2026-11-19'),
  ('all_minus_two', DATE '2026-11-19')) AS v(account_id, last_date);

INSERT INTO main.calendar
SELECT c.* REPLACE (e.account_id AS account_id)
FROM (SELECT * FROM main.calendar WHERE account_id = (SELECT min(account_id) FROM main.calendar)) AS c CROSS JOIN edge AS e;

CREATE TEMP TABLE edge_row AS
SELECT
  e.account_id, e.last_date - d.d::INTEGER AS report_date, 'C' || c.c AS campaign_id, 'K' || c.c || '-' || k.k AS creative_id, 'S' || s.s AS source_id,
  (4 + c.c + s.s + (d.d * 7 + s.s * 3) % 5)::DECIMAL(18, 6) AS spend, (40 + 5 * s.s + (d.d * 3 + k.k) % 11)::BIGINT AS clicks,
  (2000 + 100 * s.s + (d.d * 13) % 90)::BIGINT AS impressions, (1 + (d.d + s.s + k.k) % 3 + c.c)::BIGINT AS conversions
FROM edge AS e, range(45) AS d(d), range(4) AS c(c), range(2) AS k(k), range(5) AS s(s)
WHERE e.account_id NOT IN ('one_row', 'no_row', 'open_day');
INSERT INTO edge_row VALUES ('one_row', DATE '2026-11-19', 'C0', 'K0-0', 'S0', 5, 10, 100, 1), ('open_day', DATE '2026-11-19', 'C0', 'K0-0', 'S0', 5, 10, 100, 1);

-- Credits: one that exceeds everything else of its source; then a source, a campaign and a day with credits only.
UPDATE edge_row SET spend = -10, clicks = -30, impressions = 0, conversions = -6 WHERE account_id = 'credits' AND source_id = 'S0' AND report_date = DATE '2026-11-15';
UPDATE edge_row SET spend = -10, clicks = -30, impressions = 0, conversions = -6 WHERE account_id = 'credits' AND source_id = 'S1' AND campaign_id = 'C1';
UPDATE edge_row SET spend = -1, clicks = -1, impressions = -1, conversions = -1 WHERE account_id = 'credits' AND campaign_id = 'C2';
UPDATE edge_row SET spend = -1, clicks = -1, impressions = -1, conversions = -2 WHERE account_id = 'credits' AND report_date = DATE '2026-11-17';
UPDATE edge_row SET spend = -spend, clicks = -clicks, impressions = -impressions, conversions = -conversions WHERE account_id = 'net_credits';
-- Conversions that sum to -1: of a campaign, of a source, of a creative, of a day, of an account; and to -2 of an account.
UPDATE edge_row SET conversions = 0 WHERE account_id IN ('all_minus_one', 'all_minus_two') OR account_id = 'minus_one'
  AND (campaign_id = 'C0' OR campaign_id = 'C1' AND source_id = 'S0' OR creative_id = 'K2-0' OR report_date = DATE '2026-11-16');
UPDATE edge_row SET conversions = -1 WHERE report_date = DATE '2026-11-16' AND source_id = 'S0'
  AND (creative_id = 'K0-0' OR account_id = 'minus_one' AND creative_id LIKE '%-0' OR account_id = 'all_minus_two' AND creative_id = 'K1-0')
  AND account_id IN ('minus_one', 'all_minus_one', 'all_minus_two');
-- Weeks with conversions but no spend, with negative spend, and with zeros only; and zeros only in the week before.
UPDATE edge_row SET spend = 0 WHERE account_id = 'zero_weeks' AND campaign_id = 'C0' AND report_date > DATE '2026-11-12';
UPDATE edge_row SET spend = -0.1 WHERE account_id = 'zero_weeks' AND campaign_id = 'C1' AND report_date > DATE '2026-11-12';
UPDATE edge_row SET spend = 0, clicks = 0, impressions = 0, conversions = 0 WHERE account_id = 'zero_weeks' AND campaign_id = 'C2' AND report_date > DATE '2026-11-12';
UPDATE edge_row SET spend = 0, clicks = 0, impressions = 0, conversions = 0 WHERE account_id = 'zero_weeks' AND campaign_id = 'C3' AND report_date BETWEEN DATE '2026-11-06' AND DATE '2026-11-12';
UPDATE edge_row SET clicks = impressions + 900 WHERE account_id = 'clicks_above' AND creative_id LIKE '%-0';
UPDATE edge_row SET impressions = 0 WHERE account_id = 'clicks_above' AND creative_id = 'K3-1';
UPDATE edge_row SET conversions = 3 * clicks WHERE account_id = 'clicks_above' AND campaign_id = 'C2';
UPDATE edge_row SET conversions = 0 WHERE account_id = 'no_conversions';
UPDATE edge_row SET clicks = NULL WHERE account_id = 'null_counts' AND campaign_id = 'C0' AND report_date >= DATE '2026-11-10';
UPDATE edge_row SET impressions = NULL WHERE account_id = 'null_counts' AND campaign_id = 'C1';
UPDATE edge_row SET conversions = NULL WHERE account_id = 'null_counts' AND campaign_id = 'C2';
UPDATE edge_row SET clicks = NULL, impressions = NULL, conversions = NULL WHERE account_id = 'null_counts' AND campaign_id = 'C3' AND source_id = 'S0';
UPDATE edge_row SET spend = 0 WHERE account_id = 'free';

INSERT INTO main.spend_daily BY NAME
SELECT r.*, 'Campaign ' || r.campaign_id AS campaign_name, (r.report_date + 1)::TIMESTAMPTZ AS _first_seen_at, (r.report_date + 1)::TIMESTAMPTZ AS _changed_at, 'r1' AS _run_id
FROM edge_row AS r;
INSERT INTO ops.day_coverage BY NAME
SELECT
  e.account_id, e.last_date - d.d::INTEGER AS report_date, CASE WHEN e.account_id = 'open_day' THEN 'open' WHEN d.d > 32 THEN 'final' ELSE 'complete' END AS state,
  (e.last_date - d.d::INTEGER + 2)::TIMESTAMPTZ AS first_read_at, (e.last_date + 2)::TIMESTAMPTZ AS last_read_at, 3 AS reads, coalesce(r.n, 0) AS "rows", r.spend, r.clicks,
  'matched' AS control_total_state, 'h' AS content_hash, 30 - d.d AS days_until_unreachable, 'r1' AS _run_id
FROM edge AS e
JOIN range(45) AS d(d) ON d.d = 0 OR e.account_id NOT IN ('one_row', 'open_day')
LEFT JOIN (SELECT account_id, report_date, count(*) AS n, sum(spend) AS spend, sum(clicks)::BIGINT AS clicks FROM edge_row GROUP BY ALL) AS r
  ON r.account_id = e.account_id AND r.report_date = e.last_date - d.d::INTEGER;
-- Conversions that arrived late: one on each of three days. The spend did not change.
INSERT INTO main.spend_change BY NAME
SELECT
  r.account_id, r.report_date, r.campaign_id, r.creative_id, r.source_id, (r.report_date + 1 + h.h::INTEGER)::TIMESTAMPTZ AS seen_at, 'update' AS op, r.spend AS old_spend, r.spend AS new_spend,
  r.clicks AS old_clicks, r.clicks AS new_clicks, r.impressions AS old_impressions, r.impressions AS new_impressions, r.conversions - 4 + h.h AS old_conversions, r.conversions - 3 + h.h AS new_conversions, 'r1' AS _run_id
FROM edge_row AS r, range(1, 4) AS h(h)
WHERE r.source_id = 'S1' AND r.account_id NOT IN ('one_row', 'open_day', 'spring') AND r.report_date + 1 + h.h::INTEGER <= DATE '2026-11-19';

CREATE TEMP TABLE edge_settings AS
SELECT DISTINCT
  r.account_id, r.campaign_id, r.creative_id, 1 AS version_no, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS valid_from, TIMESTAMPTZ '9999-12-31 00:00:00+00' AS valid_to, true AS is_current, false AS is_deleted,
  TIMESTAMPTZ '2026-11-20 12:00:00+00' AS last_confirmed_at, 'first_seen' AS change_type, 'ok' AS read_state, 'r1' AS _run_id
FROM edge_row AS r
WHERE r.account_id NOT IN ('no_settings', 'all_minus_two');
INSERT INTO main.campaign_history BY NAME
SELECT DISTINCT
  s.* EXCLUDE (creative_id, version_no, valid_from, valid_to, is_current, change_type) , v.v AS version_no,
  CASE WHEN v.v = 1 THEN s.valid_from ELSE TIMESTAMPTZ '2026-11-10 12:00:00+00' END AS valid_from, CASE WHEN v.v = 1 THEN TIMESTAMPTZ '2026-11-10 12:00:00+00' ELSE s.valid_to END AS valid_to,
  v.v = 2 AS is_current, CASE WHEN v.v = 1 THEN 'first_seen' ELSE 'changed' END AS change_type, CASE WHEN v.v = 2 THEN 'default_bid,target_cpa' END AS changed_columns,
  'Campaign ' || s.campaign_id AS name, 'active' AS status, CASE s.campaign_id WHEN 'C0' THEN 0 WHEN 'C1' THEN NULL ELSE 0.1 * v.v END AS default_bid,
  CASE s.campaign_id WHEN 'C0' THEN 0 WHEN 'C1' THEN 50 END AS daily_spend_limit, CASE s.campaign_id WHEN 'C0' THEN 0 WHEN 'C1' THEN NULL WHEN 'C2' THEN 3 * v.v END AS target_cpa, 'block_list' AS source_mode
FROM edge_settings AS s, range(1, 3) AS v(v);
INSERT INTO main.campaign_delivery_history BY NAME
SELECT DISTINCT s.* EXCLUDE (creative_id), CASE WHEN s.account_id = 'stopped' THEN 'waiting_for_funds' ELSE 'active' END AS delivery_status FROM edge_settings AS s;
INSERT INTO main.creative_history BY NAME
SELECT s.*, 'Title' AS title, CASE WHEN s.creative_id LIKE '%-1' THEN 'paused' ELSE 'active' END AS status FROM edge_settings AS s;
INSERT INTO main.source_mode_history BY NAME
SELECT DISTINCT s.* EXCLUDE (creative_id), 'block_list' AS source_mode, TIMESTAMPTZ '2026-11-20 12:00:00+00' AS bids_last_read_at FROM edge_settings AS s;
INSERT INTO main.source_rule_history BY NAME
SELECT DISTINCT s.* EXCLUDE (creative_id), 'S' || x.x AS source_id, CASE WHEN x.x = 2 THEN 'blocked' ELSE 'bid_override' END AS rule, CASE WHEN x.x = 3 THEN 0 END AS bid FROM edge_settings AS s, range(2, 4) AS x(x);
INSERT INTO main.payout_history BY NAME
SELECT DISTINCT s.* EXCLUDE (creative_id, campaign_id, read_state), DATE '2026-01-01' AS from_date, '' AS campaign_id, '' AS creative_id, '' AS source_id, CASE s.account_id WHEN 'clicks_above' THEN 0 ELSE 2.5 END AS payout, 'ok' AS read_state
FROM edge_settings AS s WHERE s.account_id IN ('credits', 'net_credits', 'minus_one', 'all_minus_one', 'zero_weeks', 'clicks_above', 'stopped');
INSERT INTO main.account_snapshot BY NAME
SELECT e.account_id, TIMESTAMPTZ '2026-11-18 12:00:00+00' AS seen_at, CASE WHEN e.account_id = 'stopped' THEN 0 ELSE 500 END AS balance, 'prepaid' AS payment_mode, 0 AS average_daily_spend, '{}' AS raw, 'r1' AS _run_id FROM edge AS e;
INSERT INTO main.tracker_daily BY NAME
SELECT r.account_id, r.report_date, r.campaign_id, r.source_id, sum(r.clicks)::BIGINT AS clicks, sum(r.conversions)::BIGINT AS conversions, sum(r.conversions)::BIGINT AS approved, 0 AS held, -sum(r.conversions)::BIGINT AS refused, -sum(r.spend) AS revenue, 'r1' AS _run_id
FROM edge_row AS r WHERE r.account_id IN ('credits', 'net_credits', 'zero_weeks', 'clicks_above') GROUP BY ALL;
INSERT INTO ops.run BY NAME
SELECT
  e.account_id, 'sync' AS command, TIMESTAMPTZ '2026-11-20 12:00:00+00' AS started_at, TIMESTAMPTZ '2026-11-20 12:01:00+00' AS finished_at, 0 AS exit_code, 'published' AS outcome, 1 AS generation, true AS published,
  1 AS days_planned, 1 AS days_proven, 1 AS days_changed, 1 AS rows_read, 1 AS rows_inserted, 0 AS rows_updated, 0 AS rows_deleted, 0 AS restatements, 1 AS requests, 0 AS retries, 1 AS bytes_read, 0 AS throttled_ms,
  'v' AS version, 0 AS settings_versions, 4 AS campaigns_read, 0 AS campaigns_skipped, 'r1' AS _run_id
FROM edge AS e;
