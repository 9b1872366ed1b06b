-- Which creatives tire and should be replaced?
-- Trap: fell_with_campaign: it fell as its whole campaign did, and a new creative alone does not help. The peak is the best of many weeks and sources change, so part of every fall is neither fatigue nor the creative's own: adjusted_decline is the fall beside the campaign's other creatives.
-- Parameter rows: 20, creatives to show, those with most impressions to lose first.
-- Shown: verdict, creative_id, campaign_name, decline, creative_title, action, ctr_recent, ctr_peak, impressions_recent
SELECT
  f.account_id, f.campaign_id, f.campaign_name, f.creative_id, f.creative_title, f.age_days,
  f.impressions_recent, f.clicks_recent,
  f.ctr_recent::DECIMAL(18,5) AS ctr_recent, f.ctr_peak::DECIMAL(18,5) AS ctr_peak, f.peak_to,
  f.decline::DECIMAL(18,3) AS decline, f.z_score::DECIMAL(18,1) AS z_score,
  f.adjusted_decline::DECIMAL(18,3) AS adjusted_decline, f.adjusted_z::DECIMAL(18,1) AS adjusted_z, f.z_needed::DECIMAL(18,1) AS z_needed, f.compared_with,
  f.verdict, f.reason, f.at_stake::DECIMAL(18,2) AS at_stake, f.action
FROM mart.creative_fatigue AS f
WHERE f.verdict IN ('exhausted', 'fatiguing', 'fell_with_campaign') AND coalesce(f.status, '') NOT IN ('archived', 'deleted', 'rejected')
ORDER BY f.verdict, f.impressions_recent DESC, f.account_id, f.creative_id
LIMIT $rows::BIGINT
