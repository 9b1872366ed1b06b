package ledger

import (
	"time"

	"spendsync/extract/adsim/clock"
)

// FundsLeft is what is left of the deposits at an instant; less than nothing, where
// clicks came in after the last look.
func (st *State) FundsLeft(t time.Time) (left int64) {
	deposits := st.Changes.Deposits
	for _, d := range deposits {
		if !d.At.After(t) {
			left += d.Amount
		}
	}
	for d := clock.DayOf(deposits[0].At, st.Account.Zone); d <= clock.DayOf(t, st.Account.Zone); d++ {
		left -= st.clicksCost(d, t)
	}
	return left
}

// costKey is what the clicks of a day depend on.
type costKey struct {
	day  clock.Day
	mark uint64
}

// clicksCost is what the clicks of a day have cost until an instant, before credits
// and restatements.
func (st *State) clicksCost(d clock.Day, until time.Time) int64 {
	end := (d + 1).Start(st.Account.Zone)
	if until.Before(end) {
		return st.costUntil(d, until)
	}
	return st.Kept.costs.Get(costKey{d, st.Changes.markOf(d)}, func() int64 { return st.costUntil(d, end) })
}

func (st *State) costUntil(d clock.Day, until time.Time) (sum int64) {
	at := *st
	at.Now, at.AsOf = until, until
	sd := &Day{day: d, sources: st.Account.Sources, began: d.Start(st.Account.Zone).Unix(), known: until.Unix()}
	all, traffic := byItself(st.Account, d)
	byItself := map[string][]Entry{}
	for _, e := range all {
		id := e.Creative.Campaign.ID
		byItself[id] = append(byItself[id], e)
	}
	for _, id := range at.followed(d, st.Account.Zone) {
		sum += at.followDay(sd, at.Changes.History[id], byItself[id], traffic).spent()
	}
	return sum
}
