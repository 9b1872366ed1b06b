-- What changed in the settings of campaigns, creatives and sources, from what to what, and when?
-- Trap: settings are seen only when a run reads them: the change lies after not_before and not after seen_at, and several between two reads are one. What the first read found is not a change and is left out.
-- Shown: seen_at, place, reason, not_before, kind, change_type
-- Column seen_at: When the change was first seen.
-- Column not_before: When the value before was last confirmed: the change came later. NULL: nothing was known before.
-- Column kind: campaign, delivery, creative, source_rule or source_mode. Delivery changes by itself, and often.
-- Column campaign_name: Name of the campaign now. NULL: never readable.
-- Column creative_id: Creative that changed. NULL: something else changed.
-- Column source_id: Source that the rule is about. NULL: something else changed.
-- Column rule: blocked, allowed or bid_override, of a source_rule.
-- Column change_type: first_seen: it is new; changed; undescribed: what changed is in no column, see raw in the history; deleted: it is gone, or the rule was lifted; restored: it is back; stub or first_read: new, and known at first from the report alone.
-- Column field: Name of the setting that changed: one row for each. NULL: it appeared or disappeared as a whole, or what changed has no column.
-- Column old_value: Value before, as text; money in US dollars, instants in UTC. NULL: not set, or not known.
-- Column new_value: Value after, in the same way. NULL: not set any more.
-- Column is_review: Whether it is a step of the service's own review of a creative, and nobody's change.
-- Column creative_title: Title of the creative now. NULL: something else changed, or it was never readable.
-- Column place: What changed, by name: the campaign, and its creative or source.
-- Column reason: What happened, in a sentence, without the place.
WITH campaign AS (
  SELECT
    h.account_id, h.campaign_id, h.version_no, h.valid_from, h.changed_after, h.change_type, h.changed_columns,
    h.valid_from = min(h.valid_from) OVER (PARTITION BY h.account_id) AS is_first_look,
    MAP {
      'name': h.name, 'status': h.status, 'default_bid': h.default_bid::VARCHAR, 'daily_spend_limit': h.daily_spend_limit::VARCHAR,
      'target_cpa': h.target_cpa::VARCHAR, 'start_at': strftime(make_timestamp(epoch_us(h.start_at)), '%Y-%m-%dT%H:%M:%SZ'),
      'end_at': strftime(make_timestamp(epoch_us(h.end_at)), '%Y-%m-%dT%H:%M:%SZ'), 'country': h.country, 'states': h.states,
      'platforms': h.platforms, 'subscribed_more_than_minutes_ago': h.subscribed_more_than_minutes_ago::VARCHAR,
      'subscribed_less_than_minutes_ago': h.subscribed_less_than_minutes_ago::VARCHAR, 'min_age': h.min_age::VARCHAR,
      'max_age': h.max_age::VARCHAR, 'gender': h.gender, 'source_mode': h.source_mode,
      'unsupported_targeting': h.unsupported_targeting::VARCHAR
    } AS has
  FROM main.campaign_history AS h
),
creative AS (
  SELECT
    h.account_id, h.campaign_id, h.creative_id, h.version_no, h.valid_from, h.changed_after, h.change_type, h.changed_columns,
    h.valid_from = f.valid_from AS is_first_look,
    MAP {
      'campaign_id': h.campaign_id, 'title': h.title, 'message': h.message, 'link': h.link, 'image_id': h.image_id,
      'icon_id': h.icon_id, 'button1': h.button1, 'button2': h.button2, 'status': h.status,
      'rejection_reasons': h.rejection_reasons, 'rejection_comment': h.rejection_comment, 'image_url': h.image_url, 'icon_url': h.icon_url,
      'pending_status': h.pending_status, 'pending_title': h.pending_title, 'pending_message': h.pending_message,
      'pending_link': h.pending_link, 'pending_image_id': h.pending_image_id, 'pending_icon_id': h.pending_icon_id,
      'pending_button1': h.pending_button1, 'pending_button2': h.pending_button2,
      'pending_rejection_reasons': h.pending_rejection_reasons, 'pending_rejection_comment': h.pending_rejection_comment
    } AS has
  FROM main.creative_history AS h
  JOIN (SELECT c.account_id, min(c.valid_from) AS valid_from FROM main.creative_history AS c GROUP BY c.account_id) AS f ON f.account_id = h.account_id
  -- Most entities have only the version of the first read, which is no change.
  WHERE h.valid_from <> f.valid_from OR (h.account_id, h.creative_id) IN (SELECT (c.account_id, c.creative_id) FROM main.creative_history AS c WHERE c.version_no > 1)
),
looked AS (
  SELECT m.account_id, m.campaign_id, min(m.valid_from) AS first_look_at
  FROM main.source_mode_history AS m
  GROUP BY m.account_id, m.campaign_id
),
source_rule AS (
  SELECT
    r.*, CASE WHEN NOT p.is_deleted THEN p.bid::VARCHAR END AS old_bid
  FROM main.source_rule_history AS r
  LEFT JOIN looked AS l ON l.account_id = r.account_id AND l.campaign_id = r.campaign_id
  LEFT JOIN main.source_rule_history AS p
    ON p.account_id = r.account_id AND p.campaign_id = r.campaign_id AND p.source_id = r.source_id AND p.rule = r.rule
    AND p.version_no = r.version_no - 1
  WHERE NOT (r.version_no = 1 AND coalesce(r.valid_from <= l.first_look_at, false))
),
versioned AS (
  SELECT
    c.account_id, 'campaign' AS kind, c.campaign_id, NULL::VARCHAR AS creative_id, c.version_no,
    c.valid_from, c.changed_after, c.change_type, c.changed_columns, c.is_first_look, c.has,
    lag(c.has) OVER (PARTITION BY c.account_id, c.campaign_id ORDER BY c.version_no) AS had
  FROM campaign AS c
  UNION ALL
  SELECT
    c.account_id, 'creative' AS kind, c.campaign_id, c.creative_id, c.version_no,
    c.valid_from, c.changed_after, c.change_type, c.changed_columns, c.is_first_look, c.has,
    lag(c.has) OVER (PARTITION BY c.account_id, c.creative_id ORDER BY c.version_no) AS had
  FROM creative AS c
),
by_field AS (
  SELECT b.*, unnest(string_split(coalesce(b.changed_columns, ''), ',')) AS field
  FROM versioned AS b
  WHERE NOT (b.version_no = 1 AND b.is_first_look)
),
-- Settings that have one value per campaign.
state AS (
  SELECT
    d.account_id, d.campaign_id, d.version_no, d.valid_from, d.changed_after, d.change_type, 'delivery' AS kind,
    CASE WHEN d.changed_columns IS NOT NULL THEN 'delivery_status' END AS field, d.delivery_status AS value
  FROM main.campaign_delivery_history AS d
  UNION ALL
  SELECT
    m.account_id, m.campaign_id, m.version_no, m.valid_from, m.changed_after, m.change_type, 'source_mode',
    CASE WHEN m.changed_columns IS NOT NULL THEN 'source_mode' END, m.source_mode
  FROM main.source_mode_history AS m
),
change AS (
  SELECT
    b.account_id, b.valid_from AS seen_at, b.changed_after AS not_before, b.kind, b.campaign_id, b.creative_id,
    NULL::VARCHAR AS source_id, NULL::VARCHAR AS rule, b.change_type, nullif(b.field, '') AS field,
    map_extract(b.had, b.field)[1] AS old_value, map_extract(b.has, b.field)[1] AS new_value, b.version_no
  FROM by_field AS b
  UNION ALL
  SELECT
    s.account_id, s.valid_from, s.changed_after, s.kind, s.campaign_id, NULL, NULL, NULL, s.change_type, s.field,
    CASE WHEN s.field IS NOT NULL THEN lag(s.value) OVER (PARTITION BY s.account_id, s.campaign_id, s.kind ORDER BY s.version_no) END,
    CASE WHEN s.field IS NOT NULL THEN s.value END, s.version_no
  FROM state AS s
  QUALIFY s.version_no > 1
  UNION ALL
  SELECT
    r.account_id, r.valid_from AS seen_at, r.changed_after AS not_before, 'source_rule' AS kind, r.campaign_id, NULL AS creative_id,
    r.source_id, r.rule, r.change_type,
    CASE WHEN r.rule = 'bid_override' THEN 'bid' END AS field,
    CASE WHEN r.rule = 'bid_override' THEN r.old_bid END AS old_value,
    CASE WHEN r.rule = 'bid_override' AND NOT r.is_deleted THEN r.bid::VARCHAR END AS new_value, r.version_no
  FROM source_rule AS r
),
named AS (
  SELECT
    c.account_id, c.seen_at, c.not_before, c.kind, c.campaign_id, n.name AS campaign_name, c.creative_id, c.source_id, c.rule,
    c.change_type, c.field, c.old_value, c.new_value, c.version_no,
      -- Leave out the service's own review of a creative: no person made that change.
      c.kind = 'creative' AND (coalesce(starts_with(c.field, 'pending') OR starts_with(c.field, 'rejection'), false) OR coalesce(c.old_value, '') = 'pending_review' OR coalesce(c.new_value, '') = 'rejected') AS is_review,
      k.title AS creative_title,
      regexp_replace(c.old_value, '([.][0-9][0-9])0+$', '\1') AS old_text, regexp_replace(c.new_value, '([.][0-9][0-9])0+$', '\1') AS new_text
  FROM change AS c
  LEFT JOIN main.campaign_history AS n ON n.account_id = c.account_id AND n.campaign_id = c.campaign_id AND n.is_current
  LEFT JOIN main.creative_history AS k ON k.account_id = c.account_id AND k.creative_id = c.creative_id AND k.is_current
)
SELECT
  n.* EXCLUDE (old_text, new_text),
  coalesce(n.campaign_name, n.campaign_id) || coalesce(', creative ' || coalesce(n.creative_title, n.creative_id), '') || coalesce(', source ' || n.source_id, '') AS place,
  CASE
    WHEN n.rule = 'bid_override' THEN 'bid' || coalesce(' ' || n.old_text, '') || coalesce(' -> ' || n.new_text, ' -> none')
    WHEN n.rule IS NOT NULL THEN n.rule || CASE n.change_type WHEN 'deleted' THEN ' no more' ELSE '' END
    WHEN n.field IS NOT NULL THEN replace(n.field, '_', ' ') || ' ' || coalesce(n.old_text, 'none') || ' -> ' || coalesce(n.new_text, 'none')
    ELSE replace(n.kind, '_', ' ') || ' ' || CASE n.change_type WHEN 'first_seen' THEN 'is new' ELSE replace(n.change_type, '_', ' ') END
  END AS reason
FROM named AS n
