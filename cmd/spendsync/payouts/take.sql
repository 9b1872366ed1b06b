-- What the files give together. It runs when all of them are read.

-- The sum of all, unknown if a part is.
CREATE TEMP MACRO whole(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

-- A row for each state becomes one of its day, campaign and source.
CREATE TEMP TABLE summed AS
SELECT file, is_export, min(n) AS n, day, campaign, source, any_value(clicks) AS clicks,
    whole(conversions) AS conversions, whole(approved) AS approved, whole(held) AS held, whole(refused) AS refused,
    whole(amount) AS amount
FROM line WHERE state IS NOT NULL GROUP BY ALL;
DELETE FROM line WHERE state IS NOT NULL;
INSERT INTO line BY NAME FROM summed;

-- The newest file gives a campaign's day.
CREATE TEMP TABLE newest AS
SELECT day, campaign, max(file) AS file FROM line WHERE is_export GROUP BY ALL HAVING min(file) < max(file);
CREATE TEMP TABLE older AS
SELECT l.* FROM line AS l JOIN newest AS n USING (day, campaign) WHERE is_export AND l.file < n.file;
DELETE FROM line USING newest AS n
WHERE is_export AND line.day = n.day AND line.campaign = n.campaign AND line.file < n.file;

-- Each day of the exports: its files, and what it would lose of its stored rows, or of those of older files.
CREATE TEMP TABLE gone AS
SELECT day, count(*) AS gone
FROM (SELECT day, campaign, source FROM older UNION SELECT day, campaign, source FROM stored_row)
ANTI JOIN (FROM line WHERE is_export) USING (day, campaign, source) GROUP BY day;
CREATE TEMP VIEW given AS
SELECT day, files, CASE WHEN gone > 0 THEN gone || ' of its ' || rows + gone || ' rows'
        WHEN was > 0 AND 2 * revenue < was THEN brief(was - revenue) || ' of its revenue of ' || brief(was) END AS loss,
    CASE WHEN gone > 0 THEN ceil(100 * gone / (rows + gone)) ELSE 100 * (was - revenue) // nullif(was, 0)
        END::BIGINT AS percent
FROM (SELECT day, string_agg(name, ', ' ORDER BY name) AS files, sum(rows)::BIGINT AS rows, sum(revenue) AS revenue
    FROM (SELECT day, file, count(*) AS rows, coalesce(sum(amount), 0) AS revenue FROM line WHERE is_export
        GROUP BY ALL) JOIN file USING (file) GROUP BY day)
LEFT JOIN gone USING (day) LEFT JOIN (SELECT day, sum(revenue) AS was FROM stored_row GROUP BY day) USING (day)
ORDER BY day;

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

-- The rows to store.
CREATE TEMP VIEW payout_row AS
SELECT day AS from_date, until AS to_date, campaign AS campaign_id, creative AS creative_id, source AS source_id,
    amount AS payout
FROM payout_line WHERE NOT EXISTS (FROM payout_wrong) ORDER BY day, file, n;
CREATE TEMP VIEW export_row AS
SELECT day AS report_date, campaign AS campaign_id, source AS source_id, clicks, conversions, approved, held, refused,
    amount AS revenue
FROM line WHERE is_export;
CREATE TEMP VIEW refused_row AS
SELECT getvariable('account') AS account_id, 'tracker' AS stream, file + 1 AS page, n AS row_number,
    coalesce(day, getvariable('today')) AS report_date, why AS reason, raw
FROM set_aside;

-- What is wrong with the files together, with the form and size of what can be accepted.
CREATE TEMP VIEW finding AS
FROM file_finding
UNION ALL
SELECT '' AS form, 0 AS size, string_agg(text, '; ') AS message FROM (FROM payout_wrong LIMIT 20) HAVING count(*) > 0
UNION ALL
SELECT 'payouts.unknown-campaign', count(*), string_agg(why, '; ' ORDER BY why) || ': these payouts count for nothing'
FROM (SELECT DISTINCT why FROM payout_line WHERE why IS NOT NULL) HAVING count(*) > 0
UNION ALL
-- Chance and bots explain less; on one day, so do the edges of days.
SELECT 'tracker.far-' || what, greatest(percent, 100 - percent), CASE WHEN percent < 100
        THEN 'rows may be missing, or these are the clicks on a landing page in place of visits'
        ELSE 'rows may count several times, or the column may be another' END || ': the exports count ' || ours || ' '
    || what || ' where the service counts ' || theirs || ' (' || percent || ' %)' || coalesce(' on ' || day, '')
FROM (SELECT what, day, sum(ours)::BIGINT AS ours, sum(theirs)::BIGINT AS theirs,
        (100 * sum(ours) / sum(theirs))::BIGINT AS percent
    FROM (SELECT what, day, whole(CASE what WHEN 'clicks' THEN t.clicks ELSE t.conversions END) AS ours,
            any_value(CASE what WHEN 'clicks' THEN s.clicks ELSE s.conversions END) AS theirs
        FROM line AS t JOIN service AS s USING (campaign, day), (VALUES ('clicks'), ('conversions')) AS w(what)
        WHERE is_export GROUP BY what, campaign, day)
    WHERE ours IS NOT NULL AND theirs > 0 GROUP BY GROUPING SETS ((what), (what, day)))
WHERE greatest(ours, theirs) >= CASE what WHEN 'clicks' THEN 1000 ELSE 50 END
    AND (percent NOT BETWEEN 33 AND 300 OR day IS NULL AND percent NOT BETWEEN 50 AND 150)
QUALIFY row_number() OVER (PARTITION BY what ORDER BY day IS NOT NULL, abs(percent - 100) DESC, day) = 1;
