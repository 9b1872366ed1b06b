-- What does a conversion earn now, by the operator's own file (SPENDSYNC_PAYOUTS)?
-- Trap: a line without a campaign is for all of them, so a join by campaign_id loses revenue: spend has revenue and profit_expected ready; of several lines that fit a conversion the one that names most counts (mart.revenue); a payout that was changed in the file counts for past days too.
SELECT p.account_id, p.from_date, p.to_date, p.campaign_id, p.creative_id, p.source_id, p.payout, p.valid_from AS seen_at
FROM main.payout_history AS p
WHERE p.is_current AND NOT p.is_deleted
