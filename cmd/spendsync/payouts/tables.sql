-- What is known when files are read, and what is read of them.

-- The account's IDs, and each of their forms.
SET VARIABLE today = getvariable('today')::DATE;
CREATE TEMP TABLE known AS
SELECT 'campaign' AS kind, unnest(getvariable('campaigns')::JSON::VARCHAR[]) AS id;
CREATE TEMP VIEW alike AS
SELECT kind, unnest(range(1, 6)) AS form_no, unnest(forms(id)) AS form, id FROM known;

-- What the cells for IDs of a file hold: a known ID, none, the word of a row that adds up others, or another ID, which
-- is here only if it is near one of the account; near tells how it differs.
CREATE TEMP TABLE id_cell(kind VARCHAR, cell VARCHAR, id VARCHAR, what VARCHAR, near VARCHAR);

-- The words for the states of conversions. A state has a bit.
CREATE TEMP TABLE state AS
SELECT word, ours, 1::UBIGINT << (row_number() OVER () - 1)::INTEGER AS bit
FROM (SELECT ours, unnest(words) AS word FROM (VALUES
    ('approved', ['approved', 'approve', 'confirmed', 'accepted', 'paid', 'sale', 'valid']),
    ('held', ['held', 'hold', 'on hold', 'on_hold', 'pending', 'open', 'lead', 'new']),
    ('refused', ['refused', 'rejected', 'reject', 'declined', 'cancelled', 'canceled', 'cancel', 'trash', 'invalid',
        'reversed', 'chargeback', 'refunded'])) AS w(ours, words));

-- The rows of all files with their class: fit; unknown, unread or unsourced (it is of the account and does not fit);
-- total, blank or other (it is not of the account); refused (the file is). why is about one that does not fit. A newer
-- file has a higher number. judged are the rows of the file that is being read.
CREATE TEMP TABLE line(file INTEGER, is_export BOOLEAN, n BIGINT, state UBIGINT, day DATE, until DATE, campaign VARCHAR,
    creative VARCHAR, source VARCHAR, clicks BIGINT, conversions BIGINT, approved BIGINT, held BIGINT, refused BIGINT,
    amount DECIMAL(18, 6), class VARCHAR, why VARCHAR, raw VARCHAR);
CREATE TEMP VIEW judged AS FROM line WHERE file = getvariable('file');

CREATE TEMP TABLE set_aside(file INTEGER, n BIGINT, day DATE, why VARCHAR, raw VARCHAR);
-- What is wrong with files that are taken, with the form and size of what can be accepted.
CREATE TEMP TABLE file_finding(form VARCHAR, size BIGINT, message VARCHAR);
CREATE TEMP TABLE file(file INTEGER, path VARCHAR, unit VARCHAR, name VARCHAR AS (parse_filename(path)));

-- The service's counts by campaign and day, and the stored rows of exports.
CREATE TEMP TABLE service(campaign VARCHAR, day DATE, clicks BIGINT, conversions DOUBLE);
CREATE TEMP TABLE stored_row(day DATE, campaign VARCHAR, source VARCHAR, revenue DECIMAL(18, 6));

-- Our columns in files of payouts and in exports, with the declared headings and with ours.
CREATE TEMP TABLE ours AS
SELECT c.* EXCLUDE (headings, required), row_number() OVER () AS no, required IS NOT NULL AS is_required,
    coalesce(string_split(headings, '|'), []) AS headings, CASE WHEN of = 'export'
        THEN coalesce((getvariable('declared')::JSON::MAP(VARCHAR, VARCHAR[]))[name], []) ELSE [] END AS declared
FROM read_csv(getvariable('dir') || '/columns.csv', header = true, all_varchar = true) AS c;
-- Forms of trackers' exports, with their headings of our columns.
CREATE TEMP TABLE tracker AS
SELECT row_number() OVER () AS no, tracker || coalesce(': ' || remark, '') AS remark,
    unnest(['day', 'clicks', 'conversions', 'approved', 'held', 'refused', 'revenue']) AS name,
    string_split(unnest([day, clicks, conversions, approved, held, refused, revenue]), '+') AS headings
FROM read_csv(getvariable('dir') || '/trackers.csv', header = true, all_varchar = true);
