package job

import (
	"errors"
	"fmt"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// failed adds the line of a run that published nothing to the ledger, with the reason. It returns the run's result.
func (r *run) failed(cause error) *Result {
	code, text := exit.Of(cause), "nothing published: "+cli.OneLine(cause.Error())
	switch {
	case r.tally.hasNothing():
		code, text = r.tally.unpublishedCode(), r.tally.sentence(load.Preview{}, false, "")
	case code == exit.Stopped:
		text = "stopped by a signal before anything was published: " + cli.Interrupted(cause)
	}
	row := r.row(code, text+r.quarantineSentence(), false)
	if m := r.s.store.Manifest(); m != nil {
		row.Generation = m.Generation
	}
	if err := r.s.store.AppendRun(row, r.steps); err != nil {
		r.s.Log.Warn("the failed run could not be written to the ledger", "error", err)
	}
	res := r.result(row)
	if !r.tally.hasNothing() {
		res.Cause = cause
	}
	return res
}

// result returns the result of a run whose line is in the ledger.
func (r *run) result(row schema.Run) *Result {
	res := &Result{
		Quarantined: r.tidyQuarantine(row.Published),
		Run:         row, Coverage: r.s.store.Account().Coverage(r.s.Account, r.s.Now()),
		Failures: len(r.tally.failures()), Cause: r.tally.cause(int(row.ExitCode)),
	}
	if at, _, ok := r.s.API.KeyNotice(); ok && !at.IsZero() {
		res.KeyExpires = schema.Some(schema.InstantOf(at))
	}
	if r.settings != nil {
		res.UnreadFields = schema.Some(int64(len(r.settings.unread)))
	}
	if m := r.s.store.Manifest(); m != nil {
		res.WarehouseBytes = m.Warehouse.Bytes
	}
	return res
}

// tidyQuarantine removes replies from quarantine: those of the days that this run published, those of days that are too
// old, and then the oldest until the total size is below the limit. It returns the number of days that are left.
func (r *run) tidyQuarantine(published bool) (left int) {
	var errs []error
	if published {
		for _, day := range r.stagedDays {
			errs = append(errs, r.s.store.Quarantine().Remove(day))
		}
	}
	left, err := r.s.store.Quarantine().Prune(r.s.Now())
	if err = errors.Join(append(errs, err)...); err != nil {
		r.s.Log.Warn("the quarantine could not be tidied; the next run tries again", "error", err)
	}
	return left
}

// quarantineSentence returns the part of the message about days that this run put into quarantine: the folder, and what
// to do with the replies. It is empty if there are no such days.
func (r *run) quarantineSentence() string {
	text := ""
	if r.withheld > 0 {
		text = fmt.Sprintf("; the replies of %s are kept in %s until their account is proven",
			cli.Count(r.withheld, "day"), quarantine.FolderOf(r.s.Account))
	}
	if r.quarantined == 0 {
		return text
	}
	return text + fmt.Sprintf("; the replies are kept in %s: report the message with one of them to the maintainers "+
		"of spendsync; after an update 'spendsync repair replay' reads them again", quarantine.FolderOf(r.s.Account))
}
