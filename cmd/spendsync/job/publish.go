package job

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// errNothing means that a run has neither days nor settings to publish. The findings have the causes.
var errNothing = errors.New("nothing of the report is proven, and no settings were read")

// publish publishes the proven days and the settings as one generation. If either the days or the settings could not be
// read, the other part is still published. An error means that nothing was published.
func (r *run) publish(
	ctx, publishing context.Context, read *settings, proof *reportProof,
) (row schema.Run, err error) {
	r.proofs = proof.proofs
	if read != nil {
		r.tally.stopped = r.tally.stopped || ctx.Err() != nil
		r.stageSettings(read, proof)
	}
	if !r.tally.hasNothing() {
		return r.publishStaged(publishing)
	}
	if read == nil || r.settingsErr != nil || !read.readAny(r.tally.stopped) {
		r.settings = nil
		return row, errNothing
	}
	if row, err = r.publishStaged(publishing); err != nil {
		r.settings = nil
		r.tally.fail("settings", err)
	}
	return row, err
}

// stageSettings stages the settings, and adds their findings to those of the run. If the settings cannot be published,
// it records the reason in r.settingsErr.
func (r *run) stageSettings(read *settings, proof *reportProof) {
	r.settings, r.settingsErr = read, cmp.Or(read.err, proof.listErr)
	read.reported = proof.witnesses.ours(read.reported)
	if r.settingsErr == nil {
		r.settingsPart, r.newVersions, r.settingsErr = stageSettings(r.s, read)
	}
	if proof.listErr == nil { // otherwise the findings may be about another account's campaigns
		r.tally.findings = append(r.tally.findings, read.findings...)
	}
	if r.settingsErr != nil {
		r.tally.fail("settings", r.settingsErr)
	}
}

// publishStaged publishes everything staged as one generation, with the run's lines in the ledger.
func (r *run) publishStaged(ctx context.Context) (row schema.Run, err error) {
	unknown, unread := r.unknown, (*manifest.Sightings[schema.EntityRead])(nil)
	if r.settings != nil && r.settingsErr == nil {
		unknown, unread = slices.Concat(unknown, r.settings.undescribed), r.settings.unreadSightings()
	}
	seen := r.seenNotes()
	account := load.StagedChange{Change: manifest.Change{Since: r.since(), First: r.first, Unknown: unknown,
		Unread: unread, Refused: r.refusedSightings(), Waiting: r.waiting, Seen: seen, Reach: &r.reach,
		Pinned: r.s.pinned}}
	if r.s.Own == nil { // no files are configured, so problems of earlier files end
		account.Own = &manifest.OwnFiles{}
	}
	// A signal ends the reading at once, but it cancels ctx, and so the publication, only after the grace period.
	_, err = r.s.store.Publish(ctx, load.Publication{
		Area: r.s.area, Changes: append(r.parts, r.settingsPart, account),
		Record: func(preview load.Preview) load.RunRecord {
			// A day is not reported as lost while its replies in quarantine may still prove it.
			preview.NewlyLost = slices.DeleteFunc(preview.NewlyLost, func(d schema.Date) bool {
				return slices.Contains(r.undecided, d)
			})
			r.preview, row = preview, r.publishedRow(preview)
			record := load.RunRecord{Run: row, Steps: r.steps}
			if row.ExitCode == exit.DayAtRisk {
				record.ReportedLost = preview.NewlyLost
			}
			return record
		},
	})
	return row, err
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
	for _, err := range o.ViewErrors {
		r.tally.fail("views", err)
	}
	code := r.tally.publishedCode(o)
	settings := r.settings.sentence(r.newVersions, r.s.storedAccount().Unread)
	row := r.row(code, r.tally.sentence(o, true, settings)+r.quarantineSentence(), true)
	row.Generation, row.Restatements = o.Generation, int64(o.Restatements)
	return row
}

// seenNotes returns the notes of all findings by name, for the manifest. It also records in the outcome which of them a
// person has accepted.
func (r *run) seenNotes() map[string]manifest.Note {
	seen := map[string]manifest.Note{}
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
