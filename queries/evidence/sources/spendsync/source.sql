SELECT source_id, campaign_id, campaign_name, spend::DOUBLE AS spend, clicks, conversions, cpa, cpa_best_case, cpa_worst_case,
       judged_cpa, target_cpa::DOUBLE AS target_cpa, list_rule, profit::DOUBLE AS profit
FROM mart.source_performance
ORDER BY spend DESC, campaign_id, source_id
LIMIT 500
