-- What do the answers turn on?
-- Folded.
-- Block table
SELECT t.name AS key, replace(t.name, '_', ' ') AS "Threshold|name", t.value AS "Value|number", t.unit AS "Counts|text", t.meaning AS "What turns on it|text" FROM int.threshold AS t ORDER BY t.name
