-- On which days did a campaign's conversions break, so that nothing is concluded from them?
-- Trap: a break is days in a row that brought 0.65 or less of the conversions that the campaign's clicks brought before, beyond chance and the days' own spread: tracking, the landing page or the offer may have broken. Dearer clicks are no break. The days of a break that is over stay here for 120 days (four times 30 days). Conversions still to come are allowed for, by the account's own curve (mart.day_maturity).
-- Column kind: conversions_stopped: the break brought a fifth or less of what was expected; conversions_fell: up to 0.65.
-- Column since_date: First Chicago day of the break.
-- Column until_date: Last Chicago day of the break, as far as is known.
-- Column is_over: Whether the days after it are as before it: they bring ten conversions or more, and more than 0.75 of the earlier rate.
-- Column observed: Conversions in all days of the break.
-- Column expected: What the days before would have led to.
-- Column z_score: How far the break is from chance and the usual spread of the days, in standard deviations.
-- Of whole days.
-- Column verdict: over: the days after it are as before it; else the kind.
-- Column reason: What happened, in a sentence, without the campaign's name.
-- Column at_stake: US dollars a day that the conversions missed were worth. NULL: nobody said what one is worth.
-- Column action: What to do. NULL: it is over.
WITH maturity AS (
  SELECT m.* FROM mart.day_maturity AS m
),
found AS (
  WITH
-- Part: break_day
)
SELECT
  f.*, CASE WHEN f.is_over THEN 'over' ELSE f.kind END AS verdict,
  CASE f.kind WHEN 'conversions_stopped' THEN 'conversions stopped' ELSE 'conversions fell' END
    || CASE WHEN f.is_over THEN ' from ' || f.since_date || ' to ' || f.until_date ELSE ' on ' || f.since_date END
    || format(': {} came where {} were to be expected', f.observed::BIGINT, round(f.expected)::BIGINT) AS reason,
  (f.expected - f.observed) * w.worth::DOUBLE / (f.until_date - f.since_date + 1) AS at_stake,
  CASE WHEN NOT f.is_over THEN 'see whether its conversions still reach the service; until then nothing is concluded from its CPA' END AS action
FROM found AS f
LEFT JOIN mart.conversion_worth AS w ON w.account_id = f.account_id AND w.campaign_id = f.campaign_id AND w.source_id = ''
