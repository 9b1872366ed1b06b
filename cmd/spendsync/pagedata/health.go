package pagedata

import (
	"slices"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// whatToDo is what a day's state asks for.
var whatToDo = map[string]string{
	schema.StateFinal: "nothing", schema.StateComplete: "nothing; it may still be restated",
	schema.StateOpen:    "nothing; the day is not over",
	schema.StatePartial: "run spendsync sync: it was last read before it was over",
	schema.StateMissing: "run spendsync sync while it can be asked for",
	schema.StateLost:    "leave it out of averages: it can no longer be asked for",
}

func (q *reader) coverage(id string) page.Coverage {
	rows := q.rows(`SELECT c.report_date, c.state, c.spend, c.rows, epoch_us(c.last_read_at) AS read_at,
		c.days_until_unreachable
FROM ops.day_coverage AS c WHERE c.account_id = %s ORDER BY c.report_date`, id)
	c := page.Coverage{Why: "No day of the report has been planned yet: run 'spendsync sync'."}
	if n := maxWeeks * 7; len(rows) > n {
		c.Earlier, rows = len(rows)-n, rows[len(rows)-n:]
	}
	for _, r := range rows {
		d := page.Day{Date: r.date("report_date"), State: r.text("state"), Spend: r.number("spend"),
			Rows: r.number("rows"), ReadAt: r.instant("read_at"),
			Left: r.number("days_until_unreachable"), Do: whatToDo[r.text("state")]}
		if d.State == schema.StatePartial && d.Left.V == 0 {
			d.Do = "leave it out of averages: it is known in part and can no longer be asked for"
		}
		c.Days = append(c.Days, d)
	}
	return c
}

// health leaves out the checks that measure how long ago something was: a page shows the time as of
// which it holds, and does not change until the next sync.
func (q *reader) health(id string) page.Health {
	h := page.Health{Why: "No run has been published yet: run 'spendsync sync'."}
	for _, r := range q.rows(`SELECT r._run_id AS id, r.command, epoch_us(r.started_at) AS started_at,
		(epoch_us(r.finished_at) - epoch_us(r.started_at)) / 1e6 AS seconds, r.exit_code, r.outcome, r.message,
  r.days_planned, r.days_proven, r.days_changed, r.restatements, r.requests, r.retries, count(*) OVER () AS runs
FROM ops.run AS r WHERE r.account_id = %s ORDER BY r._run_id DESC LIMIT %d`, id, maxRuns) {
		h.Runs = append(h.Runs, page.Run{ID: r.text("id"), Command: r.text("command"), Outcome: r.text("outcome"),
			Message: r.text("message"), Started: r.instant("started_at"), Seconds: r.number("seconds"),
			ExitCode: r.int("exit_code"), Planned: r.number("days_planned"), Proven: r.number("days_proven"),
			Changed: r.number("days_changed"), Restated: r.number("restatements"),
			Requests: r.number("requests"), Retries: r.number("retries")})
		h.More = r.int("runs") - len(h.Runs)
	}
	slices.Reverse(h.Runs)
	for _, r := range q.rows(`SELECT d.check_name, d.severity, d.passed, d.value, d.threshold, d.unit, d.what_to_do
		FROM mart.data_quality AS d
WHERE d.account_id = %s AND d.unit <> 'hours' ORDER BY d.passed NULLS LAST, CASE d.severity WHEN 'error' THEN 0 WHEN
'warning' THEN 1 ELSE 2 END, d.check_name`, id) {
		c := page.Check{Name: r.text("check_name"), Severity: r.text("severity"), Known: r["passed"].Valid,
			Passed: r.bool("passed"), Value: r.number("value"), Threshold: r.number("threshold"), Unit: r.text("unit"),
			Do: r.text("what_to_do")}
		if c.Known && c.Passed {
			h.Passed++
		}
		h.Checks = append(h.Checks, c)
	}
	return h
}
