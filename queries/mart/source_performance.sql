-- What did each source of each campaign bring over the performance window, and within which bounds does its CPA lie?
-- Trap: conversions of young days still arrive, so a CPA of today is too high; and a source with little spend has wide bounds.
SELECT p.* FROM main.source_performance(NULL, NULL) AS p
