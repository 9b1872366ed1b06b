-- What the files give together. It runs when all of them are read.

-- The sum of all, unknown if a part is.
CREATE TEMP MACRO whole(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

-- The newest file gives a campaign's day.
CREATE TEMP TABLE newest AS
SELECT day, campaign, max(file) AS file, count(DISTINCT file) AS files FROM line WHERE is_export GROUP BY ALL;

-- A row of a day, campaign and source is the sum of those of its states. twice names lines if two are of one state.
CREATE TEMP TABLE tracker_row AS
SELECT day, campaign, source, any_value(clicks) AS clicks, whole(conversions)::BIGINT AS conversions,
    whole(approved)::BIGINT AS approved, whole(held)::BIGINT AS held, whole(refused)::BIGINT AS refused,
    whole(amount)::DECIMAL(18, 6) AS revenue,
    CASE WHEN count(*) > greatest(1, bit_count(bit_or(state))) OR min(clicks) <> max(clicks)
        THEN 'lines ' || min(n) || ', ' || max(n) || ' are all of ' || day || ', campaign "' || campaign
            || '", source "' || source || '": export one row a day, campaign and source' END AS twice,
    any_value(file) AS file
FROM line SEMI JOIN newest USING (day, campaign, file) WHERE is_export GROUP BY day, campaign, source ORDER BY day;

-- Each day of the exports: its files, how many rows an older file has and the newest one lacks, and why it is not
-- taken.
CREATE TEMP TABLE given AS
SELECT day, files, coalesce(lost, 0) AS lost, wrong
FROM (SELECT day, string_agg(DISTINCT name, ', ' ORDER BY name) AS files, CASE WHEN count(*) > 500000
        THEN day || ' has more than 500000 rows' ELSE min(path || ': ' || twice) END AS wrong
    FROM tracker_row JOIN file USING (file) GROUP BY day)
LEFT JOIN (SELECT l.day, count(DISTINCT (l.campaign, l.source)) AS lost
    FROM line AS l JOIN newest AS n ON n.files > 1 AND n.day = l.day AND n.campaign = l.campaign AND n.file > l.file
    ANTI JOIN line AS s ON s.day = l.day AND s.campaign = l.campaign AND s.source = l.source AND s.file = n.file
    WHERE l.is_export GROUP BY l.day) USING (day);

-- Payouts in order, with the line before of the same campaign, creative and source that still holds then.
CREATE TEMP VIEW payout_line AS
SELECT *, CASE WHEN lag(n) OVER w IS NOT NULL AND coalesce(lag(until) OVER w, day) >= day
    THEN lag(place) OVER w || ' and ' || place || ' are about the same and both hold on ' || day END AS twice
FROM (SELECT l.*, f.name || ' ' || f.unit || ' ' || l.n AS place FROM line AS l JOIN file AS f USING (file)
    WHERE NOT l.is_export)
WINDOW w AS (PARTITION BY campaign, creative, source ORDER BY day, file, n);

-- Why no payout is taken.
CREATE TEMP VIEW payout_wrong AS
SELECT twice AS text FROM payout_line WHERE twice IS NOT NULL UNION ALL
SELECT 'more than 100000 lines of payouts, which is the limit' FROM payout_line HAVING count(*) > 100000;

-- What is wrong with the files together, with the form and size of what can be accepted.
CREATE TEMP VIEW finding AS
SELECT '' AS form, 0 AS size, min(wrong) || '; such days: ' || count(wrong) || ', nothing of them is taken' AS message
FROM given HAVING count(wrong) > 0
UNION ALL
SELECT '', 0, string_agg(text, '; ') FROM (FROM payout_wrong LIMIT 20) HAVING count(*) > 0
UNION ALL
SELECT 'payouts.unknown-campaign', count(*), string_agg(why, '; ' ORDER BY why) || ': these payouts count for nothing'
FROM (SELECT DISTINCT why FROM payout_line WHERE why IS NOT NULL) HAVING count(*) > 0
UNION ALL
-- Chance, bots and the edges of days explain less.
SELECT 'tracker.far-' || what, greatest(percent, 100 - percent), CASE WHEN percent < 100
        THEN 'rows may be missing, or these are the clicks on a landing page in place of visits'
        ELSE 'rows may count several times, or the column may be another' END || ': the exports count ' || ours || ' '
    || what || ' where the service counts ' || theirs || ' (' || percent || ' %)'
FROM (SELECT what, sum(ours)::BIGINT AS ours, sum(theirs)::BIGINT AS theirs,
        (100 * sum(ours) / sum(theirs))::BIGINT AS percent
    FROM (SELECT what, whole(CASE what WHEN 'clicks' THEN t.clicks ELSE t.conversions END) AS ours,
            any_value(CASE what WHEN 'clicks' THEN s.clicks ELSE s.conversions END) AS theirs
        FROM tracker_row AS t JOIN service AS s USING (campaign, day), (VALUES ('clicks'), ('conversions')) AS w(what)
        GROUP BY what, campaign, day)
    WHERE ours IS NOT NULL AND theirs > 0 GROUP BY what)
WHERE theirs >= CASE what WHEN 'clicks' THEN 1000 ELSE 50 END AND percent NOT BETWEEN 50 AND 150;
