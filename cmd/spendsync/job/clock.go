package job

import (
	"time"

	"spendsync/cmd/spendsync/exit"
)

// How far this machine's clock and the service's may differ. Behind, a clock does no
// harm: days are only read again.
const (
	clockWarning = 5 * time.Minute
	maxAhead     = time.Hour
)

// refuseClockAhead stops a run whose clock is ahead of the service's: it would treat
// an unfinished day as complete and a readable day as lost.
func (r *run) refuseClockAhead() error {
	theirs, ok := r.Report.ServiceTime()
	if !ok {
		return nil
	}
	ours := r.Now()
	switch ahead := ours.Sub(theirs).Round(time.Second); {
	case ahead > maxAhead:
		return exit.Usagef(
			"this machine's clock is %v ahead of the service's, %s against %s: correct it, or days would count as over that go on",
			ahead, ours.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339))
	case ahead.Abs() > clockWarning:
		r.Log.Warn("this machine's clock and the service's differ",
			"ahead", ahead.String(), "ours", ours.UTC(), "theirs", theirs.UTC())
	}
	return nil
}
