package load

import (
	"context"
	"maps"
	"slices"
	"time"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// everythingIsAffected reports whether every day of an account may have other rows in a view than before.
func (n *warehouse) everythingIsAffected(account string) bool {
	return n.repair || n.newViews || n.base == nil || n.base.Accounts[account] == nil
}

// affectedDays returns the days of an account with other rows or another coverage state than in the base, in
// order. Stored views and marts follow from them by this one rule. A view of complete days (its file declares
// "Stored" or "Of whole days") is affected only by days that are complete now or were then. sameStates means
// that they differ only in rows.
func (n *warehouse) affectedDays(account string, completeOnly bool) (days []schema.Date, sameStates bool) {
	was := dayStates(n.base.Accounts[account], account, n.base.PublishedAt.Time(), completeOnly)
	is := dayStates(n.next.Accounts[account], account, n.store.opts.Now(), completeOnly)
	sameStates = maps.Equal(was, is)
	for d, state := range is {
		if state != was[d] || account == n.store.account && n.changed[d] {
			days = append(days, d)
		}
		delete(was, d)
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(days, maps.Keys(was)))), sameStates
}

// dayStates returns the coverage state of every day of an account, or only which days are complete.
func dayStates(a *manifest.Account, account string, at time.Time, completeOnly bool) map[schema.Date]string {
	states := map[schema.Date]string{}
	for _, c := range a.Coverage(account, at) {
		switch {
		case !completeOnly:
			states[c.ReportDate] = c.State
		case c.State == schema.StateComplete || c.State == schema.StateFinal:
			states[c.ReportDate] = "complete"
		}
	}
	return states
}

// firstAffected returns the first day whose rows in a mart may differ from the published ones. Rows of later days
// may follow from it, as a campaign has rows from its first spend on. Not valid: the mart is current.
func (n *derived) firstAffected(ctx context.Context, m schema.Mart,
	account string) (first schema.Null[schema.Date], err error) {
	a := n.next.Accounts[account]
	since := slices.Min(append(slices.Collect(maps.Keys(a.Days)), a.Since))
	if n.everythingIsAffected(account) {
		return schema.Some(since), nil
	}
	days, _ := n.affectedDays(account, n.store.opts.DuckDB.OfWholeDays(m.View))
	if account == n.store.account && n.settingsChanged(m) {
		known, err := n.settingsKnownFrom(ctx)
		if err != nil {
			return first, err
		}
		days = append(days, known...)
	}
	if len(days) > 0 {
		first = schema.Some(max(since, slices.Min(days)))
	}
	return first, nil
}

// settingsChanged reports whether a settings table that a mart's view asks has other versions than before.
func (n *derived) settingsChanged(m schema.Mart) bool {
	return slices.ContainsFunc(m.Behind, func(table string) bool {
		return n.files.isStaged(manifest.PartPath(schema.Named(table), n.store.account, 0))
	})
}

// settingsKnownFrom returns days among which is the first one that changed settings can speak of: within the
// report's reach, or of a campaign whose past became known.
func (n *derived) settingsKnownFrom(ctx context.Context) (days []schema.Date, err error) {
	// Either instant may be the earlier one: a clock can be set back.
	published := schema.DateOf(min(n.base.PublishedAt, n.next.PublishedAt).Time())
	days = append(days, published-schema.ReachDays-1)
	if len(n.learned) == 0 {
		return days, nil
	}
	days = slices.AppendSeq(days, maps.Values(n.learned))
	spent, err := n.w.FirstSpend(ctx, n.store.account, slices.Collect(maps.Keys(n.learned)))
	if err == nil && spent.Valid {
		days = append(days, spent.V)
	}
	return days, err
}
