-- What is each source of each campaign expected to earn or to lose from here on, and how sure is that?
-- Trap: it is a judgement, not a sum: what is known of the source itself, of its campaign and of the same source in the account's other campaigns, each by what it tells. Conversions still to come are allowed for; older days weigh less, and days on which conversions had stopped (int.break_day) are left out. A payout of 0 is no worth.
-- Column evidence_spend: US dollars behind the judgement: the spend of the window whose conversions have arrived (int.source_window), and of the 90 days before it a half or a quarter.
-- Column evidence_conversions: Conversions of the same spend, counted in the same way.
-- Column evidence_conversions_elsewhere: Conversions of the same spend.
-- Column worth: US dollars that a conversion is worth (int.conversion_worth); without a payout and a target the campaign's own CPA.
-- Column worth_origin: payout, target_cpa, or campaign_cpa: nobody said what a conversion is worth. NULL: the campaign has no conversion either.
-- Column cpa_expected: US dollars per conversion to be expected of it, all evidence considered.
-- Column cpa_expected_low: Its true CPA lies above this with a probability of 95 % (threshold bound_z). NULL: next to nothing is known.
-- Column cpa_expected_high: Its true CPA lies below this with a probability of 95 %. NULL: there is no upper bound.
-- Column expected_return: US dollars that a dollar spent there brings back: worth divided by cpa_expected. NULL: worth is not known.
-- Column loss_probability: Probability, 0 to 1, that a dollar spent there brings back less than a dollar. NULL: worth is not known.
-- Column required_return: US dollars that a dollar has to bring back there: 1. In a campaign that spent all of its daily limit over the last whole days (3 days) what the campaign itself brings back, if that is more: a dollar that one source does not spend there goes to the others.
-- Column loss_per_day: US dollars that going on is expected to lose a day; below 0: to earn. NULL: worth is not known.
-- Column verdict: loses: it is expected to bring back less than a dollar by more than threshold block_loss, surer than threshold block_probability; earns: surely more than a dollar (threshold scale_probability, without a worth 0.98); unclear; unknown: some of its conversions are, or nobody knows what one is worth. With worth_origin campaign_cpa: loses means worse than its campaign, by a third and surer than 0.98.
-- Column reason: What a dollar brings back there and how sure that is, in a sentence.
-- Column at_stake: US dollars a day that it is expected to lose (verdict loses) or to earn (earns). NULL: neither is sure.
-- Column action: block: it loses (mart.source_block_candidates leaves out what costs nothing now). NULL: nothing.
WITH
-- The model (empirical Bayes). The conversions of a source in a campaign are a Poisson count. Its mean is spend, times
-- the campaign's rate (conversions per dollar), times the source's quality in that campaign, 1 for a typical source.
-- Rates vary around the account's level, and qualities around 1, as gamma variables, so that evidence adds up like
-- counts.
--   1. Level and variance of the account: by moments over its sources, weighted by the information in each source.
--   2. Rate of each campaign: its own counts, plus 1 / variance conversions at the account's level.
--   3. Prior quality: how the source did in the account's other campaigns, as far as campaigns share quality
--      (covariance of a source's deviations divided by their variance). The rest stays unknown, with its own variance.
--   4. Posterior quality: (quality / unknown + conversions) / (1 / unknown + the conversions expected from its spend).
-- The posterior is a gamma variable, too: its mean gives the expected CPA, its tail the probability of a loss.
level AS (
  SELECT
    -- A new account starts as if this many conversions had cost their worth: few, so that a week of data outweighs
    -- them.
    (2::DOUBLE /* prior_conversions */) AS prior_conversions,
    -- Prior variance of the quality of sources: sources_vary / sources_weight, a half (standard deviation 0.7). It
    -- counts as much as a source with about two conversions.
    (2.5::DOUBLE /* sources_vary */) AS sources_vary, (5::DOUBLE /* sources_weight */) AS sources_weight,
    -- Campaigns of one account are more alike: their prior variance is 1 / 10 (standard deviation about a third).
    (1::DOUBLE /* campaigns_vary */) AS campaigns_vary, (10::DOUBLE /* campaigns_weight */) AS campaigns_weight,
    -- Bounds of the variances. A lower variance would count like 200 or 300 conversions that never happened; 10 allows
    -- a factor of about 4.
    (0.005::DOUBLE /* least_variance */) AS least_variance, (0.003::DOUBLE /* least_campaign_variance */) AS least_campaign_variance,
    (10::DOUBLE /* most_variance */) AS most_variance,
    -- Campaigns never share all of a source's quality: some of it always stays unknown in a new campaign.
    (0.95::DOUBLE /* most_shared */) AS most_shared,
    -- Lower bound of the prior quality, however bad the source was elsewhere: a prior of 0 could never be corrected.
    (0.02::DOUBLE /* least_quality */) AS least_quality,
    max(t.value) FILTER (WHERE t.name = 'block_loss') AS loss, max(t.value) FILTER (WHERE t.name = 'block_probability') AS probability,
    -- block_loss_of_campaign: Where nobody said what a conversion is worth: a source is to be blocked when it is expected to be worse than its campaign by more than this.
    (0.33::DOUBLE /* block_loss_of_campaign */) AS campaign_loss,
    -- block_probability_of_campaign: Where nobody said what a conversion is worth: a source is to be blocked when it is more probable than this that it is worse than its campaign.
    (0.98::DOUBLE /* block_probability_of_campaign */) AS campaign_probability,
    -- block_min_worths: Of a source that spent less than this in all campaigns together nothing is said.
    (0.5::DOUBLE /* block_min_worths */) AS min_worths, max(t.value) FILTER (WHERE t.name = 'scale_probability') AS scale_probability,
    max(t.value) FILTER (WHERE t.name = 'bound_z') AS bound_z,
    -- limited_days: A campaign is at its daily limit when it spent all of it (pacing_limited) over so many whole days, the last ones.
    (3::DOUBLE /* limited_days */)::INTEGER AS limited_days, (0.95::DOUBLE /* pacing_limited */) AS limited
  FROM int.threshold AS t
),
span AS (
  SELECT
    w.account_id, any_value(w.window_from) AS window_from, any_value(w.window_to) AS window_to, any_value(w.days_known) AS days_known,
    count(*) FILTER (WHERE w.report_date > w.window_to - 8) AS days_lately, count(m.conversions_share) < count(*) AS is_too_early
  FROM int.performance_window AS w
  LEFT JOIN int.day_maturity AS m ON m.account_id = w.account_id AND m.report_date = w.report_date
  GROUP BY w.account_id
),
evidence AS (
  SELECT
    w.account_id, w.campaign_id, w.source_id, w.spend, w.conversions,
    -- If it is unknown how many conversions of some spend are still to come, the sums are unknown.
    CASE WHEN NOT p.is_too_early OR w.counted_conversions IS NULL THEN greatest(0, greatest(0, coalesce(w.arrived_spend, 0)) + coalesce(w.earlier_spend, 0)::DOUBLE) END AS spent,
    -- The model has no credits: where they exceed everything else, the count is 0.
    greatest(0, (coalesce(w.counted_conversions, 0) + coalesce(w.earlier_conversions, 0))::DOUBLE) AS brought,
    w.counted_spend, w.counted_conversions, w.spend_lately AS spent_lately
  FROM int.source_window AS w
  JOIN span AS p ON p.account_id = w.account_id
),
of_campaign AS (
  SELECT
    e.account_id, e.campaign_id, sum((1e6 * e.spent)::BIGINT)::DOUBLE / 1e6 AS spent, sum(e.brought) AS brought,
    sum(e.counted_spend)::DOUBLE / nullif(sum(e.counted_conversions), 0) AS campaign_cpa, any_value(v.worth) AS worth, any_value(v.worth_origin) AS worth_origin
  FROM evidence AS e
  LEFT JOIN int.conversion_worth AS v ON v.account_id = e.account_id AND v.campaign_id = e.campaign_id AND v.source_id = ''
  GROUP BY e.account_id, e.campaign_id
),
-- The CPA that breaks even: the worth of a conversion or, if that is unknown, the account's CPA.
worthy AS (
  SELECT
    c.*, nullif(coalesce(c.worth, sum((1e6 * c.spent)::BIGINT) OVER of_account / 1e6::DOUBLE / nullif(sum(c.brought) OVER of_account, 0)), 0) AS usual_cpa
  FROM of_campaign AS c
  WINDOW of_account AS (PARTITION BY c.account_id)
),
sample AS (
  SELECT e.*, c.usual_cpa, e.spent / c.usual_cpa AS worth_conversions
  FROM evidence AS e
  JOIN worthy AS c ON c.account_id = e.account_id AND c.campaign_id = e.campaign_id
  WHERE c.usual_cpa IS NOT NULL
),
-- A first estimate of the variance of the sources' quality, by moments over the whole account.
variation AS (
  SELECT
    m.account_id, m.level,
    least(p.most_variance, greatest(p.least_variance, (m.squares - 2 * m.level * m.products + m.level * m.level * m.worth_squares - m.level * m.worth_conversions + p.sources_vary)
      / (m.level * m.level * m.worth_squares + p.sources_weight))) AS variance
  FROM (
    SELECT
      s.account_id, sum(s.brought * s.brought) AS squares, sum((1e6 * s.brought * s.worth_conversions)::BIGINT)::DOUBLE / 1e6 AS products,
      sum((1e6 * s.worth_conversions * s.worth_conversions)::BIGINT)::DOUBLE / 1e6 AS worth_squares, sum((1e6 * s.worth_conversions)::BIGINT)::DOUBLE / 1e6 AS worth_conversions,
      (sum(s.brought) + any_value(l.prior_conversions)) / (sum((1e6 * s.worth_conversions)::BIGINT)::DOUBLE / 1e6 + any_value(l.prior_conversions)) AS level
    FROM sample AS s
    CROSS JOIN level AS l
    GROUP BY s.account_id
  ) AS m
  CROSS JOIN level AS p
),
-- The weight of a source as a sample of its campaign. Its n conversions vary by chance (variance n) and with its
-- quality (variance v * n * n). So they tell as much about other sources as n / (1 + v * n) conversions of different
-- sources. Without this weight, the few largest sources would determine all means and variances.
weighted AS (
  SELECT s.*, 1 / (1 + v.variance * v.level * s.worth_conversions) AS weight
  FROM sample AS s
  JOIN variation AS v ON v.account_id = s.account_id
),
weighted_campaign AS (
  SELECT
    s.account_id, s.campaign_id, sum((1e6 * s.weight * s.worth_conversions)::BIGINT)::DOUBLE / 1e6 AS worth_conversions,
    sum((1e6 * s.weight * s.brought)::BIGINT)::DOUBLE / 1e6 AS brought
  FROM weighted AS s
  GROUP BY s.account_id, s.campaign_id
),
of_account AS (
  SELECT
    c.account_id, (sum((1e6 * c.brought)::BIGINT)::DOUBLE / 1e6 + any_value(l.prior_conversions))
      / (sum((1e6 * c.worth_conversions)::BIGINT)::DOUBLE / 1e6 + any_value(l.prior_conversions)) AS level
  FROM weighted_campaign AS c
  CROSS JOIN level AS l
  GROUP BY c.account_id
),
-- By moments: how much the account's campaigns differ beyond chance.
differing_campaigns AS (
  SELECT
    c.account_id,
    least(any_value(l.most_variance), greatest(any_value(l.least_campaign_variance),
      (sum((1e6 * (pow(c.brought - c.worth_conversions * a.level, 2) - c.worth_conversions * a.level))::BIGINT)::DOUBLE / 1e6 + any_value(l.campaigns_vary))
      / (sum((1e6 * pow(c.worth_conversions * a.level, 2))::BIGINT)::DOUBLE / 1e6 + any_value(l.campaigns_weight)))) AS variance
  FROM weighted_campaign AS c
  CROSS JOIN level AS l
  JOIN of_account AS a ON a.account_id = c.account_id
  GROUP BY c.account_id
),
-- Campaigns at their daily limit. Only the present limit counts, because the next day's spend depends on it.
at_limit AS (
  SELECT s.account_id, s.campaign_id
  FROM int.campaign_spend AS s
  CROSS JOIN level AS l
  JOIN span AS p ON p.account_id = s.account_id AND s.report_date > p.window_to - l.limited_days AND s.report_date <= p.window_to
  JOIN main.campaign_history AS h ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.is_current AND h.daily_spend_limit > 0
  GROUP BY s.account_id, s.campaign_id
  -- Compare the sum of the days: if the service resets limits at another hour than midnight in Chicago, one day may
  -- exceed its limit, and the next day may stay below.
  HAVING sum(s.spend)::DOUBLE >= any_value(l.limited * l.limited_days * h.daily_spend_limit::DOUBLE)
),
-- rate: conversions per dollar of a typical source. spend_rate: conversions per dollar of the campaign's spend, to
-- which large sources contribute more.
campaign AS (
  SELECT
    c.account_id, c.campaign_id, 1 / (1 / d.variance + w.brought) AS unknown,
    (1 / d.variance + w.brought) / (1 / d.variance + w.worth_conversions * a.level) * a.level / c.usual_cpa AS rate,
    (1 / d.variance + c.brought) / (1 / d.variance + c.spent / c.usual_cpa * v.level) * v.level / c.usual_cpa AS spend_rate,
    coalesce(c.worth, c.campaign_cpa) AS worth, CASE WHEN c.worth IS NOT NULL THEN c.worth_origin WHEN c.campaign_cpa IS NOT NULL THEN 'campaign_cpa' END AS worth_origin
  FROM worthy AS c
  JOIN weighted_campaign AS w ON w.account_id = c.account_id AND w.campaign_id = c.campaign_id
  JOIN of_account AS a ON a.account_id = c.account_id
  JOIN differing_campaigns AS d ON d.account_id = c.account_id
  JOIN variation AS v ON v.account_id = c.account_id
),
counted AS (
  SELECT
    s.*, c.rate, c.spend_rate, c.unknown AS campaign_unknown, c.worth, c.worth_origin, s.spent * c.rate AS expected,
    s.weight * s.spent * c.rate AS sampled, s.weight * (s.brought - s.spent * c.rate) AS beyond
  FROM weighted AS s
  JOIN campaign AS c ON c.account_id = s.account_id AND c.campaign_id = s.campaign_id
  WHERE s.source_id <> '' AND c.rate > 0
),
of_source AS (
  SELECT
    c.account_id, c.source_id, sum((1e6 * c.spent)::BIGINT)::DOUBLE / 1e6 AS spent, sum(c.brought) AS brought,
    sum((1e6 * c.expected)::BIGINT)::DOUBLE / 1e6 AS expected, sum((1e6 * c.expected * c.expected)::BIGINT)::DOUBLE / 1e6 AS expected_squares,
    sum((1e6 * c.weight * c.sampled)::BIGINT)::DOUBLE / 1e6 AS chance,
    sum((1e6 * c.sampled)::BIGINT)::DOUBLE / 1e6 AS sampled, sum((1e6 * c.beyond)::BIGINT)::DOUBLE / 1e6 AS beyond,
    sum((1e6 * c.sampled * c.sampled)::BIGINT)::DOUBLE / 1e6 AS sampled_squares, sum((1e6 * c.beyond * c.beyond)::BIGINT)::DOUBLE / 1e6 AS beyond_squares
  FROM counted AS c
  GROUP BY c.account_id, c.source_id
),
-- By moments: how much sources differ beyond chance, and how much of the difference campaigns share.
differing AS (
  SELECT
    s.account_id,
    least(any_value(l.most_variance), greatest(any_value(l.least_variance), (sum((1e6 * (s.beyond_squares - s.chance))::BIGINT)::DOUBLE / 1e6 + any_value(l.sources_vary))
      / (sum((1e6 * s.sampled_squares)::BIGINT)::DOUBLE / 1e6 + any_value(l.sources_weight)))) AS variance,
    sum((1e6 * (s.beyond * s.beyond - s.beyond_squares))::BIGINT)::DOUBLE / 1e6
      / (greatest(0, sum((1e6 * (s.sampled * s.sampled - s.sampled_squares))::BIGINT)::DOUBLE / 1e6) + any_value(l.sources_weight)) AS covariance
  FROM of_source AS s
  CROSS JOIN level AS l
  GROUP BY s.account_id
),
-- The best linear estimate of a source's quality from its other campaigns (pull), and the variance that stays unknown.
elsewhere AS (
  SELECT
    c.*, d.variance, least(l.most_shared * d.variance, greatest(0, d.covariance)) AS shared, l.least_quality, s.spent AS source_spent,
    s.spent - c.spent AS spent_elsewhere, s.brought - c.brought AS brought_elsewhere,
    greatest(0, s.expected - c.expected) AS expected_elsewhere,
    shared / ((shared + (d.variance - shared) * least(1, greatest(0, s.expected_squares - c.expected * c.expected) / nullif(expected_elsewhere * expected_elsewhere, 0)))
      * expected_elsewhere + 1) AS pull
  FROM counted AS c
  JOIN of_source AS s ON s.account_id = c.account_id AND s.source_id = c.source_id
  JOIN differing AS d ON d.account_id = c.account_id
  CROSS JOIN level AS l
),
prior AS (
  SELECT
    g.*,
    greatest(g.least_quality, 1 + coalesce(g.pull * (g.brought_elsewhere - g.expected_elsewhere), 0)) AS quality,
    g.variance - coalesce(g.pull * g.expected_elsewhere * g.shared, 0) + g.campaign_unknown AS unknown
  FROM elsewhere AS g
),
posterior AS (
  SELECT
    p.*, coalesce(v.worth, p.worth) AS held_to, coalesce(v.worth_origin, p.worth_origin) AS held_to_origin,
    p.quality / p.unknown + p.brought AS shape, (1 / p.unknown + p.expected) / p.rate AS inverse_scale
  FROM prior AS p
  LEFT JOIN int.conversion_worth AS v ON v.account_id = p.account_id AND v.campaign_id = p.campaign_id AND v.source_id = p.source_id
),
-- Wilson and Hilferty: the cube root of a gamma variable is approximately normal.
scored AS (
  SELECT
    p.*, p.inverse_scale / p.shape AS cpa, (safe_pow(p.inverse_scale / p.held_to / p.shape, 1.0 / 3) - 1 + 1 / (9 * p.shape)) * 3 * safe_sqrt(p.shape) AS z_score
  FROM posterior AS p
),
judged AS (
  SELECT
    s.*, s.held_to / s.cpa AS expected_return,
    -- The normal distribution function by Abramowitz and Stegun, formula 26.2.17.
    abs(CASE WHEN s.z_score > 0 THEN 1 ELSE 0 END - exp(-s.z_score * s.z_score / 2) / 2.5066282746310002 * s.k
      * (0.319381530 + s.k * (-0.356563782 + s.k * (1.781477937 + s.k * (-1.821255978 + s.k * 1.330274429))))) AS loss_probability,
    CASE WHEN s.held_to_origin = 'campaign_cpa' THEN l.campaign_loss ELSE l.loss END AS loss,
    CASE WHEN s.held_to_origin = 'campaign_cpa' THEN l.campaign_probability ELSE l.probability END AS probability,
    l.min_worths, l.scale_probability, l.bound_z
  FROM (SELECT s.*, 1 / (1 + 0.2316419 * least(40, abs(s.z_score))) AS k FROM scored AS s) AS s
  CROSS JOIN level AS l
),
stated AS (
  SELECT
    j.account_id, j.campaign_id, j.source_id, p.window_from, p.window_to, p.days_known,
    j.spent AS evidence_spend, j.brought AS evidence_conversions, j.spent_elsewhere AS evidence_spend_elsewhere, j.brought_elsewhere AS evidence_conversions_elsewhere,
    j.held_to AS worth, j.held_to_origin AS worth_origin, j.cpa AS cpa_expected,
    CASE WHEN 1 - 1 / (9 * j.shape) > -j.bound_z / (3 * safe_sqrt(j.shape)) THEN
      j.inverse_scale / (j.shape * pow(1 - 1 / (9 * j.shape) + j.bound_z / (3 * safe_sqrt(j.shape)), 3))
    END AS cpa_expected_low,
    CASE WHEN 1 - 1 / (9 * j.shape) > j.bound_z / (3 * safe_sqrt(j.shape)) THEN
      j.inverse_scale / (j.shape * pow(1 - 1 / (9 * j.shape) - j.bound_z / (3 * safe_sqrt(j.shape)), 3))
    END AS cpa_expected_high,
    j.expected_return, j.loss_probability,
    CASE WHEN a.account_id IS NOT NULL AND j.worth_origin <> 'campaign_cpa' THEN greatest(1, j.spend_rate * j.worth) ELSE 1 END AS required_return,
    j.spent_lately::DOUBLE / nullif(p.days_lately, 0) AS spend_per_day,
    j.spent_lately::DOUBLE / nullif(p.days_lately, 0) * (1 - j.expected_return) + 0.0 AS loss_per_day,
    CASE
      -- Until some days of the account have been read again later, it is unknown how many conversions are still to
      -- come.
      WHEN j.held_to IS NULL OR p.is_too_early OR (j.spend IS NOT NULL AND j.conversions IS NULL) THEN 'unknown'
      WHEN j.source_spent >= j.min_worths * j.held_to AND j.expected_return < 1 - j.loss AND j.loss_probability > j.probability THEN 'loses'
      WHEN j.loss_probability < 1 - CASE WHEN j.held_to_origin = 'campaign_cpa' THEN j.probability ELSE j.scale_probability END THEN 'earns'
      ELSE 'unclear'
    END AS verdict
  FROM judged AS j
  JOIN span AS p ON p.account_id = j.account_id
  LEFT JOIN at_limit AS a ON a.account_id = j.account_id AND a.campaign_id = j.campaign_id
)
SELECT
  s.*,
  CASE s.verdict
    WHEN 'unknown' THEN 'some of its conversions are not known, or nobody said what one is worth'
    ELSE format('a dollar is expected to bring back ${:.2f}, and less than a dollar with a probability of {:.0f} %', s.expected_return, 100 * s.loss_probability)
  END AS reason,
  CASE WHEN s.verdict IN ('loses', 'earns') THEN abs(s.loss_per_day) END AS at_stake,
  CASE WHEN s.verdict = 'loses' THEN 'block' END AS action
FROM stated AS s
