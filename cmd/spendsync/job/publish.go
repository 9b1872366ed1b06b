package job

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// nothingProven returns an error if the run has nothing of the report to publish. The error joins the errors of all
// days.
func (r *run) nothingProven() error {
	if !r.tally.hasNothing() {
		return nil
	}
	var errs []error
	for _, f := range r.tally.failures() {
		errs = append(errs, f.err)
	}
	if len(errs) == 0 { // a signal came before any day was read
		return context.Canceled
	}
	return errors.Join(errs...)
}

// publish publishes the proven days and the settings as one generation. If either the days or the settings fail, the
// other part is still published. An error means that nothing was published.
func (r *run) publish(
	ctx, publishing context.Context, read *settings, proof *reportProof,
) (row schema.Run, err error) {
	r.proofs = proof.proofs
	unproven := r.nothingProven()
	r.tally.stopped = r.tally.stopped || read != nil && ctx.Err() != nil
	if read != nil {
		err := cmp.Or(read.err, proof.listErr)
		if proof.listErr != nil {
			read.findings = nil // the findings may be about another account's campaigns
		}
		read.reported = proof.witnesses.ours(read.reported)
		if err == nil {
			r.settingsPart, r.newVersions, err = stageSettings(r.s, read)
		}
		r.reportSettings(read, err)
	}
	if unproven != nil && (read == nil || r.settingsErr != nil || !r.settings.readAny(r.tally.stopped)) {
		r.settings = nil
		return row, errors.Join(unproven, r.settingsErr)
	}
	row, err = r.publishStaged(publishing)
	switch {
	case err == nil || read == nil || r.settingsErr != nil || failsReportToo(err):
		return row, err
	case unproven != nil:
		r.settings = nil
		r.tally.fail("settings", err)
		return row, errors.Join(unproven, err)
	}
	r.reportSettings(r.settings, err)
	return r.publishStaged(publishing)
}

// reportSettings records the settings and their findings in the run. If err is not nil, the staged settings are
// dropped, so that the run publishes only the days.
func (r *run) reportSettings(s *settings, err error) {
	r.settings, r.settingsErr = s, err
	r.tally.findings = append(r.tally.findings, s.findings...)
	s.findings = nil // so that a second call does not repeat the findings
	if err != nil {
		r.settingsPart = load.StagedChange{}
		r.newVersions = 0
		r.tally.fail("settings", err)
	}
}

// failsReportToo reports whether publishing the days alone would fail with the same error: the disk, the lock or a
// signal is the cause.
func failsReportToo(err error) bool {
	switch exit.Of(err) {
	case exit.Storage, exit.Locked, exit.Stopped:
		return true
	}
	return false
}

// publishStaged publishes everything staged as one generation, with the run's lines in the ledger.
func (r *run) publishStaged(ctx context.Context) (row schema.Run, err error) {
	unknown, unread := r.unknown, (*manifest.Sightings[schema.EntityRead])(nil)
	if r.settings != nil && r.settingsErr == nil {
		unknown, unread = slices.Concat(unknown, r.settings.undescribed), r.settings.unreadSightings()
	}
	seen := r.seenNotes()
	// A signal ends the reading at once, but it cancels a publication only after the grace period.
	account := load.StagedChange{Change: manifest.Change{Since: r.since(), First: r.first, Unknown: unknown,
		Unread: unread, Refused: r.refusedSightings(), Waiting: r.waiting, Seen: seen, Reach: &r.reach,
		Pinned: r.s.pinned}}
	if r.s.Own == nil { // no files are configured, so problems of earlier files end
		account.Own = &manifest.OwnFiles{}
	}
	_, err = r.s.store.Publish(ctx, load.Publication{
		Area: r.s.area, Changes: append(slices.Clone(r.parts), r.settingsPart, account),
		Record: func(preview load.Preview) load.RunRecord {
			record := r.recordOf(preview)
			row = record.Run
			return record
		},
	})
	if err != nil {
		return row, err
	}
	logAtRisk(r.s.Log, r.preview)
	return row, nil
}

// recordOf returns the run's lines for the ledger, given a preview of the generation. Days that replies in quarantine
// may still prove are not reported as lost.
func (r *run) recordOf(preview load.Preview) load.RunRecord {
	r.preview = preview
	r.preview.NewlyLost = slices.DeleteFunc(slices.Clone(preview.NewlyLost), func(d schema.Date) bool {
		return slices.Contains(r.undecided, d)
	})
	return load.RunRecord{Run: r.publishedRow(r.preview), Steps: r.steps}
}

// refusedSightings returns the report rows that could not be stored unchanged. They replace the stored list for the
// days that this run has staged.
func (r *run) refusedSightings() *manifest.Sightings[schema.RefusedRow] {
	return &manifest.Sightings[schema.RefusedRow]{Rows: r.refused, Looked: func(row *schema.RefusedRow) bool {
		return row.Stream == "spend_report" && slices.Contains(r.stagedDays, row.ReportDate)
	}}
}

// publishedRow returns the run's line in the ledger for a publication that succeeds.
func (r *run) publishedRow(o load.Preview) schema.Run {
	r.tally.addViewErrors(o.ViewErrors)
	code := r.tally.publishedCode(o, exit.Of(r.settingsErr))
	settings := r.settings.sentence(r.newVersions, r.s.storedAccount().Unread)
	row := r.row(code, r.tally.sentence(o, true, settings)+r.quarantineSentence(), true)
	row.Generation, row.Restatements = o.Generation, int64(o.Restatements)
	return row
}

func logAtRisk(log *slog.Logger, o load.Preview) {
	if len(o.NewlyLost) > 0 {
		log.Warn("report days are lost: they left the reach before they were proven", "count", len(o.NewlyLost),
			"days", cli.Days(o.NewlyLost))
	}
	if days := AtRisk(o.Coverage); len(days) > 0 {
		var dates []schema.Date
		for _, c := range days {
			dates = append(dates, c.ReportDate)
		}
		log.Warn("report days leave the reach soon and are not proven", "count", len(days), "days", cli.Days(dates),
			"days_left", days[0].DaysUntilUnreachable)
	}
}

// seenNotes returns the notes of all findings by name, for the manifest. It also records in the outcome which of them a
// person has accepted.
func (r *run) seenNotes() map[string]manifest.Note {
	seen := map[string]manifest.Note{}
	r.tally.accepted = nil
	for _, f := range r.tally.findings {
		for _, name := range f.notes {
			if _, was := seen[name]; !was {
				seen[name] = manifest.Note{Message: f.String(), Size: f.size, IsCount: f.size > 0}
			}
			if r.s.storedAccount().Accepts(name, f.size) && !slices.Contains(r.tally.accepted, name) {
				r.tally.accepted = append(r.tally.accepted, name)
			}
		}
	}
	return seen
}
