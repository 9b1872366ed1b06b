package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/schema"
)

// DefaultMaxSettingsWait is how long the report's numbers, once they are ready, wait for
// the settings: one generation costs little more than one of the report alone.
const DefaultMaxSettingsWait = 5 * time.Second

// publishAll publishes what the run has read: the report and, where they belong to the
// run, the settings. The error is of a run that has published nothing.
func (r *run) publishAll(ctx, publishing context.Context, withSettings bool) (schema.Run, error) {
	unproven := r.nothingProven()
	r.tally.stopped = r.tally.stopped || withSettings && ctx.Err() != nil
	switch {
	case unproven != nil && (!withSettings || r.tally.stopped):
		return schema.Run{}, unproven
	case unproven != nil:
		return r.publishSettingsAlone(ctx, publishing, unproven)
	case withSettings && !r.tally.stopped:
		return r.publishWithSettings(ctx, publishing)
	}
	return r.publishReport(publishing)
}

// storageFailed is the first failure of the storage while days were read; nil: there is none.
func (r *run) storageFailed() error {
	for _, f := range r.tally.failures {
		if errors.Is(f.err, durable.ErrStorage) {
			return f.err
		}
	}
	return nil
}

// nothingProven says why no day is to be published; nil: some are.
func (r *run) nothingProven() error {
	if !r.tally.nothing() {
		return nil
	}
	var errs []error
	for _, f := range r.tally.failures {
		errs = append(errs, f.err)
	}
	if len(errs) == 0 { // a signal came before the first day was begun
		return context.Canceled
	}
	return errors.Join(errs...)
}

// phase is how far the publication of a run has come while it has settings to publish.
type phase int

const (
	reportStaged    phase = iota // the report waits for the settings
	reportPublished              // the report is published without them
)

// publishWithSettings reads the settings and publishes them with the report: as one
// generation, or the report first where the settings take long. Whatever fails of the
// settings is named, and the rest is stored. The error is of a run that has published
// nothing.
func (r *run) publishWithSettings(ctx, publishing context.Context) (schema.Run, error) {
	n := newSettingsReader(r)
	who, err := n.account()
	if err != nil {
		return r.publishWithoutSettings(ctx, publishing, reportStaged, n.read, err)
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	n.start(reading, who)
	p := reportStaged
	if r.takesLong(n) {
		r.martsLater = true
		if row, err := r.publishReport(publishing); err != nil {
			cancel()
			<-n.done
			return row, err
		}
		p = reportPublished
	}
	<-n.done
	if p == reportPublished && ctx.Err() != nil {
		r.tally.stopped = true
		return r.publishMarts(publishing, r.publishedRow)
	}
	r.settings = n.read
	row, err := r.publishSettings(ctx, publishing, p, who)
	if err == nil || p == reportStaged && failsReportToo(err) {
		return row, err
	}
	return r.publishWithoutSettings(ctx, publishing, p, n.read, err)
}

// publishSettingsAlone reads and publishes the settings of a run that has proven no day:
// they have no history but ours, so they do not wait for the report. Where they cannot be
// read either, the error is the report's.
func (r *run) publishSettingsAlone(ctx, publishing context.Context, unproven error) (row schema.Run, err error) {
	if <-r.campaigns.done; r.campaigns.err != nil {
		return row, unproven // whatever else there is to read belongs to a campaign
	}
	n := newSettingsReader(r)
	who, err := n.account()
	if err != nil {
		r.tally.fail("settings", err)
		return row, unproven
	}
	n.start(ctx, who)
	<-n.done
	if r.tally.stopped = ctx.Err() != nil; r.tally.stopped {
		return row, unproven
	}
	r.settings = n.read
	if row, err = r.publishSettings(ctx, publishing, reportStaged, who); err != nil {
		r.settings = nil
		r.tally.fail("settings", err)
		return row, errors.Join(unproven, err)
	}
	return row, nil
}

// account is whom the key acts for, as far as the settings need it: while it is not
// known, the account stays as it is pinned, and the settings are read all the same,
// for they have no history but ours.
func (n *settingsReader) account() (identity, error) {
	who, err := n.identity(identityWait)
	switch {
	case errors.Is(err, extract.ErrAuth):
		n.fail("account", "me", "failed", err)
		return who, fmt.Errorf("whom the key acts for: %w", err)
	case errors.Is(err, errUnnamed) && n.store.Account().Pinned == "":
		n.Log.Warn("the service does not say which account the key acts on, so nothing will notice a key of "+
			"another account",
			"error", err)
		return who, nil
	case err != nil:
		n.fail("account", "me", "failed", err)
		return who, nil
	}
	return who, CheckPinned(n.Account, n.store.Account().Pinned, who.account)
}

// takesLong waits for the settings, and stops waiting once they hold the report's
// numbers back for too long, or are known to.
func (r *run) takesLong(n *settingsReader) bool {
	if r.nothingNew() {
		<-n.done
		return false
	}
	wait := time.NewTimer(cmp.Or(r.MaxSettingsWait, DefaultMaxSettingsWait))
	defer wait.Stop()
	select {
	case <-n.done:
		return false
	case <-n.slow:
	case <-wait.C:
	}
	return true
}

// nothingNew says whether the report shows readers nothing that they do not have: no
// day is new or has changed. Then it holds no number back, however long the settings
// take.
func (r *run) nothingNew() bool {
	t := &r.tally
	return r.store.Manifest() != nil && t.changed == 0 && t.added == 0 && len(t.failures) == 0
}

// publishSettings stages the settings and publishes them: in the report's generation,
// or in the next one where the report is published.
func (r *run) publishSettings(ctx, publishing context.Context, p phase, who identity) (row schema.Run, err error) {
	s, staged, stage := r.settings, r.staged, "publish"
	if p == reportPublished {
		stage = "publish settings"
		if staged, err = r.store.Begin(r.RunID); err != nil {
			return row, err
		}
		defer staged.Discard()
	}
	err = r.traced(ctx, "stage settings", func(context.Context) error { return r.stageSettings(s, staged) })
	if err != nil {
		return row, settingsError{err}
	}
	staged.PinAccount(who.account)
	r.tally.failures = append(r.tally.failures, s.failures...)
	s.failures = nil // they are reported now
	r.tally.stopped = r.tally.stopped || ctx.Err() != nil
	err = r.traced(publishing, stage, func(ctx context.Context) (err error) {
		if p == reportStaged {
			row, err = r.publish(ctx, staged, s.entities)
			return err
		}
		row, err = r.publishNext(ctx, staged, r.publishedRow, s.entities)
		return err
	})
	return row, err
}

// publishNext publishes the generation that follows the report's.
func (r *run) publishNext(ctx context.Context, staged *load.Staged, end func(load.Preview) schema.Run,
	entities []schema.EntityRead) (row schema.Run, err error) {
	prepared, err := staged.Prepare(ctx, load.Contents{Since: r.plan.Reach, Unknown: r.undescribed})
	if err != nil {
		return row, err
	}
	defer prepared.Close()
	row = end(prepared.Preview())
	_, err = prepared.Commit(ctx, load.RunRecord{Run: row, Entities: entities})
	return row, err
}

// publishMarts ends a run whose report is published and whose settings are not: the report's
// generation has left the marts to another one. Where that fails, the next run makes up for
// it.
func (r *run) publishMarts(ctx context.Context, end func(load.Preview) schema.Run) (row schema.Run, err error) {
	err = r.traced(ctx, "publish marts", func(ctx context.Context) error {
		staged, err := r.store.Begin(r.RunID)
		if err != nil {
			return err
		}
		defer staged.Discard()
		row, err = r.publishNext(ctx, staged, end, nil)
		return err
	})
	if err != nil {
		r.Log.Warn("the marts are older than the report; the next run writes them", "error", err)
		row = end(r.preview)
		r.appendRun(row)
	}
	return row, nil
}

// settingsError is an error of the settings alone: the report can do without them.
type settingsError struct{ error }

func (e settingsError) Unwrap() error { return e.error }

// failsReportToo says of an error that the report by itself would fail in the same way.
func failsReportToo(err error) bool {
	var settings settingsError
	if errors.As(err, &settings) {
		return false
	}
	switch exit.Of(err) {
	case exit.Storage, exit.Locked, exit.Stopped:
		return true
	}
	return false
}

// publishWithoutSettings publishes the report alone where it is not published yet, and
// reports why the settings are not.
func (r *run) publishWithoutSettings(
	ctx, publishing context.Context, p phase, s *settings, cause error,
) (schema.Run, error) {
	r.settings = s
	r.tally.stopped = r.tally.stopped || ctx.Err() != nil
	r.tally.failures = append(r.tally.failures, s.failures...)
	r.tally.fail("settings", cause)
	if p == reportStaged {
		r.staged.DropSettings()
		if row, err := r.publishReport(publishing); err != nil {
			return row, err
		}
	}
	// The report's generation stands. The run's line says what became of the rest.
	end := func(o load.Preview) schema.Run {
		row := r.publishedRow(o)
		if code := exit.Of(cause); code != exit.OK && !r.tally.stopped {
			code = r.tally.settingsCode(r.preview, code)
			row.ExitCode, row.Outcome = int64(code), exit.About(code).Means
		}
		return row
	}
	if p == reportPublished {
		return r.publishMarts(publishing, end)
	}
	row := end(r.preview)
	r.appendRun(row)
	return row, nil
}

// publishReport publishes the days that are proven. A day that fails keeps no
// other back; a report none of whose days is proven publishes nothing.
func (r *run) publishReport(ctx context.Context) (row schema.Run, err error) {
	err = r.traced(ctx, "publish report", func(ctx context.Context) error {
		row, err = r.publish(ctx, r.staged, nil)
		return err
	})
	return row, err
}

// publish makes a generation of what is staged, with all that the run knows so far.
func (r *run) publish(
	ctx context.Context, staged *load.Staged, entities []schema.EntityRead,
) (row schema.Run, err error) {
	if err := r.stagePayouts(staged); err != nil {
		return row, err
	}
	// A signal stops the reading, not at once the publishing of what is complete.
	prepared, err := staged.Prepare(ctx, load.Contents{
		Since: r.since(), Unknown: slices.Concat(r.unknown, r.undescribed), MartsLater: r.martsLater,
	})
	if err != nil {
		return row, err
	}
	defer prepared.Close()
	r.preview = prepared.Preview()
	row = r.publishedRow(r.preview)
	_, err = prepared.Commit(ctx, load.RunRecord{Run: row, Steps: r.steps, Entities: entities, Refused: r.refused})
	if err == nil {
		r.logAtRisk(r.preview)
	}
	return row, err
}

// publishedRow is the run's line as it is known when a generation is published.
func (r *run) publishedRow(o load.Preview) schema.Run {
	// The days that were lost and the restatements are the report's, also in the
	// generation of the settings.
	o.NewlyLost, o.Restatements = r.preview.NewlyLost, r.preview.Restatements
	r.tally.addViewErrors(o.ViewErrors)
	row := r.row(r.tally.publishedCode(o), r.tally.sentence(o, true, r.settingsSentence())+r.quarantineSentence(), true)
	row.Generation, row.Restatements = o.Generation, int64(o.Restatements)
	return row
}

// appendRun adds the end of a run whose generation stands to the ledger.
func (r *run) appendRun(row schema.Run) {
	if err := r.store.AppendRun(row, nil); err != nil {
		r.Log.Warn("the run's end could not be written to the ledger", "error", err)
	}
}

func (r *run) logAtRisk(o load.Preview) {
	for _, d := range o.NewlyLost {
		r.Log.Error("a report day is lost: it left the reach before it was proven", "day", d.String())
	}
	for _, c := range AtRisk(o.Coverage) {
		r.Log.Error("a report day leaves the reach soon and is not proven",
			"day", c.ReportDate.String(), "days_left", c.DaysUntilUnreachable, "state", c.State)
	}
}
