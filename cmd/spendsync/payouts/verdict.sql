-- Decides on one file whose rows are judged.

-- The causes of rows that do not fit, with the first line of each; one that refuses the file comes first.
CREATE OR REPLACE TEMP TABLE cause AS
SELECT getvariable('unit') || ' ' || min(n) || ': ' || why
    || CASE WHEN count(*) > 1 THEN ' (so do ' || count(*) - 1 || ' more)' ELSE '' END AS text
FROM judged WHERE class IN ('refused', 'unknown', 'unread') AND why IS NOT NULL
GROUP BY class, why ORDER BY class <> 'refused', count(*) DESC, min(n) LIMIT 20;

-- How many rows are of each class; mine are those of the account with a source. is_misfit: more than 5 % of these, or
-- of their revenue, do not fit.
CREATE OR REPLACE TEMP TABLE tally AS
SELECT *, fit + misfits + others + totals + refused AS rows
FROM (SELECT count(*) FILTER (class = 'fit') AS fit, count(*) FILTER (class = 'unknown') AS unknown,
    count(*) FILTER (class = 'unread') AS unread, count(*) FILTER (class = 'unsourced') AS unsourced,
    count(*) FILTER (class = 'total') AS totals, count(*) FILTER (class = 'refused') AS refused,
    (SELECT count(*) FROM raw) - count(*) FILTER (class <> 'other') AS others,
    unknown + unread + unsourced AS misfits, fit + unknown + unread AS mine,
    count(why) FILTER (class IN ('unknown', 'unread')) AS explained,
    coalesce(sum(amount) FILTER (class IN ('unknown', 'unread')), 0) AS lost,
    greatest(0, coalesce(sum(amount) FILTER (class IN ('fit', 'unknown', 'unread')), 0)) AS revenue,
    unknown + unread > 0.05 * mine OR lost > 0.05 * revenue AS is_misfit
FROM judged);

-- Two lines of one day, campaign, source and state, or lines of several states that differ in their clicks.
CREATE OR REPLACE TEMP VIEW twice AS
WITH taken AS (FROM judged WHERE is_export AND class IN ('fit', 'unknown')),
    several AS (SELECT day, campaign, source FROM taken GROUP BY ALL HAVING count(*) > 1)
SELECT 'lines ' || min(n) || ', ' || max(n) || ' are all of ' || day || ', campaign "' || campaign || '", source "'
    || source || '": export one row a day, campaign and source' AS text, min(n) AS n
FROM taken SEMI JOIN several USING (day, campaign, source) GROUP BY day, campaign, source
HAVING count(*) > greatest(1, bit_count(bit_or(state))) OR min(clicks) <> max(clicks) ORDER BY n LIMIT 1;

-- The days of rows that fit, of the two forms that one column never has of itself.
CREATE OR REPLACE TEMP VIEW day_form AS
SELECT cell, NOT contains(cell, '/') AS is_serial FROM day_cell
WHERE why IS NULL AND regexp_full_match(cell, '[3-7]\d{4}(\.0+)?(e0)?|\d\d?/\d\d?/\d{4}.*');

-- Why nothing of the file is taken, with the likely cause first; NULL: it is taken.
CREATE OR REPLACE TEMP VIEW verdict AS
SELECT CASE WHEN refused > 0 THEN first_cause
    WHEN NOT getvariable('is_export') AND unread > 0 THEN (SELECT string_agg(text, '; ') FROM cause)
    WHEN NOT getvariable('is_export') AND mine = 0 THEN 'there is a heading and no line; a file without payouts ends '
        || 'none: to end one, give it a last day (to), or remove its line'
    WHEN NOT getvariable('is_export') THEN NULL
    WHEN cut IS NOT NULL THEN cut || ', and is the last one: the file may be cut'
    WHEN NOT EXISTS (FROM known WHERE kind = 'campaign')
        THEN 'the account has no campaign yet with which its rows could be compared'
    WHEN mine + unsourced = 0 AND others > 0
        THEN (SELECT text FROM seems WHERE kind = 'campaign') || '; none of its ' || others
            || ' rows is of a campaign of this account'
    WHEN mine + unsourced = 0 THEN 'it has a heading and no row of a day'
    WHEN mine = 0 THEN title('source') || 'it is empty in every row of this account'
    WHEN (SELECT count(DISTINCT is_serial) FROM day_form) > 1
        THEN title('day') || 'some days are a spreadsheet''s and some texts such as ' || (SELECT shown(any_value(cell))
            FROM day_form WHERE NOT is_serial) || ': a program has read some as another day; export them anew'
    WHEN is_misfit THEN coalesce(if(2 * explained >= unknown + unread, first_cause, NULL),
            (SELECT text FROM seems WHERE kind = 'source'), first_cause) || '; '
        || greatest(unread, unknown) || ' of ' || mine
        || ' rows of this account (' || ceil(100 * greatest(unread, unknown) / mine)::INTEGER || ' %) '
        || if(unknown > unread, 'have a source that it does not know', 'do not fit')
        || if(lost > 0.05 * revenue, ', with ' || brief(lost) || ' of its revenue of ' || brief(revenue), '')
    ELSE coalesce((SELECT text FROM twice), (SELECT day || ' has more than 500000 rows, which is the limit' FROM judged
        WHERE class IN ('fit', 'unknown') GROUP BY day HAVING count(*) > 500000 LIMIT 1)) END AS why
FROM (SELECT *, (SELECT text FROM cause LIMIT 1) AS first_cause, (SELECT getvariable('unit') || ' ' || n || ': ' || why
    FROM judged WHERE n = (SELECT max(n) FROM raw) AND day IS NOT NULL AND why LIKE 'it has fewer%') AS cut FROM tally);

-- What is wrong with an export that is taken, with its form and size in percent.
CREATE OR REPLACE TEMP VIEW odd AS
SELECT 'tracker.set-aside' AS form, ceil(100 * unread / mine) AS size, (SELECT string_agg(text, '; ') FROM cause)
    || '; set aside are ' || unread || ' of ' || mine || ' rows of this account' AS message
FROM tally WHERE unread > 0
UNION ALL
SELECT 'tracker.no-source', ceil(100 * unsourced / (fit + unsourced)), unsourced
    || ' rows without a campaign or a source are set aside: they may add up the other ' || fit
FROM tally WHERE unsourced > 0
UNION ALL
SELECT 'remark', 0, 'not declared, and so not read: ' || undeclared FROM undeclared WHERE undeclared IS NOT NULL
UNION ALL
SELECT if(name = 'amount' AND numbers = 0 AND lacking > 0, 'tracker.no-revenue', 'remark'), 0,
    title(name) || if(numbers = 0, 'no row has a number: it is empty, or has formulas without results',
    lacking || ' rows with conversions have no amount, which is unknown there')
FROM (SELECT unnest(['clicks', 'conversions', 'approved', 'held', 'refused', 'amount']) AS name, unnest([count(clicks),
        count(conversions), count(approved), count(held), count(refused), count(amount)]) AS numbers,
        unnest([0, 0, 0, 0, 0, count(*) FILTER (conversions > 0 AND amount IS NULL)]) AS lacking
    FROM judged WHERE class = 'fit') WHERE (numbers = 0 OR lacking > 0) AND title(name) IS NOT NULL;

-- The first rows as they are stored.
CREATE OR REPLACE TEMP VIEW first_line AS
SELECT array_to_string([coalesce(x::VARCHAR, '') FOR x IN CASE WHEN is_export
    THEN [day::VARCHAR, campaign, source, clicks::VARCHAR, conversions::VARCHAR, approved::VARCHAR, held::VARCHAR,
        refused::VARCHAR, brief(amount)]
    ELSE [day::VARCHAR, until::VARCHAR, campaign, creative, source, brief(amount)] END], '|') AS text
FROM judged WHERE class IN ('fit', 'unknown') ORDER BY n LIMIT 3;

-- These, and how many rows are of which class.
CREATE OR REPLACE TEMP VIEW shown_rows AS
SELECT 'the first rows are stored as ' || coalesce((SELECT string_agg(text, ' and ') FROM first_line), '') || '; of '
    || rows || if(rows = 1, ' row', ' rows') || ' fit ' || fit || if(getvariable('is_export'), ', ' || misfits
    || ' do not, ' || others || ' are of other campaigns, ' || totals || ' add others up', '') AS rows FROM tally;

-- The verdict in words. Rows that are not taken leave line.
CREATE OR REPLACE TEMP TABLE decided AS SELECT why, rows FROM verdict, shown_rows;
INSERT INTO file_finding SELECT form, size, path || ': ' || message FROM odd, decided, file
WHERE why IS NULL AND getvariable('is_export') AND file = getvariable('file');
INSERT INTO set_aside SELECT file, n, day, judged.why, raw FROM judged, decided
WHERE decided.why IS NULL AND class = 'unread' ORDER BY n LIMIT 50;
DELETE FROM line USING decided
WHERE file = getvariable('file') AND NOT (decided.why IS NULL AND class IN ('fit', 'unknown'));
CREATE OR REPLACE TEMP TABLE raw AS FROM raw LIMIT 0;
