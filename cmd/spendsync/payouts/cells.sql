-- How cells are read. Each macro gives NULL for a cell that it cannot read. decimal, dates and today are variables.

CREATE TEMP MACRO shown(x) AS '"' || left(regexp_replace(x, 'e0$', ''), 80) || '"';
CREATE TEMP MACRO is_nothing(x) AS
    regexp_full_match(x, '(?i)[-–—]*|#?n/?a|null|none|nan|nil|\\n|\((none|not set|blank)\)');
CREATE TEMP MACRO is_total(x) AS regexp_full_match(x,
    '(?i)((grand |sub)?totals?|sum|summary|overall|gesamt(ergebnis)?|summe|(общий )?итого?|всего|totals? .*|.* total) ?:?');

-- A count or an amount of digits with a point. Casts to many decimals are slow.
CREATE TEMP MACRO as_count(t) AS CASE WHEN regexp_full_match(t, '[0-9]{1,18}(\.0*)?') THEN split_part(t, '.', 1)::BIGINT
    WHEN contains(t, 'e') AND trunc(t::DOUBLE) = t::DOUBLE AND t::DOUBLE BETWEEN 0 AND 1e15 THEN t::DOUBLE::BIGINT END;
-- Rounded half to even to six decimals.
CREATE TEMP MACRO half_even(v) AS (v::DECIMAL(24, 6) - CASE
    WHEN abs(v::DECIMAL(24, 6)::DECIMAL(38, 18) - v) = 0.0000005 AND (v::DECIMAL(24, 6) * 1000000)::HUGEINT % 2 <> 0
    THEN sign(v)::INTEGER * 0.000001 ELSE 0 END);
CREATE TEMP MACRO as_money(t) AS TRY_CAST(CASE WHEN regexp_matches(t, 'e|\.[0-9]{6}50*$')
    THEN half_even(TRY_CAST(t AS DECIMAL(38, 18)))::VARCHAR ELSE t END AS DECIMAL(18, 6));

-- A number with an exponent, which programs write with a point.
CREATE TEMP MACRO programs(x) AS CASE WHEN regexp_full_match(x, '-?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+')
    THEN regexp_replace(lower(x), 'e0$', '') END;

-- Another number without its currency, with a minus sign in the place of parentheses.
CREATE TEMP MACRO bare(x) AS ltrim(regexp_replace(
    regexp_replace(translate(lower(x), '−’' || chr(160) || chr(8239), '-''  '), '^\((.*)\)$', '-\1'),
    '^([+-]?) ?(?:us\$|usd|\$)? ?([+-]?) ?(.*?) ?(?:us\$|usd|\$)?$', '\1\2\3'), '+');

-- The readings of a bare number with a decimal point and with a decimal comma. A list of one value keeps an
-- expression from being computed once for each of its uses.
CREATE TEMP MACRO point(b) AS CASE
    WHEN regexp_full_match(b, '-?([0-9]+\.?[0-9]*|\.[0-9]+)') THEN b
    WHEN regexp_full_match(b, '-?[1-9][0-9]{0,2}((,[0-9]{3})+|( [0-9]{3})+|(''[0-9]{3})+)(\.[0-9]*)?')
        THEN translate(b, ', ''', '') END;
CREATE TEMP MACRO texts(x) AS [[point(b), point(translate(b, ',.', '.,'))] FOR b IN [bare(x)]][1];
CREATE TEMP MACRO counts(x) AS [as_count(t) FOR t IN texts(x)];
CREATE TEMP MACRO amounts(x) AS [as_money(t) FOR t IN texts(x)];

-- The declared one of two readings, or the only one.
CREATE TEMP MACRO chosen(declared, forms, a, b) AS CASE WHEN declared = forms[1] THEN a WHEN declared = forms[2] THEN b
    WHEN b IS NULL OR a = b THEN a WHEN a IS NULL THEN b END;
CREATE TEMP MACRO number(readings) AS
    [chosen(getvariable('decimal'), ['point', 'comma'], r[1], r[2]) FOR r IN [readings]][1];

-- A number in one of the forms that people and programs write.
CREATE TEMP MACRO count_of(x) AS coalesce(as_count(programs(x)), number(counts(x)));
CREATE TEMP MACRO money_of(x) AS CASE WHEN regexp_full_match(x, '\$ *-') THEN 0 -- a spreadsheet's 0
    ELSE coalesce(as_money(programs(x)), number(amounts(x))) END;

-- The cells of several columns for one of ours have chr(31) between them. Their sum is unknown if one is. Most numbers
-- are plain digits: one cell with one reading, cheap to convert.
CREATE TEMP MACRO added(parts) AS [CASE WHEN list_count(v) = len(v) THEN list_sum(v) END FOR v IN [parts]][1];
CREATE TEMP MACRO count_in(x) AS CASE WHEN x = '' THEN NULL WHEN regexp_full_match(x, '[0-9]{1,15}') THEN x::BIGINT
    ELSE added([count_of(c) FOR c IN string_split(x, chr(31))]) END;
CREATE TEMP MACRO money_in(x) AS CASE WHEN x = '' THEN NULL
    WHEN regexp_full_match(x, '-?[0-9]{1,11}(\.[0-9]{1,2})?')
        AND (getvariable('decimal') <> 'comma' OR NOT contains(x, '.')) THEN x::DECIMAL(18, 6)
    ELSE added([money_of(c) FOR c IN string_split(x, chr(31))]) END;

-- What is wrong with the cells of one of our columns; NULL: nothing is.
CREATE TEMP MACRO title(of) AS getvariable('title')[of];
CREATE TEMP MACRO brief(v) AS regexp_replace(v::VARCHAR, '(\.[0-9]{2}[0-9]*?)0+$', '\1');
CREATE TEMP MACRO wrong_number(x, value, readings, what) AS CASE WHEN value IS NULL AND NOT is_nothing(x)
    THEN shown(x) || [CASE WHEN getvariable('decimal') = '' AND r[1] IS NOT NULL THEN ' may be ' || brief(r[1])
        || ' or ' || brief(r[2]) || ': declare decimal=point or decimal=comma in SPENDSYNC_TRACKER_COLUMNS'
        ELSE what END FOR r IN [readings]][1] END;
CREATE TEMP MACRO first_wrong(of, all_wrong) AS title(of) || list_filter(all_wrong, lambda w: w IS NOT NULL)[1];
CREATE TEMP MACRO wrong_counts(cells) AS list_filter([first_wrong(t[1], [wrong_number(c, count_of(c), counts(c),
    ' is not a whole number of 0 or more') FOR c IN string_split(t[2], chr(31))]) FOR t IN cells],
    lambda w: w IS NOT NULL)[1];
CREATE TEMP MACRO wrong_money(x) AS first_wrong('amount', [wrong_number(c, money_of(c), amounts(c),
    ' is not an amount in US dollars, for example 12.50') FOR c IN string_split(x, chr(31))]);
CREATE TEMP MACRO wrong_currency(x) AS CASE WHEN x <> '' THEN first_wrong('currency', [CASE WHEN NOT is_nothing(c)
    AND NOT regexp_full_match(c, '(?i)\$|usd|us\$|us dollars?') THEN shown(c)
        || ': amounts are US dollars: export them in USD' END FOR c IN string_split(x, chr(31))]) END;
CREATE TEMP MACRO wrong_flag(x) AS CASE WHEN x <> '' THEN first_wrong('cut', [CASE WHEN regexp_full_match(c,
    '(?i)true|1|yes') THEN shown(c) || ': rows are missing: export all of them' END
    FOR c IN string_split(x, chr(31))]) END;

-- A day without its midnight, which an instant has in Chicago or as it is written.
CREATE TEMP MACRO in_chicago(x) AS CASE WHEN regexp_full_match(x, '[0-9-]{10}[T ]0[56]:.*(Z|UTC|\+00(:?00)?)')
    THEN strftime(TRY_CAST(x AS TIMESTAMPTZ) AT TIME ZONE 'America/Chicago', '%Y-%m-%d %H:%M') END;
CREATE TEMP MACRO of_midnight(x) AS regexp_replace(coalesce(in_chicago(x), x),
    ',?[T ]+(0?0:00(:00(\.0+)?)?|12:00(:00)? ?[Aa][Mm])\s?(Z|UTC|[+-]\d\d(:?\d\d)?)?$', '');
CREATE TEMP MACRO in_order(t, form) AS CASE WHEN regexp_full_match(t, '\d\d?(/\d\d?/|-\d\d?-)\d{4}')
    OR form[2] = 'd' AND regexp_full_match(t, '\d\d?\.\d\d?\.\d{4}') -- no month comes before a day with dots
    THEN try_strptime(translate(t, '.-', '//'), form)::DATE END;
CREATE TEMP MACRO as_day(t, m, d) AS CASE WHEN m IS NOT NULL OR d IS NOT NULL
    THEN chosen(getvariable('dates'), ['mm/dd/yyyy', 'dd/mm/yyyy'], m, d)
    WHEN regexp_full_match(t, '[3-7]\d{4}(\.0+)?(e0)?') -- a spreadsheet's
        THEN getvariable('zero') + left(t, 5)::INTEGER
    ELSE try_strptime(t, ['%Y-%m-%d', '%Y/%m/%d', '%Y.%m.%d', '%Y%m%d', '%d %b %Y', '%d-%b-%y', '%d-%b-%Y', '%d %B %Y',
        '%b %d, %Y', '%B %d, %Y', '%d %b, %Y', '%a, %d %b %Y', '%a, %b %d, %Y', '%A, %B %d, %Y'])::DATE END;
CREATE TEMP MACRO wrong_day(x, t, m, d) AS CASE WHEN x = '' THEN 'there is no day'
    WHEN getvariable('dates') = '' AND m IS NOT NULL AND d IS NOT NULL THEN shown(x) || ' may be ' || d || ' or ' || m
        || ': declare dates=DD/MM/YYYY or dates=MM/DD/YYYY in SPENDSYNC_TRACKER_COLUMNS'
    WHEN regexp_matches(t, '[T ]\d?\d:\d\d') THEN shown(x) || ' is not a day but an hour of it: export one row a day'
    ELSE shown(x) || ' is not a day, for example 2026-11-20' END;

-- An ID. A spreadsheet keeps a text as 'ID or ="ID", and libraries make a fraction of an ID that is a number.
CREATE TEMP MACRO as_id(x) AS CASE WHEN starts_with(x, '''') OR starts_with(x, '=')
    THEN regexp_replace(x, '^(?:''(.*?)''?|="(.*)")$', '\1\2') ELSE regexp_replace(x, '^([0-9]+)\.0+(e0)?$', '\1') END;
CREATE TEMP MACRO shape(id) AS regexp_replace(id, '[0-9]', '0', 'g');
-- The forms of an ID in which it may equal the one that is meant, with what they differ by.
CREATE TEMP MACRO forms(id) AS [lower(id), regexp_replace(id, '^([A-Za-z]*)0+', '\1'),
    regexp_replace(lower(id), '[^a-z0-9]+', '', 'g'), regexp_replace(id, '^[A-Za-z]+', ''), split_part(id, ' ', 1)];
CREATE TEMP MACRO differs(n, a, b) AS '"' || a || CASE n WHEN 1 THEN '" is "' || b || '" in another case' ELSE '" and "'
    || b || '" differ by ' || ['', 'a leading zero', 'signs', 'their first letters', 'a name behind the ID'][n] END;

-- A value of Parquet as text. A fraction that is no text gets an exponent, so that it has one reading.
CREATE TEMP MACRO of_parquet(x) AS CASE WHEN regexp_full_match(typeof(x), 'DOUBLE|FLOAT|DECIMAL.*')
    AND NOT contains(x::VARCHAR, 'e') THEN x::VARCHAR || 'e0'
    ELSE coalesce(trim(replace(x::VARCHAR, chr(10), ' '), ' ' || chr(9) || chr(13) || chr(160)), '') END;

-- Words in lower case with single blanks.
CREATE TEMP MACRO squash(x) AS trim(regexp_replace(lower(x), '[\s\x{a0}]+', ' ', 'g'));
CREATE TEMP MACRO quoted(x) AS '"' || regexp_replace(x, '\s+', ' ', 'g') || '"';

-- Another currency than US dollars in a text, or an amount in cents or thousands; empty: none is named.
CREATE TEMP MACRO currency_codes() AS
    'eur|euros?|gbp|rub|uah|pln|inr|brl|cad|aud|nzd|jpy|cny|try|chf|sek|nok|dkk|czk|mxn|kzt|aed|sar|ils|egp|'
    || 'thb|vnd|idr|php|myr|sgd|hkd|krw|zar|ngn|ars|clp|cop|huf|ron|bgn|gel|byn|uzs|'
    || 'руб|грн|тенге|тг|zł|kč|kr|lei|ft|лв|canadian|australian|cents?|micros?|thousands|millions';
CREATE TEMP MACRO currency_signs() AS '[¢-¥₠-⃀฿﷼￠￡￥￦]|元|円|원';
CREATE TEMP MACRO currency_words() AS 'currency|валюта|währung|devise|moneda|valuta';
CREATE TEMP MACRO currency_in(x) AS [upper(m.word || m.sign) FOR m IN [regexp_extract(squash(x),
    '(?:^|[^a-z])(' || currency_codes() || '|(?:ca?|au?|nz|hk|s|r|mx|k)\$)(?:[^a-z]|$)|(' || currency_signs() || ')',
    ['word', 'sign'])]][1];
CREATE TEMP MACRO in_currency(x) AS CASE WHEN currency_in(x) <> '' THEN quoted(x) || ' is in ' || currency_in(x)
    || ': amounts are US dollars: export them in USD' END;

-- The number in a workbook's cell that stores and displays different texts. The displayed text may be rounded and
-- contain words. If it is a date, a percentage or an amount in another currency, the macro returns it unchanged.
CREATE TEMP MACRO means(shown, stored) AS stored IS NULL OR contains(shown, 'E')
    OR (stored = 0 OR coalesce(abs(abs(stored)
        - TRY_CAST(regexp_extract(replace(shown, ',', ''), '[0-9.]+') AS DOUBLE)) <= 0.5, false))
    AND NOT contains(shown, '%') AND currency_in(shown) = '';
CREATE TEMP MACRO as_stored(x) AS split_part(x, chr(30), 1);
CREATE TEMP MACRO figure(x) AS CASE WHEN NOT contains(x, chr(30)) THEN x
    WHEN means(split_part(x, chr(30), 2), TRY_CAST(as_stored(x) AS DOUBLE)) THEN as_stored(x)
    ELSE split_part(x, chr(30), 2) END;

-- A heading as ours are written, without a currency; in the variable.
CREATE TEMP MACRO plain(x) AS replace(rtrim(regexp_replace(squash(x), '([\s_]*[(\[,]?\s*(us\$|\$|'
    || currency_signs() || ')|[\s_(\[,]+(in[\s_]+)?(usd|' || currency_codes() || '))\s*[)\]]?$', ''), ':'), ' ', '_');
CREATE TEMP MACRO item(name, x) AS name || '=' || CASE WHEN contains(x, ',') OR contains(x, '"')
    THEN quoted(replace(x, '"', '""')) ELSE regexp_replace(x, '\s+', ' ', 'g') END;
-- A column that may refuse the file is found whatever is declared.
CREATE TEMP MACRO guard(plain) AS CASE
    WHEN regexp_full_match(plain, '(.*_)?(' || currency_words() || ')(_code)?') THEN 'currency'
    WHEN regexp_full_match(plain, '(is_|has_)?(incomplete|truncated|partial|sampled|more)(_(results?|rows|data))?')
    THEN 'flag' END;
