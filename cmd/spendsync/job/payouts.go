package job

import (
	"fmt"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

// stagePayouts stages the operator's payouts. A file with an error changes nothing: the stored payouts stay, the run
// continues and names the error, because the report cannot be read again later and the file can.
func (r *run) stagePayouts(staged *load.Staged) error {
	if r.s.Payouts == nil {
		return nil
	}
	rows, err := r.s.Payouts()
	if err != nil {
		r.tally.fail("payouts", fmt.Errorf("%w; the payouts that are stored stand", err))
		r.s.Log.Warn("the payouts were not taken in; those that are stored stand", "error", err)
		return nil
	}
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
