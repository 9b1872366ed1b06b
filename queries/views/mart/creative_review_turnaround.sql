-- How long did each review of a creative, or of the new version of a running one, take, and which are overdue?
-- Trap: statuses are seen only when a run reads them, so each duration has bounds; a review that began and ended between two reads is left out.
-- Column reviewed: creative; or version: the edited version of a creative that ran on in its old one meanwhile.
-- Column title: Title that was reviewed.
-- Column outcome: Status after the review (active, paused, rejected, draft, archived), deleted, or pending while it goes on. Of a version: rejected, or the status of the creative once no version waits any more.
-- Column pending_after: The creative was not yet pending at this instant. NULL: nothing was known before, so the longest time is unknown.
-- Column pending_by: The creative was first seen as pending at this instant.
-- Column decided_after: It was still pending at this instant, the last time it was seen so.
-- Column decided_by: It was first seen as decided at this instant. NULL while it is pending.
-- Column hours_min: The review took at least this many hours: from pending_by to decided_after.
-- Column hours_max: The review took at most this many hours: from pending_after to decided_by. NULL while it is pending, and where pending_after is.
-- Column is_overdue: Whether it surely took, or has taken, longer than review_hours: hours_min is above them.
-- Column resubmissions: Versions that were seen pending after the first: edited and submitted again; the review may have started over with the last.
-- Column rejection_reasons: Why it was rejected, sorted, comma-joined. NULL where it was not.
WITH versions AS (
  SELECT
    h.account_id, h.campaign_id, h.creative_id, 'creative' AS reviewed, h.version_no, h.title, h.valid_from, h.changed_after, h.last_confirmed_at,
    CASE WHEN h.is_deleted THEN 'deleted' ELSE h.status END AS status, h.rejection_reasons, h.rejection_comment, true AS is_edit
  FROM main.creative_history AS h
  WHERE h.is_deleted OR h.status IS NOT NULL
  UNION ALL
  SELECT
    h.account_id, h.campaign_id, h.creative_id, 'version', h.version_no, h.pending_title, h.valid_from, h.changed_after, h.last_confirmed_at,
    CASE
      WHEN h.is_deleted THEN 'deleted'
      WHEN h.pending_status IS NOT NULL THEN h.pending_status
      WHEN h.status = 'pending_review' THEN 'resubmitted'
      ELSE h.status
    END, h.pending_rejection_reasons, h.pending_rejection_comment, contains(h.changed_columns, 'pending_')
  FROM main.creative_history AS h
  WHERE h.is_deleted OR h.status IS NOT NULL OR h.pending_status IS NOT NULL
),
marked AS (
  SELECT
    v.*,
    lag(v.status) OVER by_version AS status_before,
    lead(v.status) OVER by_version AS status_after,
    lead(v.valid_from) OVER by_version AS decided_by,
    lead(v.changed_after) OVER by_version AS confirmed_until,
    lead(v.rejection_reasons) OVER by_version AS reasons_after,
    lead(v.rejection_comment) OVER by_version AS comment_after
  FROM versions AS v
  WINDOW by_version AS (PARTITION BY v.account_id, v.creative_id, v.reviewed ORDER BY v.version_no)
),
numbered AS (
  SELECT
    m.*,
    count(*) FILTER (WHERE m.status_before IS DISTINCT FROM 'pending_review')
      OVER (PARTITION BY m.account_id, m.creative_id, m.reviewed ORDER BY m.version_no ROWS UNBOUNDED PRECEDING) AS review_no
  FROM marked AS m
  WHERE m.status = 'pending_review'
),
reviews AS (
  SELECT
    n.account_id, n.creative_id, n.reviewed, n.review_no,
    arg_max(n.campaign_id, n.version_no) AS campaign_id,
    arg_max(n.title, n.version_no) AS title,
    count(*) FILTER (WHERE n.is_edit AND n.status_before = 'pending_review') AS resubmissions,
    arg_min(n.valid_from, n.version_no) AS pending_by,
    arg_max({'status': n.status_after, 'decided_by': n.decided_by, 'decided_after': coalesce(n.confirmed_until, n.last_confirmed_at),
      'reasons': n.reasons_after, 'comment': n.comment_after}, n.version_no) AS last_version,
    arg_min({'changed_after': n.changed_after}, n.version_no) AS first_version
  FROM numbered AS n
  GROUP BY n.account_id, n.creative_id, n.reviewed, n.review_no
),
bounded AS (
  SELECT
    r.*,
    coalesce(r.last_version.status, 'pending') AS outcome,
    r.first_version.changed_after AS pending_after,
    r.last_version.decided_after AS decided_after,
    r.last_version.decided_by AS decided_by,
    greatest(0, epoch(r.last_version.decided_after) - epoch(r.pending_by)) / 3600 AS hours_min,
    (epoch(r.last_version.decided_by) - epoch(r.first_version.changed_after)) / 3600 AS hours_max
  FROM reviews AS r
)
SELECT
  b.account_id, b.campaign_id, c.name AS campaign_name, b.creative_id, b.title, b.outcome,
  b.pending_after, b.pending_by, b.decided_after, b.decided_by, b.hours_min, b.hours_max,
  b.hours_min > (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'review_hours') AS is_overdue,
  b.resubmissions,
  CASE WHEN b.outcome = 'rejected' THEN b.last_version.reasons END AS rejection_reasons,
  CASE WHEN b.outcome = 'rejected' THEN b.last_version.comment END AS rejection_comment,
  b.reviewed
FROM bounded AS b
LEFT JOIN main.campaign_history AS c ON c.account_id = b.account_id AND c.campaign_id = b.campaign_id AND c.is_current
