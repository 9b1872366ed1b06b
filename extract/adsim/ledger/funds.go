package ledger

import (
	"time"

	"spendsync/extract/adsim/clock"
)

// FundsLeft returns the rest of the deposits at an instant; it is negative if
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

// balanceNow is the balance at an instant, in millionths.
type balanceNow struct {
	At              time.Time
	Left, Average   int64
	Charge          int64 // of the card, when little is left
	Status, Message string
}

// BalanceOf computes the balance. The card is charged every Monday with the cost of ten days, and
// when little is left; after that the balance falls with the spend. A prepaid account has the wired
// amounts, and falls until it is empty.
func (st *State) BalanceOf(asOf time.Time) balanceNow {
	at := *st
	if !asOf.Equal(at.Now) {
		at.Now = asOf
		at.AsOf = at.Now.Truncate(st.Cfg.Refresh)
		at.Today = clock.DayOf(at.Now, st.Account.Zone)
	}
	week := Query{ByDate: true}
	week.From, week.To = at.Today-7, at.Today
	spent := map[clock.Day]int64{}
	for _, r := range at.grouped(week) {
		spent[r.Day] = r.Spend
	}
	b := balanceNow{At: at.Now, Status: "ok"}
	for d := at.Today - 7; d < at.Today; d++ {
		b.Average += spent[d] / 7
	}
	b.Charge = max(b.Average*10/1_000_000*1_000_000, CardThreshold)
	if st.Cfg.Prepaid > 0 {
		b.Left = max(0, at.FundsLeft(at.Now))
	} else {
		b.Left = b.Average * 10
		for d := at.Today - clock.Day(at.Today.Weekday()+6)%7; d <= at.Today; d++ {
			b.Left -= spent[d]
		}
		if short := CardThreshold - b.Left; short > 0 {
			b.Left += (short + b.Charge - 1) / b.Charge * b.Charge
		}
	}
	how := "in the dashboard"
	if st.Cfg.Prepaid > 0 {
		how = "by wire"
	}
	switch told := at.BalanceAt(at.Now); {
	case told == "ok":
		b.Left = max(b.Left, 3*b.Average)
	case told == "depleted" || b.Left <= 0:
		b.Status, b.Message, b.Left = "depleted", "The account has no funds. Add funds "+how+"; campaigns are waiting.",
			0
	case told == "low" || b.Left < 2*b.Average:
		b.Status, b.Message = "low", "The balance lasts less than two days. Add funds "+how+"."
		if told == "low" {
			b.Left = min(b.Left, b.Average*3/2)
		}
	}
	b.Left = b.Left / 10_000 * 10_000
	return b
}

// CardThreshold is the balance at which the card is charged.
const CardThreshold = 100_000_000
