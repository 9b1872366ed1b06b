package ledger

import (
	"time"

	"spendsync/extract/adsim/clock"
)

// prepaidOn reports whether the clicks of a day are paid from deposits: on the day of the first deposit and on all
// later days.
func (st *State) prepaidOn(d clock.Day) bool {
	return st.Changes != nil && len(st.Changes.Deposits) > 0 && d >= clock.DayOf(st.Changes.Deposits[0].At,
		st.Account.Zone)
}

// fundsFor returns the money that is available for the clicks of a day. A deposit counts if it was made by the end of
// that day, and not after the State's instant. The cost of the days before is subtracted.
func (st *State) fundsFor(d clock.Day) (left int64) {
	deposits, end := st.Changes.Deposits, (d + 1).Start(st.Account.Zone)
	for _, deposit := range deposits {
		if !deposit.At.After(st.Now) && deposit.At.Before(end) {
			left += deposit.Amount
		}
	}
	for day := clock.DayOf(deposits[0].At, st.Account.Zone); day < d; day++ {
		left -= st.costOf(day)
	}
	return left
}

// FundsLeft returns the remaining deposits. The amount can be slightly negative, because the last click may cost more
// than the remaining deposits.
func (st *State) FundsLeft() int64 { return st.fundsFor(st.Today) - st.costUntil(st.Today, st.Now) }

// costKey contains everything that determines the cost of a day that is over.
type costKey struct {
	day  clock.Day
	mark uint64
}

func (st *State) costOf(d clock.Day) int64 {
	return st.Caches.costs.Get(costKey{d, st.Changes.markOf(d)}, func() int64 {
		return st.costUntil(d, (d + 1).Start(st.Account.Zone))
	})
}

// costUntil returns the cost of a day's clicks up to an instant, before credits and restatements.
func (st *State) costUntil(d clock.Day, until time.Time) (sum int64) {
	at := *st
	at.Now, at.AsOf = until, until
	for _, e := range at.entriesOf(d) {
		for _, spend := range e.gross {
			sum += spend
		}
	}
	return sum
}

// balanceNow is the balance at an instant, in millionths.
type balanceNow struct {
	At              time.Time
	Left, Average   int64
	Charge          int64 // amount charged to the card when the balance is low
	Status, Message string
}

// CardThreshold is the balance at which the card is charged, in millionths of a US dollar.
const CardThreshold = 100_000_000

// BalanceOf computes the balance as of an instant. For an account that pays by card, the balance starts every Monday at
// ten times the average daily cost, and spending lowers it. When the balance falls below [CardThreshold], the card is
// charged. The balance of a prepaid account consists of its deposits only.
func (st *State) BalanceOf(asOf time.Time) balanceNow {
	at := *st
	if !asOf.Equal(at.Now) {
		at.Now = asOf
		at.AsOf = at.Now.Truncate(Refresh)
		at.Today = clock.DayOf(at.Now, st.Account.Zone)
	}
	week := Query{ByDate: true}
	week.From, week.To = at.Today-7, at.Today
	spent := map[clock.Day]int64{}
	for _, r := range at.grouped(week, at.Group) {
		spent[r.Day] = r.Spend
	}
	b := balanceNow{At: at.Now, Status: "ok"}
	for d := at.Today - 7; d < at.Today; d++ {
		b.Average += spent[d] / 7
	}
	b.Charge = max(b.Average*10/1_000_000*1_000_000, CardThreshold)
	how := "in the dashboard"
	if st.Cfg.Prepaid > 0 {
		b.Left, how = max(0, at.FundsLeft()), "by wire"
	} else {
		b.Left = b.Average * 10
		for d := at.Today - clock.Day(at.Today.Weekday()+6)%7; d <= at.Today; d++ {
			b.Left -= spent[d]
		}
		if short := CardThreshold - b.Left; short > 0 {
			b.Left += (short + b.Charge - 1) / b.Charge * b.Charge
		}
	}
	switch {
	case b.Left <= 0:
		b.Status, b.Left = "depleted", 0
		b.Message = "The account has no funds. Add funds " + how + "; campaigns are waiting."
	case b.Left < 2*b.Average:
		b.Status, b.Message = "low", "The balance lasts less than two days. Add funds "+how+"."
	}
	b.Left = b.Left / 10_000 * 10_000
	return b
}
