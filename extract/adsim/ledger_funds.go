package adsim

import "time"

// fundsLeft is what is left of the deposits at an instant; less than nothing, where
// clicks came in after the last look.
func (st *state) fundsLeft(t time.Time) (left int64) {
	deposits := st.changes.deposits
	for _, d := range deposits {
		if !d.at.After(t) {
			left += d.amount
		}
	}
	for d := dayOf(deposits[0].at, st.account.zone); d <= dayOf(t, st.account.zone); d++ {
		left -= st.clicksCost(d, t)
	}
	return left
}

// costKey is what the clicks of a day depend on.
type costKey struct {
	day  day
	mark uint64
}

// clicksCost is what the clicks of a day have cost until an instant, before credits
// and restatements.
func (st *state) clicksCost(d day, until time.Time) int64 {
	end := (d + 1).start(st.account.zone)
	if until.Before(end) {
		return st.costUntil(d, until)
	}
	return st.kept.costs.get(costKey{d, st.changes.markOf(d)}, func() int64 { return st.costUntil(d, end) })
}

func (st *state) costUntil(d day, until time.Time) (sum int64) {
	at := *st
	at.now, at.asOf = until, until
	sd := &spendDay{day: d, sources: st.account.sources, began: d.start(st.account.zone).Unix(), known: until.Unix()}
	all, traffic := byItself(st.account, d)
	byItself := map[string][]entry{}
	for _, e := range all {
		id := e.creative.campaign.id
		byItself[id] = append(byItself[id], e)
	}
	for _, id := range at.followed(d, st.account.zone) {
		sum += at.followDay(sd, at.changes.history[id], byItself[id], traffic).spent()
	}
	return sum
}
