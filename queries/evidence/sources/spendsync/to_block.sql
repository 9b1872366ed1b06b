SELECT campaign_id, campaign_name, source_id, action, verdict, spend::DOUBLE AS spend, clicks, conversions, cpa, cpa_best_case,
       judged_cpa, excess_spend::DOUBLE AS excess_spend
FROM mart.source_block_candidates
ORDER BY excess_spend DESC NULLS LAST, campaign_id, source_id
