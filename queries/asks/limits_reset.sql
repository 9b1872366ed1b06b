-- At which hour do the daily limits start over, by the hours in which campaigns at their limit spend again?
-- Trap: the service does not document the hour, and answers count a limit by the Chicago day unless SPENDSYNC_LIMIT_DAY names another zone (mart.limit_day). It takes syncs at every hour of the day, and campaigns that spend all of their limit hours before it starts over. The two hours before midnight count as midnight, because spend between two reads is spread evenly.
-- Shown: verdict, restarts, restarts_chicago, restarts_utc, usual_hour_utc, counted_hour_utc, campaigns, what_to_do
SELECT
  r.account_id, r.verdict, r.restarts, r.restarts_chicago, r.restarts_utc, r.usual_hour_utc, r.counted_hour_utc, r.is_counted, r.campaigns, r.what_to_do
FROM mart.limit_reset AS r
ORDER BY r.account_id
