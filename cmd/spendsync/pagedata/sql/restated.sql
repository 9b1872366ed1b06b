-- How long do finished days keep changing?
-- Folded.
-- Block say
SELECT 'plain' AS tone, coalesce((SELECT CASE WHEN s.settled_age_days IS NULL THEN 'How long is not known yet' ELSE 'Nearly nothing changes from an age of ' || many(s.settled_age_days, 'day') || ' on' END
  || coalesce('; at ' || many(s.age_days, 'day') || ' ' || share(s.conversions_share) || ' of the conversions and ' || share(s.spend_share) || ' of the spend are there', '') || '.' FROM int.settlement AS s WHERE s.days_followed > 0 ORDER BY s.age_days LIMIT 1),
  'No finished day has been seen to change yet. The first look at a day cannot show a change.') AS text
-- Block table: What a young day’s conversions are to be multiplied by
SELECT s.age_days AS key, many(s.age_days, 'day') AS "Age|day", s.conversions_share AS "Conversions there|percent", 1 / nullif(s.conversions_share, 0) AS "Multiply by|times", s.spend_share AS "Spend there|percent", s.days_followed AS "Days followed|count"
FROM int.settlement AS s WHERE s.days_followed > 0 AND s.conversions_share > 0 ORDER BY s.age_days LIMIT 10
