-- How much more the days of a side (is_recent) of sided differ from each other than counts of
-- chance would.
spread AS (
  SELECT e.account_id, e.campaign_id, greatest(1, sum(pow(e.conversions - e.expected, 2) / nullif(e.expected, 0)) / nullif(count(*) - 2, 0)) AS dispersion
  FROM (
    SELECT
      d.account_id, d.campaign_id, d.conversions,
      d.spend::DOUBLE * sum(d.conversions) OVER of_side / nullif(sum(d.spend) OVER of_side, 0)::DOUBLE AS expected
    FROM sided AS d
    WINDOW of_side AS (PARTITION BY d.account_id, d.campaign_id, d.is_recent)
  ) AS e
  GROUP BY e.account_id, e.campaign_id
),
