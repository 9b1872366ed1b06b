SELECT report_date::TIMESTAMP AS report_date, state_now, rows, spend::DOUBLE AS spend, days_until_unreachable, what_to_do
FROM mart.coverage
ORDER BY report_date DESC
