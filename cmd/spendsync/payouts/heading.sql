-- Finds the heading of a file: the first line that has the declared columns.

-- The records that were written last: the first ones of all tables of the file, or all of one table.
CREATE OR REPLACE TEMP VIEW record AS
SELECT *, string_split(text, chr(31)) AS cells
FROM read_csv(getvariable('dir') || '/records', auto_detect = false, header = false, delim = ',', quote = '"',
    escape = '"', nullstr = chr(1), parallel = false, buffer_size = 4194304, max_line_size = 4194304,
    columns = {'tab': 'INTEGER', 'n': 'BIGINT', 'text': 'VARCHAR'});

-- The first lines, cell by cell.
CREATE OR REPLACE TEMP TABLE place AS
SELECT tab, n AS line, unnest(range(len(cells))) AS pos, as_stored(unnest(cells)) AS name FROM record;

-- Our columns in each line. Ours of exports have no headings if one is declared.
CREATE OR REPLACE TEMP TABLE found AS
WITH want AS (
    SELECT no, true AS is_plain, unnest(headings) AS text FROM ours
    WHERE of = 'payouts' OR NOT EXISTS (FROM ours WHERE declared <> []) UNION
    SELECT no, false, unnest(declared) FROM ours
), cell AS (SELECT tab, line, pos, name AS heading, plain(name) AS plain FROM place WHERE name <> '')
SELECT tab, line, pos, heading, no FROM (SELECT tab, line, pos, heading, unnest([true, false]) AS is_plain,
    unnest([plain, squash(heading)]) AS text FROM cell) JOIN want USING (is_plain, text) UNION
SELECT tab, line, pos, heading, no FROM cell JOIN ours ON ours.kind = guard(plain) AND declared = [];

-- Each line as a heading of payouts, or of an export: what it lacks to be one, and what is wrong with it.
CREATE OR REPLACE TEMP TABLE candidate AS
SELECT tab, line, of, count(*) FILTER (n > 0) AS fits, coalesce(string_agg(lacks, ', ' ORDER BY no), CASE
        WHEN of = 'export' AND count(*) FILTER (n > 0 AND name IN ('clicks', 'conversions', 'approved', 'revenue')) = 0
        THEN 'one of clicks, conversions, approved and revenue' END) AS lacks,
    any_value(several) AS several, list(name) FILTER (n > 0) AS has
FROM (
    SELECT l.tab, l.line, o.of, o.no, o.name, count(pos) AS n,
        CASE WHEN n < len(declared) OR n = 0 AND is_required
            THEN rtrim(o.name || '=' || array_to_string(declared, '+'), '=') END AS lacks,
        CASE WHEN n > greatest(1, len(declared)) AND kind NOT IN ('currency', 'flag')
            THEN string_agg(quoted(heading), ' and ' ORDER BY pos) || ' may each be ' || o.name
                || ': leave one of them, or declare it in SPENDSYNC_TRACKER_COLUMNS' END AS several
    FROM (SELECT DISTINCT tab, line FROM place) AS l CROSS JOIN ours AS o
    LEFT JOIN found USING (tab, line, no)
    GROUP BY l.tab, l.line, o.of, o.no, o.name, kind, is_required, declared)
GROUP BY tab, line, of;

-- The heading, or the line that is nearest to one.
CREATE OR REPLACE TEMP TABLE heading AS
SELECT tab, line, of = 'export' AS is_export, lacks, several, has,
    (SELECT count(DISTINCT tab) FROM candidate WHERE lacks IS NULL) AS tabs
FROM candidate JOIN (SELECT tab, line, count(*) AS columns FROM place GROUP BY ALL) USING (tab, line)
ORDER BY lacks IS NOT NULL, CASE WHEN lacks IS NULL THEN line END, lacks IS NULL AND of = 'export', fits DESC,
    columns DESC, tab, line, of LIMIT 1;

CREATE OR REPLACE TEMP TABLE name AS SELECT pos, name FROM place JOIN heading USING (tab, line);
CREATE OR REPLACE TEMP TABLE declared AS
SELECT name, target, kind, pos, heading, no FROM heading JOIN found USING (tab, line) JOIN ours USING (no)
WHERE is_export = (of = 'export');

-- Why the file cannot be read; NULL: it can.
CREATE OR REPLACE TEMP TABLE unreadable AS
SELECT CASE WHEN tabs > 1 THEN tabs || ' sheets of it have the declared columns: export one'
    WHEN lacks IS NULL THEN coalesce(
        CASE WHEN list_contains(has, 'state')
                AND (NOT list_contains(has, 'conversions') OR list_has_any(has, ['approved', 'held', 'refused']))
            THEN 'a state has a row or a column: a column of states goes with a column conversions that counts those '
                || 'of the row''s state, and with no column of one state' END,
        -- A misspelled column would make a payout one of all campaigns.
        (SELECT min('the column ' || quoted(n.name) || ' is none of ours; did you mean ' || o.name || '?')
            FROM name AS n, ours AS o WHERE NOT is_export AND o.name IN ('campaign', 'creative', 'source')
            AND NOT list_contains(has, o.name) AND damerau_levenshtein(plain(n.name), o.name) BETWEEN 1 AND 2),
        several,
        (SELECT min(in_currency(heading)) FROM declared WHERE kind = 'money'))
    ELSE CASE WHEN contains(names, '�') THEN 'it is not UTF-8: declare its encoding, for example '
            || 'encoding=windows-1251, in SPENDSYNC_TRACKER_COLUMNS; ' ELSE '' END
        || 'no line of it has the declared columns: ' || getvariable('unit') || ' ' || line || ' lacks ' || lacks
        || '; its columns are ' || names END AS why
FROM heading, (SELECT string_agg(name, ', ' ORDER BY pos) AS names FROM name);

-- The columns of the file, and the declared ones as the variable has them.
CREATE OR REPLACE TEMP TABLE shown_columns AS
SELECT 'columns ' || string_agg(name, ', ' ORDER BY pos) || '; declared are ' || coalesce((
    SELECT string_agg(item(name, heading), ',' ORDER BY no, pos) FROM declared), 'none') AS columns FROM name;

-- The columns of an export that look like states of conversions, or like revenue, and that nobody declared.
CREATE OR REPLACE TEMP VIEW undeclared AS
SELECT string_agg(name, ', ' ORDER BY pos) AS undeclared FROM name, heading
WHERE pos NOT IN (SELECT pos FROM declared)
    AND (regexp_full_match(plain(name), '(approved?|confirmed|accepted|held|(on_)?hold|pending|refused|rejected|'
        || 'declined|cancell?ed|trash|reversed|chargebacks?)(_(conversions|leads|sales))?')
        OR NOT list_contains(has, 'revenue')
    AND regexp_full_match(plain(name), '(.*_)?revenue(_.*)?|(total_)?(payouts?|earnings?|income|commissions?)'));

-- The column that has most IDs of the account of a kind in the first rows.
CREATE OR REPLACE TEMP TABLE id_column AS
SELECT kind, n.name AS heading, pos
FROM (SELECT kind, arg_max(pos, hits) AS pos FROM (SELECT kind, pos, count(*) AS hits FROM place AS p JOIN known AS k
        ON k.id = p.name JOIN heading AS h ON h.tab = p.tab AND p.line > h.line GROUP BY ALL ORDER BY pos)
    GROUP BY kind)
JOIN name AS n USING (pos);

-- The variable that declares the heading of a known tracker, and what to know of that tracker.
CREATE OR REPLACE TEMP TABLE suggestion AS
SELECT 'SPENDSYNC_TRACKER_COLUMNS=' || string_agg(item(name, heading), ',' ORDER BY place) AS variable,
    any_value(remark) AS remark
FROM (
    SELECT t.no, t.remark, t.name, n.name AS heading, [o.no, n.pos] AS place
    FROM (SELECT no, remark, name, unnest(headings) AS heading FROM tracker) AS t
    LEFT JOIN name AS n ON squash(n.name) = squash(t.heading) JOIN ours AS o ON o.of = 'export' AND o.name = t.name
    UNION ALL
    SELECT t.no, t.remark, o.name, coalesce(i.heading, upper(o.name) || ' ID''S COLUMN'), [o.no, 0]
    FROM (SELECT DISTINCT no, remark FROM tracker) AS t, ours AS o LEFT JOIN id_column AS i ON i.kind = o.name
    WHERE o.of = 'export' AND o.name IN ('campaign', 'source'))
WHERE (SELECT is_export FROM heading) GROUP BY no HAVING bool_and(heading IS NOT NULL)
ORDER BY count(*) DESC, no LIMIT 1;

-- The statement that fills raw with the cells of the used columns. chr(31) is between several cells for one of ours.
CREATE OR REPLACE TEMP TABLE filling AS
SELECT 'INSERT INTO raw BY NAME SELECT n, bad, stops, ' || string_agg(cells || ' AS "' || target || '"', ', ')
    || ' FROM judged_record WHERE stops OR is_row' AS fill
FROM (SELECT target, 'concat(' || string_agg(CASE WHEN getvariable('unit') = 'line' THEN cell
        ELSE if(kind IN ('count', 'money'), 'figure(', 'as_stored(') || cell || ')' END, ', chr(31), ' ORDER BY pos) || ')' AS cells
    FROM (SELECT *, 'cells[' || pos + 1 || ']' AS cell FROM declared) GROUP BY target);

-- All about the heading.
CREATE OR REPLACE TEMP VIEW outcome AS
SELECT tab, is_export AND lacks IS NULL AS is_export, columns, if(why IS NULL, NULL, variable) AS variable,
    why || coalesce('; declare ' || variable || ' for ' || remark, '') AS why, fill
FROM heading, unreadable, shown_columns, filling LEFT JOIN suggestion ON true
UNION ALL BY NAME
SELECT 0 AS tab, 'it is empty: not even a heading is in it' AS why WHERE NOT EXISTS (FROM heading);

-- Why a column has no ID of the account.
CREATE OR REPLACE TEMP VIEW seems AS
SELECT d.name AS kind, CASE WHEN i.pos <> d.pos THEN 'column ' || quoted(i.heading) || ' has ' || d.name
        || 's of this account, and ' || quoted(d.heading) || ' has not: declare ' || item(d.name, i.heading)
        || ' in SPENDSYNC_TRACKER_COLUMNS'
    WHEN d.name = 'campaign' AND EXISTS (FROM place AS p JOIN heading AS h ON h.tab = p.tab AND p.line > h.line,
            known AS k WHERE p.pos = d.pos AND k.kind = d.name AND shape(p.name) = shape(k.id))
        THEN quoted(d.heading) || ' has IDs of the form of this account''s campaigns: the export may be of another '
            || 'account'
    ELSE quoted(d.heading) || ' seems to be the tracker''s own: pass the service''s ' || d.name || ' ID to the tracker '
        || 'as a custom variable, and declare its column in SPENDSYNC_TRACKER_COLUMNS' END AS text
FROM declared AS d LEFT JOIN id_column AS i ON i.kind = d.name WHERE d.name IN ('campaign', 'source');
