package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// ownBudget is how long a run may read the operator's own files.
const ownBudget = 5 * time.Minute

// takeOwn reads the operator's own files after the run has published the days and the settings. It publishes a second
// generation if the numbers differ from the stored ones, or the findings from those of the last reading. A file that is
// slow, wrong, or too large for this machine costs nothing of the report: a day cannot be read again later, and a file
// can. What is wrong with a file ends the run with exit 4.
//
// A stored day of an export is not replaced by one that lacks some of its rows or has less revenue: the file may be
// cut, or the export capped. It is replaced when a later file, of another day, has the same again, or when its note is
// accepted.
func (r *run) takeOwn(ctx, publishing context.Context, campaigns witnesses, row schema.Run) schema.Run {
	if r.s.Own == nil {
		return row
	}
	assumed := r.own
	r.own = manifest.OwnFiles{}
	r.tally.findings = slices.DeleteFunc(r.tally.findings, func(f finding) bool { return f.what == ownFiles })
	err := r.s.area.Discard()
	if err == nil {
		r.s.area, err = r.s.store.Begin(r.s.RunID)
	}
	r.parts, r.settingsPart, r.ownPart = nil, load.Part{}, load.NewPart()
	differs := false
	if err == nil {
		differs, err = r.readOwn(ctx, campaigns)
	}
	r.tally.stopped = r.tally.stopped || ctx.Err() != nil
	if r.tally.stopped {
		r.own = assumed
	}
	if r.own.Refused == assumed.Refused {
		r.refused = nil
	}
	if err == nil {
		if !differs && reflect.DeepEqual(r.own, assumed) && !r.tally.stopped {
			return row
		}
		next, failed := r.publishStaged(publishing)
		if failed == nil {
			return next
		}
		err = failed
	}
	r.tally.fail("payouts", fmt.Errorf("%w; the payouts and the tracker's days that are stored stand", err))
	row = r.publishedRow(r.preview)
	if code := exit.Of(err); code == exit.Storage || code == exit.Locked {
		row.ExitCode, row.Outcome = int64(code), exit.About(code).Means
	}
	if err := r.s.store.AppendRun(row, nil); err != nil {
		r.s.Log.Warn("the end of the run could not be written to the ledger", "error", err)
	}
	return row
}

// readOwn reads and stages the files, and reports whether something differs from what is stored. Its error is one of
// the storage.
func (r *run) readOwn(ctx context.Context, campaigns witnesses) (differs bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ownBudget)
	defer cancel()
	own, err := r.readOwnFiles(ctx, campaigns)
	if err == nil {
		differs, err = r.stagePayouts(own.Payouts)
		if err == nil {
			var changed int
			changed, err = r.stageTracker(ctx, own)
			differs = differs || changed > 0
		}
		err = errors.Join(err, own.Close())
	}
	if errors.Is(err, durable.ErrStorage) {
		return differs, err
	}
	if err != nil {
		r.foundOwn(manifest.OwnFinding{Message: err.Error() + "; the payouts and the tracker's days that are stored " +
			"stand"})
	}
	return differs, nil
}

// foundOwn adds what this run finds wrong with the operator's own files.
func (r *run) foundOwn(f manifest.OwnFinding) {
	r.own.Found = append(r.own.Found, f)
	r.addOwn(f)
	if f.Note == "" {
		r.s.Log.Warn("your own numbers were not taken in as they are; those that are stored stand", "error", f.Message)
	}
}

// readOwnFiles reads the files with all campaigns that are known to be the account's.
func (r *run) readOwnFiles(ctx context.Context, campaigns witnesses) (*payouts.Own, error) {
	stored, err := readCampaigns(r.s.DataDir, r.s.Account, r.s.store.Account())
	if err != nil {
		return nil, err
	}
	known := maps.Clone(map[string]bool(campaigns))
	if known == nil {
		known = map[string]bool{}
	}
	for id := range stored {
		known[id] = true
	}
	if len(known) == 0 { // nothing to compare with
		known = nil
	}
	return r.s.Own(ctx, known)
}

// stageTracker stages the days of exports that differ from the stored ones, and returns how many do. Days that the
// exports lack stay.
func (r *run) stageTracker(ctx context.Context, own *payouts.Own) (changed int, err error) {
	days, readAt := 0, schema.InstantOf(r.s.Now())
	defer r.takeFindings(own)
	for d, err := range own.Days(ctx) {
		if err != nil {
			return changed, err
		}
		stored, err := load.StoredTracker(r.s.store, d.Day)
		if err != nil {
			return changed, err
		}
		why := loss(stored, d.Rows)
		if why != "" && !r.mayShrink(own, d, why) {
			continue
		}
		differs, err := load.PutTracker(r.s.store, r.s.area, &r.ownPart, d.Day, stored, d.Rows,
			load.TrackerFile{Name: d.Files, ReadAt: readAt})
		if err != nil {
			return changed, err
		}
		if days++; differs {
			changed++
		}
	}
	if changed > 0 {
		r.s.Log.Info("the tracker's days changed", "days", days, "changed", changed)
	}
	return changed, nil
}

// takeFindings takes over what the reading found.
func (r *run) takeFindings(own *payouts.Own) {
	for _, f := range own.Failures {
		r.foundOwn(manifest.OwnFinding{Message: f})
	}
	for _, name := range slices.Sorted(maps.Keys(own.Notes)) {
		r.foundOwn(manifest.OwnFinding{Message: own.Notes[name], Note: name})
	}
	for _, said := range own.Said {
		r.s.Log.Info("your own files", "found", said)
	}
	h := sha256.New()
	for _, row := range own.Refused {
		fmt.Fprintf(h, "%d %d %q %q %q\n", row.Page, row.RowNumber, row.Reason, row.Field, row.Raw)
		row.AccountID, row.RunID, row.SeenAt = r.s.Account, r.s.RunID, schema.InstantOf(r.s.start)
		r.refused = append(r.refused, row)
	}
	if len(own.Refused) > 0 {
		r.own.Refused = fmt.Sprintf("%x", h.Sum(nil)[:8])
	}
}

// loss returns what a stored day would lose; empty: nothing.
func loss(stored, rows []schema.TrackerDay) string {
	has := map[[2]string]bool{}
	var was, is schema.Money
	unknown := false
	for i := range rows {
		has[[2]string{rows[i].CampaignID, rows[i].SourceID}] = true
		is += rows[i].Revenue.V
		unknown = unknown || !rows[i].Revenue.Valid
	}
	missing, told := 0, len(stored) > 0
	for i := range stored {
		if !has[[2]string{stored[i].CampaignID, stored[i].SourceID}] {
			missing++
		}
		was += stored[i].Revenue.V
		told = told && stored[i].Revenue.Valid
	}
	var lost []string
	if missing > 0 {
		lost = append(lost, fmt.Sprintf("%d of its %s", missing, phrase.Count(len(stored), "row")))
	}
	switch {
	case is < was:
		lost = append(lost, fmt.Sprintf("%s of its revenue of %s", was-is, was))
	case told && unknown:
		lost = append(lost, "the revenue of some rows")
	}
	return strings.Join(lost, " and ")
}

// mayShrink reports whether a stored day may be replaced by one that has less. If not, the day is held, and a note
// about exactly these rows remembers them.
func (r *run) mayShrink(own *payouts.Own, d payouts.Day, why string) bool {
	name := fmt.Sprintf("tracker.held.%s.%s", d.Day, hashOf(d.Rows))
	today := schema.DateOf(r.s.start)
	for _, n := range r.s.store.Account().Notes {
		if n.Name != name {
			continue
		}
		if n.Decision == schema.NoteAccepted ||
			schema.DateOf(n.FirstSeenAt.Time()) < today && n.Evidence != own.Hash {
			r.s.Log.Info("a day of the tracker is replaced by one that has less", "day", d.Day.String(), "lost", why)
			return true
		}
	}
	edge := ""
	if d.Day == own.From || d.Day == own.To {
		edge = ", at the edge of the export"
	}
	r.foundOwn(manifest.OwnFinding{Note: name, ByHand: true, Evidence: own.Hash, Message: fmt.Sprintf("the tracker's "+
		"day %s would lose %s%s: it is held, and the stored day stands until the export of another day has the same, "+
		"or 'spendsync repair accept %s'", d.Day, why, edge, name)})
	return false
}

// hashOf identifies the numbers of a day.
func hashOf(rows []schema.TrackerDay) string {
	h := sha256.New()
	for i := range rows {
		row := rows[i]
		row.AccountID, row.RunID = "", ""
		fmt.Fprintf(h, "%+v\n", row)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

// stagePayouts stages payouts as versions, and reports whether they differ from the stored ones. nil: there is no file
// of payouts that can be used, and the stored ones stand.
func (r *run) stagePayouts(payouts []schema.Payout) (differs bool, err error) {
	if payouts == nil {
		return false, nil
	}
	h, err := load.StoredHistory(r.s.store, schema.PayoutHistory)
	if err != nil {
		return false, err
	}
	o := history.Observation[schema.Payout]{
		At: schema.InstantOf(r.s.Now()), RunID: r.s.RunID, Patience: schema.PayoutHistory.Patience,
		Absence: func(*schema.Payout) history.Absence { return history.Gone },
	}
	for _, row := range payouts {
		row.AccountID, row.RunID = r.s.Account, r.s.RunID
		o.Seen = append(o.Seen, history.Seen[schema.Payout]{Row: row})
	}
	next, st, err := history.Advance(schema.PayoutHistory, schema.PayoutHistory.Tracked(), h, o)
	if err != nil {
		return false, err
	}
	if n := st.FirstSeen + st.Versions + st.Deleted + st.Restored; n > 0 {
		r.s.Log.Info("the payouts changed", "lines", len(payouts), "changed", n)
	}
	if !st.Changed {
		return false, load.PutConfirmations(r.s.store, r.s.area, &r.ownPart, schema.PayoutHistory, next.Confirmations)
	}
	return true, load.PutHistory(r.s.store, r.s.area, &r.ownPart, schema.PayoutHistory, next)
}
