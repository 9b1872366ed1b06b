package explain

import (
	"fmt"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
)

// Run explains how a run ended.
func Run(r *job.Result) Message {
	code, full := int(r.Run.ExitCode), r.Run.Message.V
	about := exit.About(code)
	m := Message{Happened: full, Detail: full, Safe: about.Safe, Do: about.Do}
	if r.Cause == nil || code == exit.OK || code == exit.Stopped {
		return m
	}
	m = Error(r.Cause, code)
	m.Detail, m.Safe = full, storeState(r)
	if code == exit.DayAtRisk {
		if risk := job.AtRisk(r.Coverage); len(risk) > 0 {
			m.Happened = fmt.Sprintf("%s leaves the reach in %s and is not proven: %s", risk[0].ReportDate,
				cli.Count(int(risk[0].DaysUntilUnreachable), "day"), m.Happened)
		}
		m.Do = "today: " + m.Do + "; after that the day is gone for good"
	}
	return m
}

// storeState describes what readers of the store see after a run.
func storeState(r *job.Result) string {
	row := r.Run
	switch {
	case !row.Published && row.Generation == 0:
		return "nothing was published, and nothing is stored yet"
	case !row.Published:
		return fmt.Sprintf("nothing was published; generation %d stands", row.Generation)
	}
	return fmt.Sprintf("what was stored stands; %d of %s of the report that were due are proven in generation %d",
		row.DaysProven, cli.Count(int(row.DaysPlanned), "day"), row.Generation)
}
