-- Judges the rows of one file. raw has its declared cells, by the columns that they are for.

INSERT INTO file VALUES (getvariable('file'), getvariable('path'), getvariable('unit'));
SET VARIABLE is_export = (SELECT is_export FROM heading);
SET VARIABLE title = (SELECT map_from_entries(list((target, title))) FROM (
    SELECT target, 'column ' || string_agg(quoted(heading), ' and ' ORDER BY pos) || ': ' AS title
    FROM declared GROUP BY target));

DELETE FROM id_cell;

-- The rows that may be the account's.
CREATE OR REPLACE TEMP VIEW mine AS
SELECT r.* FROM raw AS r LEFT JOIN id_cell AS i ON i.kind = 'campaign' AND i.cell = r.campaign
WHERE NOT getvariable('is_export') OR i.cell IS NOT NULL OR bad <> '';

CREATE OR REPLACE TEMP VIEW cell AS
SELECT 'campaign' AS kind, campaign AS cell FROM raw UNION ALL
SELECT 'source', source FROM mine UNION ALL SELECT 'creative', creative FROM mine;

CREATE OR REPLACE TEMP MACRO ids(of) AS TABLE
WITH ids AS (
    SELECT kind, cell, as_id(cell) AS id, (kind, as_id(cell)) IN (SELECT (kind, id) FROM known) AS is_known
    FROM (SELECT DISTINCT kind, cell FROM cell WHERE kind IN of)
), others AS (
    SELECT kind, cell, arg_min(differs(form_no, i.id, a.id), form_no) AS near
    FROM (SELECT *, unnest(range(1, 6)) AS form_no, unnest(forms(id)) AS form FROM ids WHERE NOT is_known) AS i
    JOIN alike AS a USING (kind, form_no, form) WHERE form <> '' GROUP BY ALL
)
SELECT * FROM (
    SELECT kind, cell, id, CASE WHEN is_known THEN 'known' WHEN is_total(id) THEN 'total'
        WHEN is_nothing(id) OR regexp_full_match(id, '(?i)\(?(all( \w+)?|alle|todos|tous|все|wszystkie)\)?|\*') THEN 'none'
        WHEN kind IN (SELECT kind FROM known) THEN 'other' ELSE 'known' END AS what,
        CASE WHEN NOT is_known AND regexp_full_match(id, '[0-9][.,][0-9]+[eE]\+?[0-9]+')
            THEN shown(id) || ' is an ID that a spreadsheet made a number of: format its column as text' ELSE near
        END AS near
    FROM ids LEFT JOIN others USING (kind, cell))
WHERE what <> 'other' OR near IS NOT NULL;

INSERT INTO id_cell FROM ids(['campaign']);
INSERT INTO id_cell FROM ids(['source', 'creative']);

CREATE OR REPLACE TEMP TABLE day_cell AS
SELECT cell, as_day(t, m, d) AS day, CASE
    WHEN as_day(t, m, d) IS NULL OR year(as_day(t, m, d)) NOT BETWEEN 1990 AND 2199 THEN wrong_day(cell, t, m, d)
    WHEN getvariable('is_export') AND as_day(t, m, d) > getvariable('today') + 1 -- it may begin earlier
        THEN shown(cell) || ' is a day to come: are day and month in the right order?' END AS why,
    is_total(cell) AS is_total
FROM (SELECT cell, t, in_order(t, '%m/%d/%Y') AS m, in_order(t, '%d/%m/%Y') AS d
    FROM (SELECT cell, of_midnight(cell) AS t FROM (SELECT day AS cell FROM mine UNION SELECT until FROM mine)));

INSERT INTO line BY NAME
WITH numbers AS (
    SELECT * EXCLUDE (bad, clicks, conversions, approved, held, refused, amount), nullif(bad, '') AS bad,
        r.clicks AS clicks_text, r.conversions AS conversions_text, r.approved AS approved_text, r.held AS held_text,
        r.refused AS refused_text, r.amount AS amount_text, count_in(r.clicks) AS clicks,
        count_in(r.conversions) AS conversions_given, count_in(r.approved) AS approved, count_in(r.held) AS held,
        count_in(r.refused) AS refused, money_in(r.amount) AS amount
    FROM mine AS r
), cells AS (
    -- Those of each state may be given in the place of all conversions.
    SELECT *, CASE WHEN title('conversions') IS NOT NULL OR title('approved') IS NULL OR title('refused') IS NULL
            THEN conversions_given WHEN title('held') IS NULL THEN approved + refused
            ELSE approved + held + refused END AS conversions,
        wrong_currency(currency) AS wrong_currency, wrong_flag(cut) AS wrong_flag,
        CASE WHEN clicks IS NULL AND clicks_text <> '' OR conversions_given IS NULL AND conversions_text <> ''
                OR approved IS NULL AND approved_text <> '' OR held IS NULL AND held_text <> ''
                OR refused IS NULL AND refused_text <> '' OR amount IS NULL AND amount_text <> ''
            THEN coalesce(wrong_counts([['clicks', clicks_text], ['conversions', conversions_text],
                ['approved', approved_text], ['held', held_text], ['refused', refused_text]]), wrong_money(amount_text))
            END AS wrong
    FROM numbers
), read AS (
    SELECT c.* EXCLUDE (day, until, campaign, creative, source, state, approved, held, refused, amount),
        c.day AS day_text, c.until AS until_text, c.campaign AS campaign_text, c.creative AS creative_text,
        c.source AS source_text, c.state AS state_text,
        d.day, title('day') || d.why AS day_why, d.is_total, u.day AS until,
        CASE WHEN c.until <> '' THEN title('until') || u.why END AS until_why,
        coalesce(k.id, as_id(c.campaign)) AS campaign, coalesce(k.what, 'other') AS campaign_is,
        k.near AS campaign_near, coalesce(x.id, as_id(c.creative)) AS creative,
        coalesce(s.id, as_id(c.source)) AS source, coalesce(s.what, 'other') AS source_is, s.near AS source_near,
        t.bit AS state,
        CASE WHEN c.state <> '' AND t.bit IS NULL THEN title('state') || shown(c.state)
            || ' is none of the states that are known (approved, pending, rejected, ...)' END AS state_why,
        -- A row for each state has the conversions of its own. Those that are not approved earn nothing, and a
        -- chargeback takes back what they earned.
        CASE WHEN t.ours IS NULL THEN c.approved WHEN t.ours = 'approved' THEN c.conversions ELSE 0 END AS approved,
        CASE WHEN t.ours IS NULL THEN c.held WHEN t.ours = 'held' THEN c.conversions ELSE 0 END AS held,
        CASE WHEN t.ours IS NULL THEN c.refused WHEN t.ours = 'refused' THEN c.conversions ELSE 0 END AS refused,
        CASE WHEN t.ours <> 'approved' AND title('amount') IS NOT NULL
            THEN least(coalesce(c.amount, 0), 0) ELSE c.amount END AS amount
    FROM cells AS c JOIN day_cell AS d ON d.cell = c.day JOIN day_cell AS u ON u.cell = c.until
    LEFT JOIN id_cell AS k ON k.kind = 'campaign' AND k.cell = c.campaign
    LEFT JOIN id_cell AS s ON s.kind = 'source' AND s.cell = c.source
    LEFT JOIN id_cell AS x ON x.kind = 'creative' AND x.cell = c.creative
    LEFT JOIN state AS t ON t.word = lower(c.state)
), explained AS (
    SELECT *, getvariable('is_export') AS is_export, CASE WHEN is_export THEN campaign_near END AS no_campaign,
        CASE WHEN is_export THEN NULL
            WHEN amount IS NULL THEN 'there is no payout in US dollars'
            WHEN amount < 0 THEN 'the payout ' || brief(amount) || ' is below 0'
            WHEN until < day THEN 'to ' || until || ' is before from ' || day
            WHEN campaign <> '' AND creative <> '' THEN 'campaign "' || campaign || '" and creative "' || creative
                || '" are both named: a creative is of one campaign, so name it alone' END AS odd_payout,
        coalesce(bad, day_why, until_why, no_campaign) AS unread,
        bad NOT LIKE 'it has fewer%' AS is_shifted -- not a note
    FROM read
)
SELECT getvariable('file') AS file, is_export, n, state, day, until, campaign, creative, source, clicks, conversions,
    approved, held, refused, amount,
    CASE WHEN stops OR wrong_flag IS NOT NULL THEN 'refused'
        WHEN is_export AND (is_total AND day IS NULL OR 'total' IN (campaign_is, source_is)) THEN 'total'
        WHEN day_text = '' AND campaign_text = '' AND source_text = '' AND until_text = '' AND creative_text = ''
                AND coalesce(clicks, conversions, amount) IS NULL AND wrong IS NULL
            OR is_export AND day_why IS NOT NULL AND campaign_is = 'none' AND source_is = 'none' THEN 'blank'
        WHEN is_export AND campaign_is = 'other' AND campaign_near IS NULL AND day_why IS NOT NULL
            AND NOT coalesce(is_shifted, false) THEN 'other'
        WHEN wrong_currency IS NOT NULL THEN 'refused'
        WHEN unread IS NOT NULL THEN 'unread'
        WHEN is_export AND 'none' IN (campaign_is, source_is) THEN 'unsourced'
        WHEN coalesce(wrong, state_why, odd_payout) IS NOT NULL THEN 'unread'
        WHEN is_export AND source_is = 'other' THEN 'unknown'
        ELSE 'fit' END AS class,
    CASE class WHEN 'refused' THEN coalesce(if(stops, bad, NULL), wrong_flag, wrong_currency)
        WHEN 'unknown' THEN source_near
        WHEN 'unread' THEN coalesce(unread, wrong, state_why, odd_payout)
        WHEN 'fit' THEN CASE campaign_is WHEN 'other'
            THEN coalesce(campaign_near, 'the account has no campaign "' || campaign || '"') END END AS why,
    CASE class WHEN 'unread' THEN array_to_string([replace(x, chr(31), ',') FOR x IN [day_text, until_text,
        campaign_text, creative_text, source_text, state_text, clicks_text,
        conversions_text, approved_text, held_text, refused_text, amount_text]
        IF x <> ''], ',') END AS raw
FROM explained;
