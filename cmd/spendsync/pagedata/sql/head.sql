SELECT
  epoch_us(max(c.last_read_at)) AS as_of, max(c.report_date) FILTER (WHERE c.state IN ('complete', 'final')) AS last_whole,
  (SELECT max(r._run_id) FROM ops.run AS r) AS run, (SELECT arg_max(r.version, r._run_id) FROM ops.run AS r) AS version
FROM ops.day_coverage AS c
