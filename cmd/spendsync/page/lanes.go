package page

import (
	"math"
	"slices"

	"spendsync/schema"
)

// laneView is a lane with its places in percent of the width.
type laneView struct {
	Campaign Named
	Spans    []spanView
	Marks    []mark
	Text     string
}

type spanView struct {
	X, W   float64
	Class  string
	Status string
}

// mark is a shape or a word at a place.
type mark struct {
	X           float64
	Shape, Text string
}

func lanes(t Timeline) (all []laneView, days []mark) {
	if len(t.Lanes) == 0 {
		return nil, nil
	}
	n := float64(t.To-t.From) + 1
	place := func(d float64) float64 { return math.Round(d/n*10000) / 100 }
	for _, l := range t.Lanes {
		v := laneView{Campaign: l.Campaign, Text: l.Campaign.String() + ": " + countOf(len(l.Marks), "look") +
			" that saw changes"}
		for _, s := range l.Spans {
			v.Spans = append(v.Spans, spanView{place(float64(s.From - t.From)), place(float64(s.To-s.From) + 1),
				statusClass(s), plain(s.Status, 20)})
		}
		for _, m := range l.Marks {
			v.Marks = append(v.Marks, shapes(m, place(m.SeenAt.Sub(t.From.Start()).Hours()/24))...)
		}
		all = append(all, v)
	}
	step := max(1, int(n)/4)
	for i := 0; i < int(n); i += step {
		days = append(days, mark{X: place(float64(i)), Text: utc(t.From + schema.Date(i)).Format("2 Jan")})
	}
	return all, days
}

// statusClass is how a stretch of days looks.
func statusClass(s Span) string {
	if !slices.Contains([]string{"active", "paused", "archived", "rejected", "deleted"}, s.Status) {
		return "none"
	}
	if s.Assumed {
		return s.Status + " assumed"
	}
	return s.Status
}

// shapes are the marks of one look: one for each kind of change.
func shapes(m Mark, at float64) (all []mark) {
	for _, k := range []struct {
		is   bool
		name string
	}{{m.Other, "other"}, {m.Status, "status"}, {m.Limit, "limit"}, {m.Bid, "bid"}} {
		if k.is {
			all = append(all, mark{at, k.name, countOf(m.Changes, "change") + " seen on " + instant(m.SeenAt)})
		}
	}
	return all
}
