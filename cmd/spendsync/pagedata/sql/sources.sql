-- Which sources earn their money?
-- Folded.
-- Block say
SELECT CASE WHEN b.pairs > 0 THEN 'act' WHEN p.pairs = 0 THEN 'unknown' ELSE 'fine' END AS tone,
  CASE WHEN p.pairs = 0 THEN 'No source spent anything in the known days, so there is nothing to judge.'
    WHEN b.pairs = 0 THEN 'Of ' || many(p.pairs, 'pair') || ' of campaign and source none is expected to lose.'
    ELSE many(b.sources, 'source') || ' to block in ' || many(b.campaigns, 'campaign') || ' (' || many(b.pairs, 'pair') || ' of ' || format('{:,}', p.pairs) || '): in ' || many(p.days, 'known day') || ' they cost ' || usd(b.spend) || ', ' || usd(b.excess) || ' more than their conversions were worth.' END
    || CASE WHEN s.pairs > 0 THEN ' ' || many(s.pairs, 'pair') || ' would bear a higher bid: spendsync query sources_to_scale.' ELSE '' END AS text, b.at_stake
FROM (SELECT any_value(c.sources) AS sources, any_value(c.campaigns) AS campaigns, count(*) AS pairs, sum(c.spend) AS spend, sum(c.excess_spend) AS excess, sum(c.at_stake ORDER BY c.at_stake) AS at_stake FROM mart.source_block_candidates AS c) AS b
CROSS JOIN (SELECT count(*) AS pairs, any_value(o.days_known) AS days FROM mart.source_performance AS o WHERE o.spend > 0) AS p
CROSS JOIN (SELECT count(*) AS pairs FROM mart.source_scale_candidates AS c WHERE NOT c.is_optimized) AS s
-- Block scatter: The further right, the more a source of a campaign cost; the higher, the dearer its conversions, as a multiple of what they may cost. “None”: no conversion yet
SELECT p.spend AS "x|money", p.cpa / nullif(p.judged_cpa, 0) AS "y|times", p.cpa_best_case / nullif(p.judged_cpa, 0) AS low, p.cpa_worst_case / nullif(p.judged_cpa, 0) AS high,
  CASE WHEN b.source_id IS NOT NULL THEN 'block' WHEN s.source_id IS NOT NULL THEN 'bid more' ELSE 'neither' END AS series,
  p.source_id || ' of ' || label(p.campaign_id) || ': ' || usd(p.spend) || ', ' || many(p.conversions, 'conversion') AS title
FROM mart.source_performance AS p
LEFT JOIN mart.source_block_candidates AS b ON b.campaign_id = p.campaign_id AND b.source_id = p.source_id
LEFT JOIN mart.source_scale_candidates AS s ON s.campaign_id = p.campaign_id AND s.source_id = p.source_id AND NOT s.is_optimized
WHERE p.spend > 0 AND p.conversions IS NOT NULL AND p.judged_cpa > 0
QUALIFY row_number() OVER (PARTITION BY b.source_id IS NOT NULL ORDER BY p.spend DESC, p.campaign_id, p.source_id) <= 60
ORDER BY b.source_id IS NOT NULL DESC, p.spend DESC, p.campaign_id, p.source_id
-- Block table: To block, what loses most a day first
SELECT b.campaign_id || ' ' || b.source_id AS key, b.source_id AS "Source|name", label(b.campaign_id) AS "Campaign|name", b.verdict AS "Verdict|chip", b.at_stake AS "At stake a day|money", b.spend AS "Spend|money", b.clicks AS "Clicks|count",
  b.conversions AS "Conv.|count", b.cpa AS "CPA|money", b.judged_cpa AS "Measured by|money", b.reason AS "Why|text"
FROM mart.source_block_candidates AS b ORDER BY b.at_stake DESC NULLS LAST, b.excess_spend DESC NULLS LAST, b.campaign_id, b.source_id LIMIT 30
-- Block table: The others with most spend
SELECT p.campaign_id || ' ' || p.source_id AS key, p.source_id AS "Source|name", label(p.campaign_id) AS "Campaign|name", p.spend AS "Spend|money", p.clicks AS "Clicks|count", p.conversions AS "Conv.|count", p.cpa AS "CPA|money",
  p.cpa_best_case AS "at best|money", p.cpa_worst_case AS "at worst|money", p.judged_cpa AS "Measured by|money", p.profit AS "Profit|money"
FROM mart.source_performance AS p ANTI JOIN mart.source_block_candidates AS b ON b.campaign_id = p.campaign_id AND b.source_id = p.source_id
WHERE p.spend > 0 ORDER BY p.spend DESC, p.campaign_id, p.source_id LIMIT 30
