package page

import (
	"spendsync/schema"
)

// stateMark is the appearance of a day's state: a sign, a class, and its meaning.
type stateMark struct {
	State, Sign, Means string
	N                  int
}

var stateMarks = []stateMark{
	{State: schema.StateFinal, Sign: "■", Means: "final: can no longer change"},
	{State: schema.StateComplete, Sign: "●", Means: "whole, may still be restated"},
	{State: schema.StateOpen, Sign: "◐", Means: "today: the day is not over"},
	{State: schema.StatePartial, Sign: "◔", Means: "partial: last read before it was over"},
	{State: schema.StateMissing, Sign: "○", Means: "missing, still to be had"},
	{State: schema.StateLost, Sign: "✗", Means: "lost for good"},
}

func signOf(state string) string {
	for _, m := range stateMarks {
		if m.State == state {
			return m.Sign
		}
	}
	return "?"
}

// states are the states that occur, with how often.
func states(c Coverage) []stateMark {
	var found []stateMark
	for _, m := range stateMarks {
		for _, d := range c.Days {
			if d.State == m.State {
				m.N++
			}
		}
		if m.N > 0 {
			found = append(found, m)
		}
	}
	return found
}

// week is one line of the calendar, Monday first.
type week struct {
	Monday schema.Date
	Days   [7]*calendarDay
}

type calendarDay struct {
	Day
	Number int
	Sign   string
	Label  string
}

func weeks(c Coverage) []week {
	var all []week
	for _, d := range c.Days {
		place := (int(d.Date.Weekday()) + 6) % 7
		monday := d.Date - schema.Date(place)
		if len(all) == 0 || all[len(all)-1].Monday != monday {
			all = append(all, week{Monday: monday})
		}
		label := dayYear(d.Date) + ": " + d.State
		if d.Spend.Known {
			label += ", " + money(d.Spend)
		}
		all[len(all)-1].Days[place] = &calendarDay{d, utc(d.Date).Day(), signOf(d.State), label}
	}
	return all
}

// Month is the month's name in the first week of it, for the calendar's margin.
func (w week) Month() string { return utc(w.Monday).Format("Jan 2006") }
