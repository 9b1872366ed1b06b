-- What should be done first, and what is at stake a day?
-- Trap: what is at stake is expected profit or loss, never spend; NULL: not known, which is not 0. Several rows may be about the same money: a campaign that loses and its sources that do.
-- Shown: place_no, place, at_stake, action, verdict
-- Column place_no: Place in the list: an account that is out of money, then what broke and money that stops soon, then by what is at stake. Without money the breaks that it causes are left out.
-- Column kind: break, runway, campaign, change, sources, limit, creatives or bids.
-- Column campaign_id: Campaign that it is about. NULL: the account, or several campaigns.
-- Column campaign_name: Name of the campaign. NULL: the same, or never readable.
-- Column place: What it is about, in words.
-- Column rows: Rows of the view behind it: sources in campaigns, creatives, bids; else 1.
-- Column verdict: The verdict of the view behind it.
-- Column at_stake: US dollars a day of expected profit or loss. NULL: not known.
-- Column action: What to do.
-- Column view_name: The view behind it.
WITH found AS (
  SELECT b.account_id, 1 AS place_no, 'break' AS kind, b.campaign_id, b.campaign_name, NULL::VARCHAR AS place, 1 AS rows, b.verdict, b.reason, b.at_stake, b.action, 'mart.breaks' AS view_name
  FROM mart.breaks AS b
  -- If the account has no money, that explains the campaigns that stopped for lack of it.
  LEFT JOIN mart.budget_runway AS r ON r.account_id = b.account_id AND r.verdict = 'stopped'
  WHERE r.account_id IS NULL OR b.kind IN ('spend_jumped', 'ctr_collapsed')
  UNION ALL
  SELECT r.account_id, 2, 'runway', NULL, NULL, 'the balance', 1, r.verdict, r.reason, r.at_stake, r.action, 'mart.budget_runway'
  FROM mart.budget_runway AS r
  UNION ALL
  SELECT p.account_id, 3, 'campaign', p.campaign_id, p.campaign_name, NULL, 1, p.verdict, p.reason, p.at_stake, p.action, 'mart.campaign_performance'
  FROM mart.campaign_performance AS p
  WHERE p.verdict = 'loses'
  UNION ALL
  -- A recent change that is in force and made conversions dearer: judge it before making another one.
  SELECT i.account_id, 3, 'change', i.campaign_id, i.campaign_name, NULL, 1, i.verdict, 'after the change of ' || replace(i.changed_columns, '_', ' ') || ' ' || i.reason, i.at_stake, i.action, 'mart.change_impact'
  FROM mart.change_impact AS i
  JOIN main.campaign_history AS h ON h.account_id = i.account_id AND h.campaign_id = i.campaign_id AND h.version_no = i.version_no AND h.is_current
  JOIN main.today AS t ON t.account_id = i.account_id AND epoch(i.seen_at) > epoch(t.as_of_at) - 86400 * 14
  WHERE i.verdict = 'dearer' AND h.status = 'active'
  UNION ALL
  SELECT
    b.account_id, 4, 'sources', NULL, NULL, format('{} {} in {} {}', any_value(b.sources), CASE any_value(b.sources) WHEN 1 THEN 'source' ELSE 'sources' END, any_value(b.campaigns), CASE any_value(b.campaigns) WHEN 1 THEN 'campaign' ELSE 'campaigns' END),
    count(*), 'block', 'a dollar brings back less there than it should', sum(b.at_stake ORDER BY b.at_stake), 'block them, those that lose most first', 'mart.source_block_candidates'
  FROM mart.source_block_candidates AS b
  GROUP BY b.account_id
  UNION ALL
  SELECT l.account_id, 5, 'limit', l.campaign_id, l.campaign_name, NULL, 1, l.verdict, l.reason, l.at_stake, l.action, 'campaigns_at_limit'
  FROM int.campaign_limit AS l
  WHERE l.verdict = 'held_back'
  UNION ALL
  SELECT
    f.account_id, 6, 'creatives', CASE WHEN count(DISTINCT f.campaign_id) = 1 THEN any_value(f.campaign_id) END, CASE WHEN count(DISTINCT f.campaign_id) = 1 THEN any_value(f.campaign_name) END,
    format('{} {}', count(*), CASE count(*) WHEN 1 THEN 'creative' ELSE 'creatives' END), count(*), 'tired', 'clicks per impression fell further than chance explains', sum(f.at_stake ORDER BY f.at_stake), 'replace those at the top of the list', 'mart.creative_fatigue'
  FROM mart.creative_fatigue AS f
  WHERE f.verdict IN ('exhausted', 'fatiguing') AND f.action IS NOT NULL
  GROUP BY f.account_id
  UNION ALL
  SELECT
    b.account_id, 7, 'bids', NULL, NULL, format('{} {}', count(*), CASE count(*) WHEN 1 THEN 'bid' ELSE 'bids' END), count(*), 'bid_less', 'clicks there cost more than they are expected to bring', sum(b.at_stake ORDER BY b.at_stake), 'lower them', 'mart.bid_vs_cpc'
  FROM mart.bid_vs_cpc AS b
  WHERE b.verdict = 'bid_less'
  GROUP BY b.account_id
)
SELECT
  f.account_id, row_number() OVER (PARTITION BY f.account_id ORDER BY f.kind = 'runway' AND f.verdict = 'stopped' DESC, f.kind = 'break' DESC, f.verdict = 'stops_soon' DESC, f.at_stake DESC NULLS LAST, f.place_no, f.campaign_id) AS place_no,
  f.kind, f.campaign_id, f.campaign_name, coalesce(f.place, f.campaign_name, f.campaign_id) AS place, f.rows, f.verdict, f.reason, f.at_stake, f.action, f.view_name
FROM found AS f
WHERE f.action IS NOT NULL
