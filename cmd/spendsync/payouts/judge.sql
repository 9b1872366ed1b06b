-- Judges the rows of one file. The view cells has their declared cells, is_export is a variable.

CREATE OR REPLACE TEMP TABLE day_cell AS
SELECT cell, as_day(t, m, d) AS day, CASE
    WHEN as_day(t, m, d) IS NULL OR year(as_day(t, m, d)) NOT BETWEEN 1990 AND 2199 THEN wrong_day(cell, t, m, d)
    WHEN getvariable('is_export') AND as_day(t, m, d) > getvariable('today') + 1 -- it may begin earlier
        THEN shown(cell) || ' is a day to come: are day and month in the right order?' END AS why,
    is_total(cell) AS is_total
FROM (SELECT cell, t, in_order(t, '%m/%d/%Y') AS m, in_order(t, '%d/%m/%Y') AS d
    FROM (SELECT cell, of_midnight(cell) AS t FROM (SELECT day AS cell FROM cells UNION SELECT until FROM cells)));

-- What a cell for an ID holds: a known one, another, none, or the word of a row that adds up others. near tells how
-- another one differs from one of the account.
CREATE OR REPLACE TEMP TABLE id_cell AS
WITH ids AS (
    SELECT c.kind, cell, as_id(cell) AS id, k.id IS NOT NULL AS is_known
    FROM (SELECT 'campaign' AS kind, campaign AS cell FROM cells UNION SELECT 'source', source FROM cells
        UNION SELECT 'creative', creative FROM cells) AS c
    LEFT JOIN known AS k ON k.kind = c.kind AND k.id = as_id(c.cell)
), others AS (
    SELECT i.cell, i.kind, arg_min(differs(o.form_no, i.id, a.id), o.form_no) AS near
    FROM ids AS i, unnest(range(1, 6)) AS o(form_no)
    JOIN alike AS a ON a.kind = i.kind AND a.form_no = o.form_no AND a.form = forms(i.id)[o.form_no]
    WHERE NOT i.is_known AND a.form <> '' GROUP BY ALL
)
SELECT kind, cell, id, CASE WHEN is_known THEN 'known' WHEN is_total(id) THEN 'total'
    WHEN is_nothing(id) OR regexp_full_match(id, '(?i)\(?all( \w+)?\)?|\*') THEN 'none'
    WHEN kind IN (SELECT kind FROM known) THEN 'other' ELSE 'known' END AS what,
    CASE WHEN NOT is_known AND regexp_full_match(id, '[0-9][.,][0-9]+[eE]\+?[0-9]+')
        THEN shown(id) || ' is an ID that a spreadsheet made a number of: format its column as text' ELSE near
    END AS near
FROM ids LEFT JOIN others USING (kind, cell);

-- Each row and its class: fit; unknown, unread or unsourced (it is of the account and does not fit); total, blank or
-- other (it is not of the account); refused (the file is). why is about one that does not fit.
CREATE OR REPLACE TEMP TABLE judged AS
WITH read AS (
    SELECT c.* EXCLUDE (day, until, campaign, creative, source, state, state_at, approved, held, refused, amount),
        d.day, d.why AS day_why, d.is_total, u.day AS until, CASE WHEN c.until <> '' THEN u.why END AS until_why,
        k.id AS campaign, k.what AS campaign_is, k.near AS campaign_near, x.id AS creative,
        s.id AS source, s.what AS source_is, s.near AS source_near, t.bit AS state,
        CASE WHEN c.state IS NOT NULL AND t.bit IS NULL
            THEN c.state_at || shown(c.state)
                || ' is none of the states that are known (approved, pending, rejected, ...)'
        END AS state_why,
        -- A row for each state has the conversions of its own. Those that are not approved earn nothing, and a
        -- chargeback takes back what they earned.
        CASE WHEN t.ours IS NULL THEN c.approved WHEN t.ours = 'approved' THEN c.conversions ELSE 0 END AS approved,
        CASE WHEN t.ours IS NULL THEN c.held WHEN t.ours = 'held' THEN c.conversions ELSE 0 END AS held,
        CASE WHEN t.ours IS NULL THEN c.refused WHEN t.ours = 'refused' THEN c.conversions ELSE 0 END AS refused,
        CASE WHEN t.ours <> 'approved' AND list_contains(getvariable('declared'), 'revenue')
            THEN least(coalesce(c.amount, 0), 0) ELSE c.amount END AS amount
    FROM cells AS c JOIN day_cell AS d ON d.cell = c.day JOIN day_cell AS u ON u.cell = c.until
    JOIN id_cell AS k ON k.kind = 'campaign' AND k.cell = c.campaign
    JOIN id_cell AS s ON s.kind = 'source' AND s.cell = c.source
    JOIN id_cell AS x ON x.kind = 'creative' AND x.cell = c.creative
    LEFT JOIN state AS t ON t.word = lower(c.state)
), explained AS (
    SELECT *, coalesce(bad, day_at || day_why, until_at || until_why, CASE WHEN getvariable('is_export')
            THEN campaign_near END) AS unread, CASE WHEN NOT getvariable('is_export') THEN CASE
        WHEN amount IS NULL THEN 'there is no payout in US dollars'
        WHEN amount < 0 THEN 'the payout ' || brief(amount) || ' is below 0'
        WHEN until < day THEN 'to ' || until || ' is before from ' || day
        WHEN campaign <> '' AND creative <> '' THEN 'campaign "' || campaign || '" and creative "' || creative
            || '" are both named: a creative is of one campaign, so name it alone' END END AS odd_payout
    FROM read
)
SELECT n, state, day, until, campaign, creative, source, clicks, conversions, approved, held, refused, amount,
    CASE WHEN cut IS NOT NULL THEN 'refused'
        WHEN getvariable('is_export') AND (is_total AND day IS NULL OR 'total' IN (campaign_is, source_is)) THEN 'total'
        WHEN replace(raw, ',', '') = '' OR getvariable('is_export') AND day_why IS NOT NULL AND campaign_is = 'none'
            AND source_is = 'none' THEN 'blank'
        WHEN getvariable('is_export') AND campaign_is = 'other' AND campaign_near IS NULL
            AND (bad IS NULL OR day_why IS NOT NULL) THEN 'other'
        WHEN currency IS NOT NULL THEN 'refused'
        WHEN unread IS NOT NULL THEN 'unread'
        WHEN getvariable('is_export') AND 'none' IN (campaign_is, source_is) THEN 'unsourced'
        WHEN coalesce(wrong, state_why, odd_payout) IS NOT NULL THEN 'unread'
        WHEN getvariable('is_export') AND source_is = 'other' THEN 'unknown'
        ELSE 'fit' END AS class,
    CASE class WHEN 'refused' THEN coalesce(cut, currency) WHEN 'unknown' THEN source_near
        WHEN 'unread' THEN coalesce(unread, wrong, state_why, odd_payout)
        WHEN 'fit' THEN CASE campaign_is WHEN 'other'
            THEN coalesce(campaign_near, 'the account has no campaign "' || campaign || '"') END END AS why,
    CASE class WHEN 'unread' THEN raw END AS raw
FROM explained;

-- The first rows as they are stored.
CREATE OR REPLACE TEMP VIEW first_line AS
SELECT array_to_string([coalesce(x::VARCHAR, '') FOR x IN CASE WHEN getvariable('is_export')
    THEN [day::VARCHAR, campaign, source, clicks::VARCHAR, conversions::VARCHAR, approved::VARCHAR, held::VARCHAR,
        refused::VARCHAR, brief(amount)]
    ELSE [day::VARCHAR, until::VARCHAR, campaign, creative, source, brief(amount)] END], '|')
FROM judged WHERE class IN ('fit', 'unknown') ORDER BY n LIMIT 3;

-- The causes of rows that do not fit, with the first line of each; one that refuses the file comes first.
CREATE OR REPLACE TEMP VIEW cause AS
SELECT getvariable('unit') || ' ' || min(n) || ': ' || why
    || CASE WHEN count(*) > 1 THEN ' (so do ' || count(*) - 1 || ' more)' ELSE '' END AS text
FROM judged WHERE class IN ('refused', 'unknown', 'unread') AND why IS NOT NULL
GROUP BY class, why ORDER BY class <> 'refused', count(*) DESC, min(n) LIMIT 20;

-- How many rows are of each class. misfit is there if more than 5 % of the account's rows, or of their revenue, do not
-- fit.
CREATE OR REPLACE TEMP VIEW tally AS
SELECT class, count(*) AS rows FROM judged GROUP BY class UNION ALL
SELECT 'misfit', 1 FROM judged WHERE class IN ('fit', 'unknown', 'unread')
HAVING count(*) FILTER (class <> 'fit') > 0.05 * count(*)
    OR coalesce(sum(amount) FILTER (class <> 'fit'), 0) > 0.05 * greatest(0, coalesce(sum(amount), 0));

-- What is wrong with an export that is taken, with its form and size in percent.
CREATE OR REPLACE TEMP VIEW file_finding AS
SELECT 'tracker.set-aside' AS form, ceil(100 * unread / mine) AS size, (SELECT string_agg(text, '; ') FROM cause)
    || '; set aside are ' || unread || ' of ' || mine || ' rows of this account' AS message
FROM (SELECT count(*) FILTER (class = 'unread') AS unread, count(*) AS mine
    FROM judged WHERE class IN ('fit', 'unknown', 'unread')) WHERE unread > 0
UNION ALL
SELECT 'tracker.no-source', ceil(100 * unsourced / mine), unsourced
    || ' rows without a campaign or a source are set aside: they may add up the other ' || mine - unsourced
FROM (SELECT count(*) FILTER (class = 'unsourced') AS unsourced, count(*) AS mine
    FROM judged WHERE class IN ('fit', 'unsourced')) WHERE unsourced > 0
UNION ALL
SELECT 'remark', 0, 'no row has a number in the column for ' || name || ': it is empty, or has formulas without results'
FROM (SELECT unnest(['clicks', 'conversions', 'approved', 'held', 'refused', 'revenue']) AS name, unnest([count(clicks),
    count(conversions), count(approved), count(held), count(refused), count(amount)]) AS numbers
    FROM judged WHERE class = 'fit') WHERE numbers = 0 AND list_contains(getvariable('declared'), name);
