package adsim

import "time"

// balanceNow is the balance at an instant, in millionths.
type balanceNow struct {
	at              time.Time
	left, average   int64
	charge          int64 // of the card, when little is left
	status, message string
}

// balanceOf works the balance out. The card is charged every Monday with what ten
// days cost, and when little is left; since then the balance falls with the spend. A
// prepaid account has what was wired to it, and falls until it is empty.
func (st *state) balanceOf(asOf time.Time) balanceNow {
	at := *st
	if !asOf.Equal(at.now) {
		at.now = asOf
		at.asOf = at.now.Truncate(st.cfg.Refresh)
		at.today = dayOf(at.now, st.account.zone)
	}
	week := question{byDate: true}
	week.from, week.to = at.today-7, at.today
	spent := map[day]int64{}
	for _, r := range at.grouped(week) {
		spent[r.day] = r.Spend
	}
	b := balanceNow{at: at.now, status: "ok"}
	for d := at.today - 7; d < at.today; d++ {
		b.average += spent[d] / 7
	}
	b.charge = max(b.average*10/1_000_000*1_000_000, cardThreshold)
	if st.cfg.Prepaid > 0 {
		b.left = max(0, at.fundsLeft(at.now))
	} else {
		b.left = b.average * 10
		for d := at.today - day(at.today.weekday()+6)%7; d <= at.today; d++ {
			b.left -= spent[d]
		}
		if short := cardThreshold - b.left; short > 0 {
			b.left += (short + b.charge - 1) / b.charge * b.charge
		}
	}
	how := "in the dashboard"
	if st.cfg.Prepaid > 0 {
		how = "by wire"
	}
	switch told := at.balanceAt(at.now); {
	case told == "ok":
		b.left = max(b.left, 3*b.average)
	case told == "depleted" || b.left <= 0:
		b.status, b.message, b.left = "depleted", "The account has no funds. Add funds "+how+"; campaigns are waiting.",
			0
	case told == "low" || b.left < 2*b.average:
		b.status, b.message = "low", "The balance lasts less than two days. Add funds "+how+"."
		if told == "low" {
			b.left = min(b.left, b.average*3/2)
		}
	}
	b.left = b.left / 10_000 * 10_000
	return b
}

// cardThreshold is what is left when the card is charged.
const cardThreshold = 100_000_000
