SELECT campaign_id, campaign_name, campaign_status, window_from::TIMESTAMP AS window_from, window_to::TIMESTAMP AS window_to,
       days_known, spend::DOUBLE AS spend, conversions, cpa, cpa_best_case, cpa_worst_case, target_cpa::DOUBLE AS target_cpa,
       verdict, excess_spend::DOUBLE AS excess_spend, cpa_change, change_verdict, profit::DOUBLE AS profit, roi
FROM mart.campaign_performance
ORDER BY excess_spend DESC NULLS LAST, spend DESC, campaign_id
