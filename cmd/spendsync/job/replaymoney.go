package job

import (
	"errors"
	"slices"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/settingslog"
	"spendsync/schema"
	"spendsync/transform"
)

// accountReplay reads the kept replies about the account again: its balance and its budgets.
type accountReplay struct {
	snapshots []schema.AccountSnapshot
	budgets   []schema.AccountLimit

	balance, limits     extract.Entity // those of the reading that is read again
	balanceAt, limitsAt schema.Instant // when they came

	balances, used int // rows that were added or corrected
}

func storedMoney(store *load.Store) (r accountReplay, err error) {
	r.snapshots, err = load.StoredTable(store, schema.AccountSnapshots)
	if err == nil {
		r.budgets, err = load.StoredTable(store, schema.AccountLimits)
	}
	return r, err
}

// reply processes one reply of a reading. Replies of other kinds do not describe the account.
func (r *accountReplay) reply(s *service.Service, k settingslog.Reply) {
	kind := k.Kind
	if kind == "account" { // that could not be read when it came
		kind = k.ID
	}
	switch kind {
	case "balance":
		r.balance, r.balanceAt = reread(s, kind, "", k.Reply), k.At
	case "limits":
		r.limits, r.limitsAt = reread(s, kind, "", k.Reply), k.At
	}
}

// reread merges the replies of a reading into the rows. The account that they name is kept.
func (r *accountReplay) reread(c transform.SettingsContext) {
	if r.balance.Raw != nil {
		row := transform.Account(extract.Entity{}, extract.Entity{}, r.balance, r.balanceAt, c).Snapshot
		var changed bool
		r.snapshots, changed = repairSeen(r.snapshots, row, seenRows[schema.AccountSnapshot]{
			at: func(s *schema.AccountSnapshot) schema.Instant { return s.SeenAt },
			is: func(_, _ *schema.AccountSnapshot) bool { return true },
			same: func(a, b *schema.AccountSnapshot) bool {
				x, y := *a, *b
				x.AdvertiserID, y.AdvertiserID = schema.Null[string]{}, schema.Null[string]{}
				return sameMoney(x, y)
			},
			onto: func(known, row *schema.AccountSnapshot) {
				row.AdvertiserID = known.AdvertiserID
				if known.SeenAt == row.SeenAt {
					row.Raw = known.Raw
				}
			},
		})
		if changed {
			r.balances++
		}
	}
	if r.limits.Raw != nil {
		for _, row := range transform.Account(extract.Entity{}, r.limits, extract.Entity{}, r.limitsAt, c).Limits {
			var changed bool
			r.budgets, changed = repairSeen(r.budgets, row, seenRows[schema.AccountLimit]{
				at:   func(l *schema.AccountLimit) schema.Instant { return l.SeenAt },
				is:   func(a, b *schema.AccountLimit) bool { return a.LimitKind == b.LimitKind },
				same: func(a, b *schema.AccountLimit) bool { return sameBudget(*a, *b) },
				onto: func(_, _ *schema.AccountLimit) {},
			})
			if changed {
				r.used++
			}
		}
	}
	r.balance, r.limits = extract.Entity{}, extract.Entity{}
}

// seenRows describes how rows are compared, in the order in which they were seen.
type seenRows[R any] struct {
	at   func(*R) schema.Instant
	is   func(a, b *R) bool  // whether both are about one thing
	same func(a, b *R) bool  // whether they are equal
	onto func(known, row *R) // gives a row what only the stored one before it knows
}

// repairSeen adds a row from a kept reply, unless the rows around it are equal. It replaces the row that was made from
// the same reply.
func repairSeen[R any](rows []R, row R, by seenRows[R]) ([]R, bool) {
	place := slices.IndexFunc(rows, func(r R) bool { return by.at(&r) > by.at(&row) })
	if place < 0 {
		place = len(rows)
	}
	before, after := -1, -1
	for i := range rows {
		switch {
		case !by.is(&rows[i], &row):
		case i < place:
			before = i
		case after < 0:
			after = i
		}
	}
	if before >= 0 {
		by.onto(&rows[before], &row)
		if by.same(&rows[before], &row) {
			return rows, false
		}
	}
	switch {
	case after >= 0 && by.same(&rows[after], &row):
		return rows, false
	case before >= 0 && by.at(&rows[before]) == by.at(&row):
		rows[before] = row
		return rows, true
	}
	return slices.Insert(rows, place, row), true
}

// stage stages the changed tables, and returns the number of changed rows.
func (r *accountReplay) stage(staged *load.Staged) (repaired int, err error) {
	if r.balances > 0 {
		err = load.PutTable(staged, schema.AccountSnapshots, r.snapshots)
	}
	if r.used > 0 {
		err = errors.Join(err, load.PutTable(staged, schema.AccountLimits, r.budgets))
	}
	return r.balances + r.used, err
}
