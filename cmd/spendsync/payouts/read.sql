-- How does a cell read? A cell that cannot be read is NULL. A number that a file holds as a number, not as a text, ends
-- in e0, and so has one reading.

CREATE TEMP MACRO marked(t) AS CASE WHEN contains(t, '.') AND NOT contains(t, 'e') THEN t || 'e0' ELSE t END;

-- The objects of a JSON text: a list of them, one after the other, or those of a list that an object has, as the APIs of
-- trackers answer: the one that is named rows, else the first. A list in the text is not held in memory, an object is.
CREATE TEMP MACRO pointer_to(key) AS '/' || replace(replace(key, '~', '~0'), '/', '~1');

CREATE TEMP MACRO list_in(j) AS CASE WHEN contains(j, '[')
    THEN list_filter(['/rows'] || list_transform(json_keys(j), lambda k: pointer_to(k)),
        lambda p: json_type(j, p) = 'ARRAY' AND json_type(j, p || '/0') = 'OBJECT')[1] END;

CREATE TEMP MACRO objects_of(path, form) AS TABLE
SELECT unnest(CASE WHEN list_in(json) IS NULL THEN [json] ELSE from_json(json->list_in(json), '["JSON"]') END) AS object
FROM read_json_objects(path, format=form);

CREATE TEMP MACRO names_of(path, form) AS TABLE
SELECT name, pointer_to(name) AS pointer
FROM (SELECT unnest(keys) AS name, generate_subscripts(keys, 1) AS place
    FROM (SELECT DISTINCT json_keys(object) AS keys FROM objects_of(path, form)))
GROUP BY name ORDER BY min(place), name;

CREATE TEMP MACRO of_json(object, pointer) AS CASE WHEN json_type(object, pointer) = 'DOUBLE'
    THEN marked(object->>pointer) ELSE object->>pointer END;

CREATE TEMP MACRO is_nothing(c) AS lower(c) IN ('', '-', '–', '—', 'n/a', 'na', '#n/a', 'null', 'none', 'nan', 'nil', '\n');

CREATE TEMP MACRO is_total(c) AS lower(trim(c, ' :')) IN ('total', 'totals', 'grand total', 'subtotal', 'sum', 'summary',
    'overall', 'gesamt', 'summe', 'итого', 'всего');

-- A number is read in four steps, each of the one before: bare, pointed, plain, and as a count or an amount. Most cells
-- are plain digits already and need no more than that.
-- The currency goes, and the sign comes first. Amounts in parentheses are negative, as in accounting.
CREATE TEMP MACRO bare(c) AS CASE WHEN regexp_full_match(c, '\d+(\.\d+)?(e0)?') THEN c ELSE regexp_replace(
    regexp_replace(translate(lower(trim(c)), '−’' || chr(160) || chr(8239), '-''  '), '^\((.*)\)$', '-\1'),
    '^([+-]?) ?(?:us\$|usd|\$)? ?([+-]?) ?(.*?) ?(?:us\$|usd|\$)?$', '\1\2\3') END;

-- The decimal mark becomes a point. An exponent is written by programs, which write a point.
CREATE TEMP MACRO pointed(t, mark) AS CASE WHEN mark = ',' AND NOT contains(t, 'e') THEN translate(t, ',.', '.,') ELSE t END;

-- Thousands may be grouped by a comma, a space or an apostrophe.
CREATE TEMP MACRO plain(t) AS CASE
    WHEN regexp_full_match(t, '\d+(\.\d+)?(e0)?') OR regexp_full_match(t, '[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?') THEN t
    WHEN regexp_full_match(t, '[+-]?(\d{1,3}(,\d{3})+|\d{1,3}( \d{3})+|\d{1,3}(''\d{3})+)(\.\d*)?')
    THEN regexp_replace(t, '[, '']', '', 'g') END;

CREATE TEMP MACRO exact(t) AS TRY_CAST(t AS DECIMAL(38, 18));

CREATE TEMP MACRO as_count(t) AS CASE WHEN regexp_full_match(t, '\d{1,18}') THEN t::BIGINT
    WHEN exact(t) >= 0 AND exact(t) = floor(exact(t)) THEN TRY_CAST(exact(t) AS BIGINT) END;

-- Amounts are rounded half to even to six decimals.
CREATE TEMP MACRO half_even(x) AS
    CASE WHEN abs(x - x::DECIMAL(26, 6)) = 0.0000005 AND (x::DECIMAL(26, 6) * 1000000)::HUGEINT % 2 <> 0
         THEN x::DECIMAL(26, 6) - sign(x) * 0.000001::DECIMAL(26, 6) ELSE x::DECIMAL(26, 6) END;

CREATE TEMP MACRO as_money(t) AS CASE WHEN regexp_full_match(t, '\d{1,12}(\.\d{1,6})?(e0)?')
    THEN replace(t, 'e0', '')::DECIMAL(18, 6)
    ELSE TRY_CAST(half_even(exact(t)) AS DECIMAL(18, 6)) END;

-- The decimal mark that a number shows; both: it has two readings, and they differ.
CREATE TEMP MACRO of_kind(t, is_count) AS CASE WHEN NOT is_count OR as_count(t) IS NOT NULL THEN t END;

CREATE TEMP MACRO mark_of(point, comma) AS CASE
    WHEN point IS NOT NULL AND comma IS NOT NULL THEN CASE WHEN exact(point) <> exact(comma) THEN 'both' END
    WHEN point IS NOT NULL THEN '.' WHEN comma IS NOT NULL THEN ',' END;

CREATE TEMP MACRO digits(t) AS regexp_replace(exact(t)::VARCHAR, '\.?0+$', '');

-- A day may have the time at which it begins.
CREATE TEMP MACRO time_of(c) AS regexp_extract(c, '^.*?(?:[T ](\d\d?:\d\d.*))?$', 1);

CREATE TEMP MACRO is_hour(c) AS time_of(c) <> '' AND NOT regexp_full_match(time_of(c),
    '(00:00(:00(\.0+)?)?|12:00(:00)? AM)\s?(Z|UTC|[+-]\d\d(:?\d\d)?)?');

CREATE TEMP MACRO parse_day(c, formats) AS CASE
    WHEN year(try_strptime(regexp_extract(c, '^(.*?)(?:[T ]\d\d?:\d\d.*)?$', 1), formats)) BETWEEN 1990 AND 2199
    THEN try_strptime(regexp_extract(c, '^(.*?)(?:[T ]\d\d?:\d\d.*)?$', 1), formats)::DATE END;

-- A workbook counts days from 1899-12-30.
CREATE TEMP MACRO plain_day(c) AS CASE WHEN regexp_full_match(c, '[3-7]\d{4}') THEN DATE '1899-12-30' + c::INTEGER
    ELSE parse_day(c, ['%Y-%m-%d', '%Y/%m/%d', '%Y.%m.%d', '%Y%m%d', '%d %b %Y', '%d-%b-%Y',
    '%b %d, %Y', '%B %d, %Y', '%d %B %Y', '%d %b, %Y', '%a, %d %b %Y', '%A, %B %d, %Y']) END;

CREATE TEMP MACRO day_first(c) AS parse_day(c, ['%d/%m/%Y', '%d-%m-%Y', '%d.%m.%Y']);

CREATE TEMP MACRO month_first(c) AS parse_day(c, ['%m/%d/%Y', '%m-%d-%Y', '%m.%d.%Y']);

CREATE TEMP MACRO day_wrong(c, is_hour, form) AS CASE
    WHEN is_hour THEN format('"{}" is not a day but an hour of it: export one row a day', c)
    WHEN coalesce(day_first(c), month_first(c)) IS NOT NULL THEN format('"{}" is not a day of the form {}', c, form)
    ELSE format('"{}" is not a day, for example 2026-11-20', c) END;

CREATE TEMP MACRO shown(c) AS regexp_replace(c, '(\d)e0$', '\1');

CREATE TEMP MACRO count_wrong(c, v) AS CASE WHEN c <> '' AND v IS NULL
    THEN format('"{}" is not a whole number of 0 or more', shown(c)) END;

CREATE TEMP MACRO money_wrong(c, v) AS CASE WHEN c <> '' AND v IS NULL
    THEN format('"{}" is not an amount in US dollars, for example 12.50', shown(c)) END;

CREATE TEMP MACRO state_of(c) AS CASE
    WHEN c IN ('approved', 'approve', 'confirmed', 'accepted', 'paid', 'sale', 'valid') THEN 'approved'
    WHEN c IN ('held', 'hold', 'on_hold', 'pending', 'open', 'lead', 'new') THEN 'held'
    WHEN c IN ('refused', 'rejected', 'declined', 'cancelled', 'canceled', 'trash', 'invalid', 'reversed', 'chargeback',
        'refunded') THEN 'refused' END;

CREATE TEMP MACRO state_wrong(c) AS CASE WHEN state_of(c) IS NULL
    THEN format('"{}" is none of the states that are known (approved, pending, rejected, ...)', c) END;

-- A row that adds others up, or is empty.
CREATE TEMP MACRO is_total_row(day, campaign, source) AS
    is_total(day) OR is_total(campaign) OR is_total(source) OR day || campaign || source = '';

-- The sum of all, unknown if a part is.
CREATE TEMP MACRO whole(x) AS CASE WHEN count(x) = count(*) THEN sum(x) END;

CREATE TEMP TABLE known(kind VARCHAR, id VARCHAR);

-- What the service counts, of a campaign and a day.
CREATE TEMP TABLE service(campaign VARCHAR, day DATE, clicks BIGINT, conversions DOUBLE);

CREATE TEMP TABLE day_of(file INTEGER, cell VARCHAR, n BIGINT, plain DATE, day_first DATE, month_first DATE, is_hour BOOLEAN,
    day DATE);

CREATE TEMP TABLE payout(file INTEGER, n BIGINT, "from" DATE, "to" DATE, campaign VARCHAR, creative VARCHAR, source VARCHAR,
    payout DECIMAL(18, 6));

-- Rows of exports that are of a day.
CREATE TEMP TABLE export(file INTEGER, n BIGINT, day DATE, campaign VARCHAR, source VARCHAR, state VARCHAR, clicks BIGINT,
    conversions BIGINT, approved BIGINT, held BIGINT, refused BIGINT, revenue DECIMAL(18, 6));

-- A row that several files have is one row.
CREATE TEMP VIEW distinct_row AS
SELECT day, campaign, source, state, any_value(clicks) AS clicks, any_value(conversions) AS conversions,
    any_value(approved) AS approved, any_value(held) AS held, any_value(refused) AS refused,
    any_value(revenue) AS revenue, count(*) > count(DISTINCT file) AS is_twice,
    min(hash(clicks, conversions, approved, held, refused, revenue)) <>
        max(hash(clicks, conversions, approved, held, refused, revenue)) AS differs
FROM export GROUP BY day, campaign, source, state;

-- A row of a day, campaign and source is the sum of those of its states.
CREATE TEMP VIEW tracker_row AS
SELECT day, campaign, source, any_value(clicks) AS clicks, whole(conversions)::BIGINT AS conversions,
    whole(approved)::BIGINT AS approved, whole(held)::BIGINT AS held, whole(refused)::BIGINT AS refused,
    whole(revenue)::DECIMAL(18, 6) AS revenue,
    bool_or(is_twice) OR bool_or(differs) OR coalesce(min(clicks) <> max(clicks), false) AS is_unclear
FROM distinct_row GROUP BY day, campaign, source;
