-- Do this first
-- Block todo
SELECT CASE WHEN t.kind = 'runway' THEN upper(t.action[1]) || t.action[2:] || ': ' || t.reason
  ELSE coalesce(label(t.campaign_id), t.place) || ': ' || t.action || coalesce(' (' || t.reason || ')', '') END || CASE t.kind WHEN 'sources' THEN '. Lists to paste are in the section “Which sources earn their money?”' ELSE '' END AS text, t.at_stake
FROM mart.to_do AS t ORDER BY t.place_no LIMIT 3
