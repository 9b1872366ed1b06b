package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// storageFailed returns the first storage failure of the days, or nil.
func (r *run) storageFailed() error {
	for _, f := range r.tally.findings {
		if errors.Is(f.err, durable.ErrStorage) {
			return f.err
		}
	}
	return nil
}

// nothingProven returns why the report has nothing to publish, or nil if it has.
func (r *run) nothingProven() error {
	if !r.tally.nothing() {
		return nil
	}
	var errs []error
	for _, f := range r.tally.failures() {
		errs = append(errs, f.err)
	}
	if len(errs) == 0 { // a signal came before the first day was started
		return context.Canceled
	}
	return errors.Join(errs...)
}

// publish publishes one generation with the proven days and the settings. Settings that fail
// do not keep a proven day back, and the reverse. The error is that of a run that has
// published nothing.
func (r *run) publish(
	ctx, publishing context.Context, read *settingsRead, proof *reportProof,
) (row schema.Run, err error) {
	r.proofs = proof.proofs
	r.logOddIDs(r.oddIDs)
	r.foundEndings()
	unproven := r.nothingProven()
	r.tally.stopped = r.tally.stopped || read != nil && ctx.Err() != nil
	if read != nil {
		err := cmp.Or(read.err, proof.listErr)
		if proof.listErr != nil {
			read.settings.findings = nil // of campaigns that may be another account's
		}
		read.settings.reported = proof.witnesses.ours(read.settings.reported)
		if err == nil {
			r.settingsPart, r.newVersions, err = r.s.stageSettings(read.settings, r.spent[r.s.plan.Today])
		}
		r.takeSettings(read.settings, err)
	}
	if unproven != nil && (read == nil || r.settingsErr != nil || !r.settings.readAny(r.tally.stopped)) {
		r.settings = nil
		return row, errors.Join(unproven, r.settingsErr)
	}
	r.assumeOwn()
	row, err = r.publishStaged(publishing)
	switch {
	case err == nil || read == nil || r.settingsErr != nil || failsReportToo(err):
		return row, err
	case unproven != nil:
		r.settings = nil
		r.tally.fail("settings", err)
		return row, errors.Join(unproven, err)
	}
	r.takeSettings(r.settings, err)
	return r.publishStaged(publishing)
}

// takeSettings adds the settings to what the run reports. If err is not nil, nothing of them
// is published.
func (r *run) takeSettings(s *settings, err error) {
	r.settings, r.settingsErr = s, err
	r.tally.findings = append(r.tally.findings, s.findings...)
	s.findings = nil // they are reported now
	if err != nil {
		r.settingsPart = load.Part{}
		r.newVersions = 0
		r.tally.fail("settings", err)
	}
}

// failsReportToo reports whether a generation without settings would fail with the same
// error.
func failsReportToo(err error) bool {
	switch exit.Of(err) {
	case exit.Storage, exit.Locked, exit.Stopped:
		return true
	}
	return false
}

// publishStaged publishes a generation of everything staged, with the run's line in the
// ledger. The lines of days and settings go with the first generation of the run.
func (r *run) publishStaged(ctx context.Context) (row schema.Run, err error) {
	unknown := r.unknown
	if r.settings != nil {
		unknown = slices.Concat(unknown, r.settings.undescribed)
	}
	r.weighNotes()
	// A signal ends the reading at once, and the publication only after the grace.
	known := load.Part{Change: manifest.Change{Since: r.since(), Unknown: unknown, Asked: true, Ask: r.ask,
		Notes: r.notes, Reach: r.reach, Own: &r.own, Pinned: r.s.pinned}}
	_, err = r.s.store.Publish(ctx, load.Publication{
		Area: r.s.area, Parts: append(slices.Clone(r.parts), r.settingsPart, r.ownPart, known),
		Record: func(is load.Preview) load.RunRecord {
			record := r.recordOf(is)
			row = record.Run
			return record
		},
	})
	if err != nil {
		return row, err
	}
	if r.published++; r.published == 1 {
		r.logAtRisk(r.preview)
	}
	r.refused, r.restatements = nil, r.preview.Restatements
	return row, nil
}

// recordOf is the record of the run, of a generation that shows this.
func (r *run) recordOf(is load.Preview) load.RunRecord {
	r.preview = is
	r.preview.Restatements += r.restatements
	r.preview.NewlyLost = slices.DeleteFunc(slices.Clone(is.NewlyLost), func(d schema.Date) bool {
		return slices.Contains(r.waiting, d)
	})
	record := load.RunRecord{Run: r.publishedRow(r.preview), Refused: r.refused}
	if r.published == 0 {
		record.Steps = r.steps
		if r.settings != nil && r.settingsErr == nil {
			record.Entities = r.settings.lines
		}
	}
	return record
}

// publishedRow returns the run's line in the ledger as of its publication.
func (r *run) publishedRow(o load.Preview) schema.Run {
	r.tally.addViewErrors(o.ViewErrors)
	code := r.tally.publishedCode(o, exit.Of(r.settingsErr))
	row := r.row(code, r.tally.sentence(o, true, r.settingsSentence())+r.quarantineSentence(), true)
	row.Generation, row.Restatements = o.Generation, int64(o.Restatements)
	return row
}

func (r *run) logAtRisk(o load.Preview) {
	for _, d := range o.NewlyLost {
		r.s.Log.Warn("a report day is lost: it left the reach before it was proven", "day", d.String())
	}
	for _, c := range AtRisk(o.Coverage) {
		r.s.Log.Warn("a report day leaves the reach soon and is not proven",
			"day", c.ReportDate.String(), "days_left", c.DaysUntilUnreachable, "state", c.State)
	}
}

// weighNotes counts this run among those that have seen the notes of its findings.
func (r *run) weighNotes() {
	seen := map[string]manifest.Note{}
	for _, f := range r.tally.findings {
		for _, name := range f.notes {
			n, was := seen[name]
			if !was {
				n.Message, n.Evidence = f.String(), f.evidence
			}
			n.ByHand = n.ByHand || f.severity == doubtful
			seen[name] = n
		}
	}
	r.notes = r.s.known().NotesAfter(seen, schema.InstantOf(r.s.start), r.s.RunID)
	r.tally.standing = nil
	for _, n := range r.notes {
		if _, is := seen[n.Name]; is && n.Stands() {
			r.tally.standing = append(r.tally.standing, n.Name)
		}
	}
}

// logOddIDs reports the first ID of each form that the description does not give. The
// manifest remembers the forms among the unknown fields, so each is reported by one run.
func (r *run) logOddIDs(ids []transform.OddID) {
	for _, odd := range ids {
		r.s.Log.Warn("the report has an ID of a form that the description does not give; it is stored as it is",
			"column", odd.Column, "value", odd.Value, "form", odd.Form)
	}
}

// ownFiles is what findings about the operator's own files are about.
const ownFiles = "payouts"

// assumeOwn makes what the last reading of the operator's own files found a finding of this run: few files are mended
// within the hour. So a file that stays wrong is reported by the generation of the days, and needs none of its own.
func (r *run) assumeOwn() {
	if r.s.Own == nil {
		return
	}
	r.own = r.s.known().Own
	for _, f := range r.own.Found {
		r.addOwn(f)
	}
}

// addOwn adds a finding about the operator's own files.
func (r *run) addOwn(f manifest.OwnFinding) {
	s, notes, do := failed, []string(nil), "correct the file that is named; the days of the report and the stored "+
		"numbers are safe, and the next sync reads the file again"
	switch {
	case f.ByHand:
		s, notes, do = doubtful, []string{f.Note}, "look whether the export is complete: all rows, and not cut; "+
			"then do nothing, or accept what it has by the command that is named"
	case f.Note != "":
		s, notes, do = differs, []string{f.Note}, fmt.Sprintf("look at the columns that are read; if they are right, "+
			"'spendsync repair accept %s'", f.Note)
	}
	r.tally.findings = append(r.tally.findings, finding{what: ownFiles, severity: s, notes: notes,
		evidence: f.Evidence, err: exit.Advise(errors.New(f.Message), "%s", do)})
}
