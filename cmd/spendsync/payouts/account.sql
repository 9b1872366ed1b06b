-- The account's sources, and what the service counted on its finished days of the last weeks.
INSERT INTO known SELECT DISTINCT 'source', source_id FROM w.main.spend_daily
WHERE account_id = getvariable('account') AND source_id <> '';
INSERT INTO service SELECT campaign_id, report_date, sum(clicks), sum(conversions) FROM w.main.spend_daily
WHERE account_id = getvariable('account') AND report_date BETWEEN getvariable('today') - 32 AND getvariable('today') - 2
GROUP BY ALL;
