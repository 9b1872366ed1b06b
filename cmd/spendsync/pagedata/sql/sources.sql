-- Which sources earn their money?
-- Folded.
-- Block say
SELECT CASE WHEN b.pairs > 0 THEN 'act' WHEN p.pairs = 0 OR p.is_too_early THEN 'unknown' ELSE 'fine' END AS tone,
  CASE WHEN p.pairs = 0 THEN 'No source spent anything in the known days, so there is nothing to judge.'
    WHEN b.pairs = 0 AND p.is_too_early THEN many(p.pairs, 'pair') || ' of campaign and source, and none is judged: how many conversions are still to come is not known yet.'
    WHEN b.pairs = 0 THEN 'Of ' || many(p.pairs, 'pair') || ' of campaign and source none is expected to lose.'
    ELSE many(b.sources, 'source') || ' to block in ' || many(b.campaigns, 'campaign') || ' (' || many(b.pairs, 'pair') || ' of ' || format('{:,}', p.pairs) || '): in ' || many(p.days, 'known day') || ' they cost ' || usd(b.spend) || ', ' || usd(b.excess) || ' more than their conversions were worth.' END
    || CASE WHEN s.pairs > 0 THEN ' ' || many(s.pairs, 'pair') || ' would bear a higher bid: spendsync query sources_to_scale.' ELSE '' END AS text, b.at_stake
FROM (SELECT any_value(c.sources) AS sources, any_value(c.campaigns) AS campaigns, count(*) AS pairs, sum(c.spend) AS spend, sum(c.excess_spend) AS excess, sum(c.at_stake ORDER BY c.at_stake) AS at_stake FROM mart.source_block_candidates AS c) AS b
CROSS JOIN (SELECT count(*) AS pairs, any_value(o.days_known) AS days, coalesce(bool_and(o.conversions_expected IS NULL) FILTER (WHERE o.conversions IS NOT NULL), false) AS is_too_early FROM mart.source_performance AS o WHERE o.spend > 0) AS p
CROSS JOIN (SELECT count(*) AS pairs FROM mart.source_scale_candidates AS c WHERE NOT c.is_optimized) AS s
-- Block table: To block, what loses most a day first
SELECT b.campaign_id || ' ' || b.source_id AS key, b.source_id AS "Source|name", label(b.campaign_id) AS "Campaign|name", b.verdict AS "Verdict|chip", b.at_stake AS "At stake a day|money", b.spend AS "Spend|money", b.clicks AS "Clicks|count",
  b.conversions AS "Conv.|count", b.cpa AS "CPA|money", b.judged_cpa AS "Measured by|money", b.reason AS "Why|text"
FROM mart.source_block_candidates AS b ORDER BY b.at_stake DESC NULLS LAST, b.excess_spend DESC NULLS LAST, b.campaign_id, b.source_id LIMIT 30
-- Block table: To paste: the sources above, by campaign
WITH listed AS (SELECT b.campaign_id, b.source_id, b.at_stake FROM mart.source_block_candidates AS b ORDER BY b.at_stake DESC NULLS LAST, b.excess_spend DESC NULLS LAST, b.campaign_id, b.source_id LIMIT 30)
SELECT l.campaign_id AS key, label(l.campaign_id) AS "Campaign|name", l.campaign_id AS "ID|name", count(*) AS "Sources|count", string_agg(l.source_id, ',' ORDER BY l.at_stake DESC NULLS LAST, l.source_id) AS "Their IDs|ids"
FROM listed AS l GROUP BY l.campaign_id ORDER BY sum(l.at_stake ORDER BY l.at_stake) DESC NULLS LAST, l.campaign_id
-- Block table: The others with most spend
SELECT p.campaign_id || ' ' || p.source_id AS key, p.source_id AS "Source|name", label(p.campaign_id) AS "Campaign|name", p.spend AS "Spend|money", p.clicks AS "Clicks|count", p.conversions AS "Conv.|count", p.cpa AS "CPA|money",
  p.cpa_best_case AS "at best|money", p.cpa_worst_case AS "at worst|money", p.judged_cpa AS "Measured by|money", p.profit_so_far AS "Profit so far|money"
FROM mart.source_performance AS p ANTI JOIN mart.source_block_candidates AS b ON b.campaign_id = p.campaign_id AND b.source_id = p.source_id
WHERE p.spend > 0 ORDER BY p.spend DESC, p.campaign_id, p.source_id LIMIT 30
