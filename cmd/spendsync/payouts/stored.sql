-- The stored rows of the days that the exports have.
INSERT INTO stored_row SELECT report_date, campaign_id, source_id, revenue FROM w.main.tracker_daily
WHERE account_id = getvariable('account') AND report_date IN (SELECT day FROM line WHERE is_export);
-- A run that is published replaces this file.
USE memory;
DETACH w;
