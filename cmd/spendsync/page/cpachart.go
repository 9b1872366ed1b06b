package page

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"spendsync/schema"
)

// rate is the cost per conversion of the days of a week.
type rate struct {
	CPA, Allowed Number // of all campaigns; by their targets
	Young        bool   // conversions are still to come, so it is an estimate
	Unsure       bool   // how many is not known, so it is too high
}

// rateDays is the length of a rate's window, and youngBelow the share of final conversions below which it is young.
const (
	rateDays   = 7
	youngBelow = 0.9
)

// rollingCPA returns the cost per conversion over the week that ends on each day, the conversions still to come counted
// in. A week in which a day or its conversions are not known has none.
func rollingCPA(days []SpendDay) []rate {
	rates := make([]rate, len(days))
	for i := range days {
		if i+1 >= rateDays {
			rates[i] = weekCPA(days[i+1-rateDays : i+1])
		}
	}
	return rates
}

func weekCPA(days []SpendDay) (r rate) {
	spend, arrived, conversions, allowed, targets := 0.0, 0.0, 0.0, 0.0, true
	for _, d := range days {
		if !whole(d.State) || !d.Total.Known || !d.Conversions.Known {
			return rate{}
		}
		share := 1.0
		if d.Arrived.Known {
			share = d.Arrived.V
		}
		r.Unsure = r.Unsure || d.isUnsure()
		spend, arrived, conversions = spend+d.Total.V, arrived+share*d.Total.V, conversions+d.Conversions.V
		allowed, targets = allowed+d.Allowed.V, targets && d.Allowed.Known
	}
	if conversions <= 0 || spend <= 0 {
		return rate{}
	}
	r.CPA, r.Young = N(arrived/conversions), r.Unsure || arrived < youngBelow*spend
	if targets {
		r.Allowed = N(allowed / conversions)
	}
	return r
}

// Allowed reports whether what the targets allow is known at some day.
func (v view) Allowed() bool {
	return slices.ContainsFunc(v.CPAs, func(r rate) bool { return r.Allowed.Known })
}

// isUnsure reports whether the number of the day's conversions that are still to come is not known.
func (d SpendDay) isUnsure() bool { return d.State == schema.StateComplete && !d.Arrived.Known }

func hasCPA(rates []rate) bool {
	return slices.ContainsFunc(rates, func(r rate) bool { return r.CPA.Known })
}

// cpaPlot draws the rates below the columns of their last days.
func cpaPlot(days []SpendDay, rates []rate) *plot.Plot {
	p := newPlot()
	top := 0.0
	for _, r := range rates {
		top = max(top, r.CPA.V)
	}
	for _, r := range rates {
		if r.Allowed.V <= 2*top { // a target far above the rates would flatten them
			top = max(top, r.Allowed.V)
		}
	}
	ticks := niceTicks(top, 3, short)
	p.X.Min, p.X.Max = edges(days)
	p.Y.Min, p.Y.Max = 0, ticks[len(ticks)-1].Value*1.04
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(ticks)
	p.Add(gridLines(false))
	draw := func(value func(rate) Number, c role, width vg.Length, dashes ...vg.Length) {
		var run plotter.XYs
		for i := range len(rates) + 1 {
			n := Number{}
			if i < len(rates) {
				n = value(rates[i])
			}
			if n.Known && n.V <= p.Y.Max {
				run = append(run, plotter.XY{X: placeOf(days, i), Y: n.V})
				continue
			}
			if len(run) > 0 {
				p.Add(line(run, c, width, dashes...))
			}
			run = nil
		}
	}
	draw(func(r rate) Number { return r.Allowed }, ink, 1.5, 6, 4)
	draw(func(r rate) Number { return r.CPA }, accent, 2, 2, 3)
	draw(func(r rate) Number {
		if r.Young {
			return Number{}
		}
		return r.CPA
	}, accent, 2.5)
	return p
}
