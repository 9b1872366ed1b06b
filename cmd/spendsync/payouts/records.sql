-- Judges the records of the table whose heading is found, as a whole: is one a row, and does one refuse the file?

SET VARIABLE line = (SELECT line FROM heading);
SET VARIABLE columns = (SELECT count(*) FROM name);
SET VARIABLE last = (SELECT max(pos) FROM declared);
SET VARIABLE comma = (SELECT CASE WHEN getvariable('unit') = 'line' THEN substr(',;' || chr(9) || '|', tab + 1, 1) END
    FROM heading);
SET VARIABLE day_cell = (SELECT min(pos) + 1 FROM declared WHERE target = 'day');
SET VARIABLE used = (SELECT list(DISTINCT {'cell': pos + 1, 'heading': heading}) FROM declared);
SET VARIABLE used_names = (SELECT list(DISTINCT heading) FROM declared);

-- Why a line of at most two cells refuses the file: trackers write such notes if rows are missing, or if amounts are in
-- another currency.
CREATE OR REPLACE TEMP MACRO part(words) AS regexp_extract(replace(words, ',', ''),
    '\b(\d+)\s?(?:rows?|results?|records?|entries|lines)? (?:out )?of (\d+)\b', ['of', 'all']);
CREATE OR REPLACE TEMP MACRO note(words) AS CASE
    WHEN regexp_matches(words, 'rows|results|records|entries|lines|sources|campaigns|page')
        AND (regexp_matches(words, '\b(limited to|truncated|only the (first|top|last)) ')
            OR TRY_CAST(part(words)['of'] AS BIGINT) < TRY_CAST(part(words)['all'] AS BIGINT))
        THEN shown(words) || ': rows are missing: export all of them'
    WHEN regexp_matches(words, 'amounts|values|figures|' || currency_words()) AND currency_in(words) <> ''
        THEN shown(words) || ': amounts are US dollars: export them in USD' END;

-- Each record: whether it is below the heading and does not repeat it (is_row), whether it refuses the file (stops), and
-- why, or what else is wrong with it (bad).
CREATE OR REPLACE TEMP VIEW judged_record AS
WITH names AS (
    -- The column of the day begins with a digit in nearly all rows, and in no heading. Others are compared cell by cell.
    SELECT *, n > getvariable('line') AS is_below,
        CASE WHEN is_below AND NOT regexp_matches(coalesce(cells[getvariable('day_cell')], ''), '^[0-9]')
        THEN len(list_filter(cells, lambda c: list_contains(getvariable('used_names'), c))) ELSE 0 END AS names,
        names > 0 AND len(list_filter(getvariable('used'), lambda u: cells[u.cell] = u.heading))
            = len(getvariable('used')) AS is_heading
    FROM record
), stopped AS (
    SELECT *, coalesce(CASE WHEN regexp_full_match(text, '\x1f*[^\x1f]+(\x1f+[^\x1f]+)?\x1f*')
        THEN note(squash(translate(text, chr(30) || chr(31), '  '))) END, CASE
        WHEN is_below AND contains(text, chr(10)) AND len(list_filter(cells, lambda c: contains(c, chr(10))
                AND len(c) - len(replace(c, getvariable('comma'), '')) >= getvariable('columns') - 1)) > 0
            THEN 'a quote in it does not end, and takes in the lines after it'
        WHEN names > 1 AND NOT is_heading THEN 'it is another heading than the one above: export one table' END) AS stop
    FROM names
)
SELECT n, cells, is_below AND NOT is_heading AS is_row, stop IS NOT NULL AS stops, CASE WHEN stops THEN stop
    WHEN getvariable('comma') IS NULL THEN ''
    WHEN len(cells) BETWEEN 2 AND getvariable('last')
        THEN 'it has fewer values than the ' || getvariable('columns') || ' columns of the heading'
    WHEN len(cells) <= getvariable('columns') THEN ''
    WHEN contains(text, '\"') THEN 'a quote in it is written \", which ends its value: write it ""'
    WHEN trim(array_to_string(cells[getvariable('columns') + 1:], '')) <> ''
        THEN 'it has more values than the ' || getvariable('columns') || ' columns of the heading' ELSE '' END AS bad
FROM stopped;

-- The cells of the used columns, by what they are for.
CREATE OR REPLACE TEMP TABLE raw(n BIGINT, bad VARCHAR, stops BOOLEAN, day VARCHAR DEFAULT '', until VARCHAR DEFAULT '',
    campaign VARCHAR DEFAULT '', creative VARCHAR DEFAULT '', source VARCHAR DEFAULT '', state VARCHAR DEFAULT '',
    currency VARCHAR DEFAULT '', cut VARCHAR DEFAULT '', clicks VARCHAR DEFAULT '', conversions VARCHAR DEFAULT '',
    approved VARCHAR DEFAULT '', held VARCHAR DEFAULT '', refused VARCHAR DEFAULT '', amount VARCHAR DEFAULT '');
