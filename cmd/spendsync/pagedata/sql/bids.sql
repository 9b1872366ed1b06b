-- Do clicks cost what is bid?
-- Folded.
-- Block say
SELECT tone(b.verdict = 'bid_less', false) AS tone,
  CASE WHEN count(*) = 0 THEN 'No source had a click in the known days, so no bid can be compared with what a click cost.'
    WHEN count(*) FILTER (WHERE b.verdict = 'bid_less') = 0 THEN 'No bid is to be lowered' ELSE 'Lower the bid at ' || many(count(*) FILTER (WHERE b.verdict = 'bid_less'), 'source') || ', which cost ' || usd(sum(b.spend) FILTER (WHERE b.verdict = 'bid_less')) END
    || CASE WHEN count(*) > 0 THEN '; of ' || many(count(*), 'pair') || ' of campaign and source the service moves the bids of ' || format('{:,}', count(*) FILTER (WHERE b.verdict = 'service_bids')) || ' itself.' ELSE '' END AS text, sum(b.at_stake ORDER BY b.at_stake) AS at_stake
FROM mart.bid_vs_cpc AS b WHERE b.clicks > 0
-- Block table
SELECT b.campaign_id || ' ' || b.source_id AS key, b.source_id AS "Source|name", label(b.campaign_id) AS "Campaign|name", b.verdict AS "Verdict|chip", b.bid_now AS "Bid now|price", b.mean_bid AS "Mean bid|price", b.cpc AS "CPC|price", b.cpc_to_bid AS "CPC by mean bid|times",
  b.cpc_at_target AS "A click is worth|price", b.best_bid AS "Best bid|price", b.clicks AS "Clicks|count", b.conversions AS "Conv.|count", b.spend AS "Spend|money", b.reason AS "Why|text"
FROM mart.bid_vs_cpc AS b WHERE b.clicks > 0 ORDER BY b.verdict = 'bid_less' DESC, b.spend DESC, b.campaign_id, b.source_id LIMIT 30
