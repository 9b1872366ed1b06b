-- What did each creative spend and bring at each source on each Chicago day, as known now?
-- Trap: a day that goes on (is_open) or was last read before it was over (not is_complete) has only what was there at its last read; conversions still arrive for days after: conversions_expected allows for those to come. Days that nobody read have no rows (mart.coverage).
-- Column campaign_name: Name of the campaign now, else as the report gave it.
-- Column is_open: Whether the day was still going on when it was last read.
-- Column is_complete: Whether the day is proven complete.
-- Column is_final: Whether the day is out of the report's reach, so that nothing can change any more.
-- Column conversions_share: Share of the day's final conversions that has arrived by its age (mart.day_maturity). NULL: not known, or the day is not proven complete.
-- Column conversions_expected: Conversions with those still to come: told so far, divided by conversions_share. A sum over many rows is as good as the share; of one row it is a guess. NULL: either is not known.
SELECT
  s.account_id, s.report_date, s.campaign_id, coalesce(h.name, s.campaign_name) AS campaign_name, s.creative_id, s.source_id,
  s.spend, s.clicks, s.impressions, s.conversions,
  s.conversions / nullif(m.conversions_share, 0) AS conversions_expected, m.conversions_share,
  c.state = 'open' AS is_open, c.state IN ('complete', 'final') AS is_complete, c.state = 'final' AS is_final
FROM main.spend_daily AS s
LEFT JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date = s.report_date
LEFT JOIN mart.day_maturity AS m ON m.account_id = s.account_id AND m.report_date = s.report_date
LEFT JOIN main.campaign_history AS h ON h.account_id = s.account_id AND h.campaign_id = s.campaign_id AND h.is_current
