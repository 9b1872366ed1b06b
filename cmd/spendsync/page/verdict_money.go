package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// weekOnWeek are the sums of the newest 7 whole days and of the 7 before, by part.
func (v Spend) weekOnWeek() (now, before []float64, ok bool) {
	now, before = make([]float64, len(v.Campaigns)+1), make([]float64, len(v.Campaigns)+1)
	n := 0
	for _, d := range slices.Backward(v.Days) {
		if !whole(d.State) || n == 14 {
			continue
		}
		into := now
		if n >= 7 {
			into = before
		}
		for j, p := range d.Parts {
			into[j] += p.V
		}
		n++
	}
	return now, before, n == 14
}

// Verdict names the campaign that moved the week's spend most.
func (v Spend) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	now, before, ok := v.weekOnWeek()
	if !ok {
		return why("Fewer than 14 days are known whole, so no week can be compared with the week before yet.")
	}
	total, was, most := 0.0, 0.0, 0
	for j := range now {
		total, was = total+now[j], was+before[j]
		if d, top := now[j]-before[j], now[most]-before[most]; j < len(v.Campaigns) && d*d > top*top {
			most = j
		}
	}
	if was == 0 || len(v.Campaigns) == 0 {
		return watch("The last 7 whole days cost %s, after nothing in the 7 before: check that this was meant.",
			money(N(total)))
	}
	change := (total - was) / was
	moved := now[most] - before[most]
	if j := turned(now, before, was, len(v.Campaigns)); j >= 0 && change < 0.05 && change > -0.05 {
		return watch("All campaigns together hold still at %s in the last 7 whole days, but %s, %s, %s to %s: see "+
			"whether that was meant.", money(N(total)), letters[j], v.Campaigns[j].Label(),
			upDown((now[j]-before[j])/before[j]), money(N(now[j])))
	}
	if change < 0.05 && change > -0.05 && moved*moved < 0.01*was*was {
		return fine("Spend holds still: %s in the last 7 whole days, %s against the 7 before; no campaign moved it "+
			"by more than a tenth.", money(N(total)), signed(N(change)))
	}
	return watch("Look at %s, %s, first: it spent %s in the last 7 whole days, %s than in the 7 before; all "+
		"campaigns together %s to %s.",
		letters[most], v.Campaigns[most].Label(), money(N(now[most])), moreLess(moved), upDown(change), money(N(total)))
}

// turned returns the campaign whose spend changed most; -1 if no campaign with at least a hundredth of all spend
// changed by half or more.
func turned(now, before []float64, was float64, campaigns int) int {
	most, top := -1, 0.5
	for j := range min(campaigns, len(now)) {
		if before[j] < 0.01*was || before[j] <= 0 {
			continue
		}
		if by := math.Abs(now[j]-before[j]) / before[j]; by >= top {
			most, top = j, by
		}
	}
	return most
}

// The prefixes of the advice in mart.daily_pacing.
const (
	adviseLimit     = "a higher limit"
	adviseRoom      = "it pays and has room"
	adviseMoney     = "add money"
	adviseCreatives = "look at its creatives"
	adviseLeave     = "leave the limit"
	adviseWait      = "nothing yet"
)

// Verdict recommends a change to the campaigns of the day, if they pay.
func (v Pacing) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	of := map[string][]string{}
	for _, r := range v.Rows {
		for _, advice := range []string{
			adviseLimit, adviseRoom, adviseMoney, adviseCreatives, adviseLeave, adviseWait,
		} {
			if strings.HasPrefix(r.Advice, advice) {
				of[advice] = append(of[advice], r.Campaign.Label())
			}
		}
	}
	switch {
	case len(of[adviseMoney]) > 0:
		return act("Add money: %s for funds, and nothing else makes %s deliver.", waits(of[adviseMoney]),
			itThem(len(of[adviseMoney])))
	case len(of[adviseCreatives]) > 0:
		return act("Look at the creatives of %s: none of them can be shown.", list(of[adviseCreatives]))
	case len(of[adviseLimit]) > 0:
		return act("Raise the limit of %s, which holds %s back: each conversion costs no more than its target.",
			list(of[adviseLimit]), itThem(len(of[adviseLimit])))
	case len(of[adviseRoom]) > 0:
		return watch("A higher bid or a wider audience of %s would use the rest of the limit, and pay.",
			list(of[adviseRoom]))
	case len(of[adviseLeave]) > 0:
		return fine("Leave the limits: the limit holds %s back, which is not known to pay.", list(of[adviseLeave]))
	case len(of[adviseWait]) == len(v.Rows):
		return why("How the account spends over a day is known after a week of hourly syncs; until then no day that " +
			"goes on is judged.")
	}
	return fine("Nothing to do: no campaign that pays is held back by its limit, by funds or by its creatives.")
}

func waits(names []string) string {
	if len(names) == 1 {
		return names[0] + " waits"
	}
	return list(names) + " wait"
}

// Verdict states by when to add money, if at all.
func (v Runway) Verdict() Verdict {
	switch {
	case !v.Balance.Known:
		return why(v.Why)
	case v.Balance.V <= v.Stop.V && v.AutoFunded:
		return act("See why the card was not charged: the balance of %s is at or below %s, where the service pauses "+
			"the campaigns, though funding is automatic.", money(v.Balance), money(v.Stop))
	case v.Balance.V <= v.Stop.V:
		return act("Add money now: the balance of %s is at or below %s, where the service pauses the campaigns.",
			money(v.Balance), money(v.Stop))
	case v.AutoFunded:
		return fine("Nothing to do: the service charges the card by itself; the balance is %s.", money(v.Balance))
	case !v.DaysAtMean.Known && v.Expected.Known && v.Expected.V == 0:
		return fine("Nothing to do: nothing is spent at present; the balance is %s.", money(v.Balance))
	case !v.DaysAtMean.Known:
		return why("The balance is known, but the pace is not: no recent day is known whole.")
	}
	by := ""
	if v.StopsOn.Valid {
		by = " before " + dayYear(v.StopsOn.V)
	}
	text := fmt.Sprintf("Add money%s: at %s a day the balance of %s reaches %s in %s.", by, money(v.Pace()),
		money(v.Balance), money(v.Stop), about(v.DaysAtMean))
	switch {
	case v.DaysAtMean.V < 7:
		return Verdict{"act", text}
	case v.DaysAtMean.V < 21 || v.Warns || v.DaysAtFull.Known && v.DaysAtFull.V < 7:
		return Verdict{"watch", text}
	}
	return Verdict{"fine", text}
}

// Pace is the expected spend per day, else the recent mean.
func (v Runway) Pace() Number {
	if v.Expected.Known {
		return v.Expected
	}
	return v.Mean
}
