package job

import (
	"fmt"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/schema"
)

// settingsSentence describes the settings that were read; it is empty before they are.
func (r *run) settingsSentence() string {
	if r.settings == nil {
		return ""
	}
	text := fmt.Sprintf("; settings of %s read, %s", phrase.Count(r.settings.campaignsRead(), "campaign"),
		phrase.Count(int(r.newVersions), "new version"))
	if r.settings.left > 0 {
		text += fmt.Sprintf(", %s left to the next run", phrase.Count(r.settings.left, "campaign"))
	}
	return text + r.settings.unread.sentence()
}

// failed records a run that published nothing, with the reason.
func (r *run) failed(cause error) *Result {
	code := exit.Of(cause)
	if r.tally.nothing() {
		code = r.tally.unpublishedCode()
	}
	text := r.tally.sentence(load.Preview{}, false, "")
	if !r.tally.nothing() {
		text = "nothing published: " + phrase.OneLine(cause.Error())
	}
	text += r.quarantineSentence()
	if code == exit.Stopped && !r.tally.nothing() {
		text = "stopped by a signal before anything was published: " + phrase.Interrupted(cause)
	}
	row := r.row(code, text, false)
	if m := r.s.store.Manifest(); m != nil {
		row.Generation = m.Generation
	}
	if err := r.s.store.AppendRun(row, r.steps); err != nil {
		r.s.Log.Warn("the failed run could not be written to the ledger", "error", err)
	}
	res := r.result(row)
	if !r.tally.nothing() {
		res.Cause = cause
	}
	return res
}

// result is how the run ended. Lost days count as reported once a run has come here with
// the exit code for them.
func (r *run) result(row schema.Run) *Result {
	if row.ExitCode == exit.DayAtRisk {
		if err := r.s.store.RecordLost(row, r.preview.NewlyLost); err != nil {
			r.s.Log.Warn("the report of lost days could not be written to the ledger; the next run repeats it",
				"error", err)
		}
	}
	r.s.warnOfTheService()
	quarantined := r.tidyQuarantine(row.Published)
	res := &Result{
		Quarantined: quarantined,
		Run:         row, Coverage: r.s.store.Account().Coverage(r.s.Account, r.s.Now()),
		Failures: len(r.tally.failures()), KeyExpires: r.s.keyExpires(), Cause: r.tally.cause(int(row.ExitCode)),
	}
	if r.settings != nil {
		res.UnreadFields = schema.Some(int64(r.settings.unread.fields()))
	}
	if m := r.s.store.Manifest(); m != nil {
		res.WarehouseBytes = m.Warehouse.Bytes
	}
	return res
}

// endOf is what the line of every run in the ledger has.
func endOf(j Job, command string, start time.Time, code int, text string) schema.Run {
	return schema.Run{
		AccountID: j.Account, Command: command, RunID: j.RunID, Version: j.Version,
		StartedAt: schema.InstantOf(start), FinishedAt: schema.InstantOf(j.Now()),
		ExitCode: int64(code), Outcome: exit.About(code).Means, Message: schema.Some(text),
	}
}
