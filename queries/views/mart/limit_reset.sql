-- At which hour do the daily limits start over, by the hours in which campaigns at their limit spend again?
-- Trap: the service does not document the hour, and answers count a limit by the Chicago day unless SPENDSYNC_LIMIT_DAY names another zone (mart.limit_day). It takes syncs at every hour of the day, and campaigns that spend all of their limit hours before it starts over. The two hours before midnight count as midnight, because spend between two reads is spread evenly.
-- Column verdict: chicago: limits start over at midnight in Chicago; utc: at midnight UTC; other_hour: at usual_hour_utc, or campaigns of this account spend nothing in the hours before it anyway; not_enough_evidence: fewer than five restarts, or no four fifths of them agree.
-- Column restarts: Hours of the last 35 days in which a campaign spent again after an hour without spend (less than a hundredth of its limit), with all of its limit spent in the 24 hours before (threshold pacing_limited).
-- Column restarts_chicago: Of these, those within the first hour of the day in Chicago or the two hours before it.
-- Column restarts_utc: The same of the day of UTC.
-- Column usual_hour_utc: Hour of UTC, 0 to 23, in which most of them lie. NULL: there are none.
-- Column counted_hour_utc: Hour of UTC, 0 to 23, at which answers take limits to start over now: Chicago's midnight, or that of SPENDSYNC_LIMIT_DAY.
-- Column campaigns: Campaigns with such an hour.
-- Column is_counted: Whether answers count limits by that midnight. NULL: the verdict is neither chicago nor utc.
-- Column what_to_do: What to do about it.
WITH hourly AS (
  SELECT h.account_id, h.campaign_id, h.hour, h.hour_from, h.spend::DOUBLE AS spend, c.daily_spend_limit::DOUBLE AS daily_limit
  FROM mart.intraday_hourly AS h
  JOIN main.campaign_history AS c
    ON c.account_id = h.account_id AND c.campaign_id = h.campaign_id AND h.hour_from >= c.valid_from AND h.hour_from < c.valid_to
  WHERE c.daily_spend_limit > 0
),
preceded AS (
  SELECT
    h.*, lag(h.spend) OVER (PARTITION BY h.account_id, h.campaign_id ORDER BY h.hour_from) AS spend_before,
    sum(h.spend) OVER day_before AS day_spend, count(h.spend) OVER day_before AS hours_known
  FROM hourly AS h
  WINDOW day_before AS (
    PARTITION BY h.account_id, h.campaign_id ORDER BY h.hour_from RANGE BETWEEN INTERVAL 24 HOURS PRECEDING AND INTERVAL 1 HOUR PRECEDING)
),
restart AS (
  SELECT p.account_id, p.campaign_id, p.hour IN (22, 23, 0) AS is_chicago, (epoch(p.hour_from)::BIGINT // 3600 % 24)::INTEGER AS hour_utc
  FROM preceded AS p
  WHERE p.hours_known = 24 AND p.spend >= p.daily_limit / 100 AND p.spend_before < p.daily_limit / 100
    AND p.day_spend >= p.daily_limit * (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'pacing_limited')
),
counted AS (
  SELECT
    t.account_id, count(r.hour_utc) AS restarts, count(*) FILTER (WHERE r.is_chicago) AS restarts_chicago,
    count(*) FILTER (WHERE r.hour_utc IN (22, 23, 0)) AS restarts_utc, mode(r.hour_utc ORDER BY r.hour_utc) AS usual_hour_utc,
    count(DISTINCT r.campaign_id) AS campaigns
  FROM main.today AS t
  LEFT JOIN restart AS r ON r.account_id = t.account_id
  GROUP BY t.account_id
),
judged AS (
  SELECT
    c.*,
    CASE
      WHEN c.restarts < 5 THEN 'not_enough_evidence'
      WHEN c.restarts_chicago >= 0.8 * c.restarts THEN 'chicago'
      WHEN c.restarts_utc >= 0.8 * c.restarts THEN 'utc'
      WHEN (SELECT count(*) FROM restart AS r WHERE r.account_id = c.account_id AND r.hour_utc = c.usual_hour_utc) >= 0.8 * c.restarts THEN 'other_hour'
      ELSE 'not_enough_evidence'
    END AS verdict
  FROM counted AS c
),
held AS (
  SELECT
    j.*, coalesce(k.limit_starts_at, k.starts_at) AS counted_from,
    CASE j.verdict WHEN 'chicago' THEN k.limit_starts_at IS NULL WHEN 'utc' THEN coalesce(epoch(k.limit_starts_at) % 86400 = 0, false) END AS is_counted
  FROM judged AS j
  JOIN main.today AS t ON t.account_id = j.account_id
  JOIN main.calendar AS k ON k.account_id = t.account_id AND k.report_date = t.today
)
SELECT
  h.account_id, h.verdict, h.restarts, h.restarts_chicago, h.restarts_utc, h.usual_hour_utc,
  (epoch(h.counted_from)::BIGINT // 3600 % 24)::INTEGER AS counted_hour_utc, h.is_counted, h.campaigns,
  CASE
    WHEN h.verdict = 'not_enough_evidence' THEN 'sync every hour, and ask again when campaigns have spent their limits'
    WHEN h.is_counted THEN 'nothing: answers count limits by this day'
    WHEN h.verdict = 'chicago' THEN 'unset SPENDSYNC_LIMIT_DAY: answers count limits by another day than the service'
    WHEN h.verdict = 'utc' THEN 'set SPENDSYNC_LIMIT_DAY=UTC: answers count limits by another day than the service'
    ELSE 'see in mart.intraday_hourly whether campaigns below their limits spend before that hour; if so, set SPENDSYNC_LIMIT_DAY to a zone with midnight at that hour'
  END AS what_to_do
FROM held AS h
