-- What did each source of each campaign bring over the performance window, and within which bounds does its CPA lie?
-- Trap: conversions of young days still arrive, so a CPA of today is too high; and a source with little spend has wide bounds.
-- Shown: source_id, campaign_name, spend, conversions, cpa_expected, judged_cpa, cpa_best_case, cpa_worst_case, clicks, list_rule, bid_override, campaign_id
SELECT p.* FROM main.source_performance(NULL, NULL) AS p
