package page

import (
	"math"
	"strings"
	"testing"

	"spendsync/schema"
)

// TestNote_NamesWhatTheDaysLack asks the notes of a section on 9 days.
func TestNote_NamesWhatTheDaysLack(t *testing.T) {
	const first = schema.Date(20_000)
	account := func(change func(*Account)) Account {
		a := Account{Campaigns: Campaigns{Rows: []Payer{{}}, From: first, To: first + 8}}
		for d := first; d < first+9; d++ {
			a.Coverage.Days = append(a.Coverage.Days, Day{Date: d, State: schema.StateComplete, Left: N(20)})
			a.Spend.Days = append(a.Spend.Days, SpendDay{Date: d, State: schema.StateComplete, Total: N(10),
				Conversions: N(2), Arrived: N(1)})
		}
		change(&a)
		return a
	}
	for _, c := range []struct {
		name, want string
		change     func(*Account)
	}{
		{"nothing", "", func(*Account) {}},
		{"a gap outside", "", func(a *Account) {
			a.Coverage.Days = append(a.Coverage.Days, Day{Date: first + 9, State: schema.StateMissing})
		}},
		{"missing", "1 day is not known whole (Mon 7 Oct), and not counted here: run 'spendsync sync'.",
			func(a *Account) { a.Coverage.Days[3].State = schema.StateMissing }},
		{"partial, and out of reach", "1 day is lost (Mon 7 Oct)", func(a *Account) {
			a.Coverage.Days[3].State, a.Coverage.Days[3].Left = schema.StatePartial, N(0)
		}},
		{"young", "10 % of the conversions are still to come: CPA and verdict count them in", func(a *Account) {
			a.Spend.Days[8].Arrived = N(0.5)
		}},
		{"a little young", "", func(a *Account) { a.Spend.Days[8].Arrived = N(0.9) }},
		{"not known how young", "How many conversions are still to come is not known yet", func(a *Account) {
			a.Spend.Days[8].Arrived = Number{}
		}},
		{"unread", "The conversions of 1 day could not be read", func(a *Account) {
			a.Spend.Days[8].Conversions = Number{}
		}},
	} {
		got := account(c.change).note("campaigns")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (Account{Timeline: Timeline{Unconfirmed: N(2)}}).note("timeline"); !strings.HasPrefix(got, "2 settings") {
		t.Errorf("unconfirmed settings: %q", got)
	}
}

func TestRollingCPA_CountsOnlyWholeWeeks(t *testing.T) {
	var days []SpendDay
	for i := range 16 {
		days = append(days, SpendDay{Date: schema.Date(i), State: schema.StateComplete, Total: N(100),
			Conversions: N(4), Arrived: N(1), Allowed: N(80)})
	}
	days[15].Arrived, days[15].Conversions = N(0), N(0) // none of its conversions are there yet
	days[7].State = schema.StateMissing
	rates := rollingCPA(days)
	for i, want := range map[int]float64{5: 0, 6: 25, 7: 0, 13: 0, 14: 25, 15: 25} {
		if got := rates[i].CPA; got.V != want || got.Known != (want > 0) {
			t.Errorf("day %d: %+v, want %v", i, got, want)
		}
	}
	if rates[14].Young || !rates[15].Young || rates[14].Allowed.V != 20 {
		t.Errorf("the last rates are %+v and %+v", rates[14], rates[15])
	}
	if rates[6].Profit.Known || hasProfit(rates) {
		t.Errorf("without payouts the profit is %+v", rates[6].Profit)
	}
	for i := range days {
		days[i].Revenue = N(60)
	}
	days[15].Revenue = N(0) // a seventh of the week's spend has brought nothing yet
	for i, want := range map[int]float64{6: -40, 14: -40, 15: -40} {
		if got := rollingCPA(days)[i].Profit; !got.Known || math.Abs(got.V-want) > 1e-9 {
			t.Errorf("day %d: a profit of %+v, want %v", i, got, want)
		}
	}
	ticks := ticksAcross(-40, 90, 3, short)
	if first, last := ticks[0], ticks[len(ticks)-1]; first.Label != "−$50" || last.Label != "$100" {
		t.Errorf("from -40 to 90 the axis goes from %s to %s", first.Label, last.Label)
	}
	days[15].Arrived = Number{}
	if got := rollingCPA(days)[15]; !got.Unsure || !got.Young {
		t.Errorf("a day of unknown share: %+v", got)
	}
	days[14].Allowed, days[13].Conversions = Number{}, Number{} // a campaign without a target; conversions not read
	if rates = rollingCPA(days); rates[6].Allowed.V != 20 || rates[14].CPA.Known {
		t.Errorf("%+v and %+v", rates[6], rates[14])
	}
}
