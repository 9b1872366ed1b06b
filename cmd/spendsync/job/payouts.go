package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// ReadOwn reads the operator's own files: payouts and exports of a tracker. The map has the IDs of the account's
// campaigns. The string is the hash of the inputs at the last reading. If the hash is still the same, ReadOwn returns
// nil.
type ReadOwn func(ctx context.Context, campaigns map[string]bool, last string) (*payouts.Own, error)

// heldNote is the prefix of a note's name. The note states that an export would lose rows or revenue of a stored
// day, so the stored day was kept.
const heldNote = "tracker.held."

// ownRun is a run that reads the operator's own files.
type ownRun struct {
	*offline
	found   manifest.OwnFiles
	lines   int // lines of payouts that changed
	changed int // days of exports that changed
}

// TakeOwn reads the operator's own files. It publishes a generation if the stored numbers change, or if the problems
// found in the files change. A problem in one file ends the run with exit code 4, but the other files are still used.
//
// If a newer export of a day lacks stored rows, or has less than half of the stored revenue, the stored day is kept:
// the file may be cut off or limited to a number of rows. A person may accept the loss.
func (j Job) TakeOwn(ctx context.Context) (res *Result, err error) {
	err = j.offline(ctx, func(o *offline) error {
		r := &ownRun{offline: o}
		if err := r.read(ctx); err != nil {
			return err
		}
		res = &Result{Run: r.row(), Failures: len(r.found.Found)}
		if res.Run.ExitCode != exit.OK {
			res.Cause = exit.Advise(errors.New(res.Run.Message.V), "correct the file that is named, or accept its "+
				"form by 'spendsync repair accept'; the next sync reads it again")
		}
		if r.lines+r.changed == 0 && slices.Equal(r.found.Found, r.store.Account().Own.Found) {
			return r.store.AppendRun(res.Run, nil)
		}
		r.part.Own = &r.found
		_, err := r.store.Publish(ctx, load.Publication{Area: r.area, Changes: []load.StagedChange{r.part},
			Record: func(o load.Preview) load.RunRecord {
				res.Run.Published, res.Run.Generation = true, o.Generation
				res.Run.Message.V += fmt.Sprintf("; published generation %d", o.Generation)
				return load.RunRecord{Run: res.Run}
			}})
		res.WarehouseBytes = r.store.Manifest().Warehouse.Bytes
		return err
	})
	return res, err
}

// read reads and stages the files. Unchanged files are read again only if the last run found a problem that no person
// has accepted, or left a stored day unchanged because a file would lose rows of it.
func (r *ownRun) read(ctx context.Context) error {
	stored, last := r.store.Account(), ""
	campaigns, err := readCampaigns(r.DataDir, r.Account, stored)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(stored.Own.Found, func(f manifest.OwnFinding) bool {
		return !r.accepts(f) || strings.HasPrefix(f.Note, heldNote)
	}) {
		last = stored.Own.Inputs
	}
	own, err := r.Own(ctx, campaigns, last)
	if err == nil && own == nil {
		r.found = stored.Own
		return nil
	}
	if err == nil {
		err = errors.Join(r.stage(ctx, own), own.Close())
	}
	if code := exit.Of(err); err != nil && ctx.Err() == nil && code != exit.Storage && code != exit.Damaged {
		// For example, the declared columns are wrong. The run continues, as with a problem in a file.
		r.found.Found = append(r.found.Found, manifest.OwnFinding{Message: cli.OneLine(err.Error())})
		return nil
	}
	return err
}

// stage stages the contents of the files, and records the problems found in them.
func (r *ownRun) stage(ctx context.Context, own *payouts.Own) error {
	r.found = manifest.OwnFiles{Inputs: own.Inputs, Found: own.Findings}
	for _, f := range own.Files {
		if _, counts, isRead := strings.Cut(f.Rows, "; "); isRead {
			r.Log.Info("read your own file", "file", f.Path, "rows", counts)
		}
	}
	r.part.Refused = &manifest.Sightings[schema.RefusedRow]{Rows: own.Refused,
		Looked: func(row *schema.RefusedRow) bool { return row.Stream == "tracker" }}
	if err := own.EachDay(ctx, r.stageDay); err != nil {
		return err
	}
	return r.stagePayouts(own.Payouts)
}

// accepts reports whether a problem in a file leaves the exit code unchanged: it is only a remark, or a person has
// accepted it.
func (r *ownRun) accepts(f manifest.OwnFinding) bool {
	return f.Note == payouts.Remark || r.store.Account().Accepts(f.Note, f.Size)
}

// OwnFiles is the command in the ledger for runs that read the operator's own files.
const OwnFiles = "payouts"

// row returns the run's line in the ledger. It also logs new remarks, and stages a note for each other problem that a
// person can accept. Until a problem is corrected or accepted, every run ends with exit code 4.
func (r *ownRun) row() schema.Run {
	code, text, notes := exit.OK, "", map[string]manifest.Note{}
	for _, f := range r.found.Found {
		if f.Note == payouts.Remark && !slices.Contains(r.store.Account().Own.Found, f) {
			r.Log.Warn(f.Message)
		}
		how := ""
		if f.Note != "" && f.Note != payouts.Remark {
			how = " ('spendsync repair accept " + f.Note + "' accepts that)"
			if f.Size >= notes[f.Note].Size {
				notes[f.Note] = manifest.Note{Message: f.Message, Size: f.Size}
			}
		}
		if !r.accepts(f) {
			code, text = exit.Partial, text+f.Message+how+"; "
		}
	}
	r.part.Seen = notes
	row := endOf(r.Job, OwnFiles, r.start, code, fmt.Sprintf("%sof your own files %s and %s of payouts changed",
		text, cli.Count(r.changed, "day"), cli.Count(r.lines, "line")))
	row.DaysChanged = int64(r.changed)
	return row
}

// stageDay stages a day of the exports in place of the stored day, if the two differ. If the export would lose stored
// rows or most of the revenue, the stored day is kept until a person accepts the loss.
func (r *ownRun) stageDay(d payouts.Day, rows []schema.TrackerDay) error {
	if d.Loss != "" {
		f := manifest.OwnFinding{Note: heldNote + d.Day.String(), Size: int64(d.Percent),
			Message: fmt.Sprintf("%s would lose %s by %s: the stored day stands, for the export may be cut or capped",
				d.Day, d.Loss, d.Files)}
		if r.found.Found = append(r.found.Found, f); !r.accepts(f) {
			return nil
		}
	}
	stored, err := load.StoredTracker(r.store, d.Day)
	if err != nil {
		return err
	}
	differs, err := load.PutTracker(r.store, r.area, &r.part, d.Day, stored, rows,
		load.TrackerFile{Name: d.Files, ReadAt: schema.InstantOf(r.start)})
	if differs {
		r.changed++
	}
	return err
}

// stagePayouts adds the payouts to their stored history. If they are nil, no file of payouts can be used, and the
// stored payouts stay unchanged.
func (r *ownRun) stagePayouts(payouts []schema.Payout) error {
	if payouts == nil {
		return nil
	}
	h, err := load.StoredHistory(r.store, schema.PayoutHistory)
	if err != nil {
		return err
	}
	o := history.Observation[schema.Payout]{At: schema.InstantOf(r.start), RunID: r.RunID,
		Patience: schema.PayoutHistory.Patience,
		Absence:  func(*schema.Payout) history.Absence { return history.Gone },
		// A file of payouts is used completely or not at all, so the last reading confirmed all lines.
		Confirmed: func(*schema.Payout) schema.Instant { return h.Memory.ObservedAt }}
	for _, row := range payouts {
		row.AccountID, row.RunID = r.Account, r.RunID
		o.Seen = append(o.Seen, history.Seen[schema.Payout]{Row: row})
	}
	next, st, err := history.Advance(schema.PayoutHistory, schema.PayoutHistory.Tracked(), h, o)
	if err != nil {
		return err
	}
	r.lines = int(st.FirstSeen + st.Versions + st.Deleted + st.Restored)
	return load.PutHistory(r.store, r.area, &r.part, schema.PayoutHistory, next)
}
