package job

import (
	"errors"
	"fmt"
	"slices"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

// stageOwn stages the operator's own numbers. A file with an error changes nothing: what is stored stays, the run
// continues and names the error, because the report cannot be read again later and the file can.
func (r *run) stageOwn(staged *load.Staged) error {
	if r.s.Own == nil {
		return nil
	}
	payouts, tracker, err := r.s.Own()
	if err != nil {
		r.tally.fail("payouts", fmt.Errorf("%w; the payouts and the tracker's days that are stored stand", err))
		r.s.Log.Warn("your own numbers were not taken in; those that are stored stand", "error", err)
		return nil
	}
	if payouts != nil {
		err = r.stagePayouts(staged, payouts)
	}
	return errors.Join(err, r.stageTracker(staged, tracker))
}

// stageTracker stages the days of a tracker's export. The rows are in key order; days that they lack stay.
func (r *run) stageTracker(staged *load.Staged, rows []schema.TrackerDay) error {
	days, changed := 0, 0
	for len(rows) > 0 {
		day := rows[0].ReportDate
		n := slices.IndexFunc(rows, func(t schema.TrackerDay) bool { return t.ReportDate != day })
		if n < 0 {
			n = len(rows)
		}
		differs, err := staged.PutTracker(day, rows[:n])
		if err != nil {
			return err
		}
		if days++; differs {
			changed++
		}
		rows = rows[n:]
	}
	if changed > 0 {
		r.s.Log.Info("the tracker's days changed", "days", days, "changed", changed)
	}
	return nil
}

// stagePayouts stages the payouts as versions.
func (r *run) stagePayouts(staged *load.Staged, rows []schema.Payout) error {
	h, err := load.StoredHistory(r.s.store, schema.PayoutHistory)
	if err != nil {
		return err
	}
	o := history.Observation[schema.Payout]{
		At: schema.InstantOf(r.s.Now()), RunID: r.s.RunID, Patience: schema.PayoutHistory.Patience,
		Absence: func(*schema.Payout) history.Absence { return history.Gone },
	}
	for _, row := range rows {
		row.AccountID, row.RunID = r.s.Account, r.s.RunID
		o.Seen = append(o.Seen, history.Seen[schema.Payout]{Row: row})
	}
	next, st, err := history.Advance(schema.PayoutHistory, schema.PayoutHistory.Tracked(), h, o)
	if err != nil {
		return err
	}
	if n := st.FirstSeen + st.Versions + st.Deleted + st.Restored; n > 0 {
		r.s.Log.Info("the payouts changed", "lines", len(rows), "changed", n)
	}
	if !st.Changed {
		return load.PutConfirmations(staged, schema.PayoutHistory, next.Confirmations)
	}
	return load.PutHistory(staged, schema.PayoutHistory, next)
}
