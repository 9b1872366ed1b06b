package page

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"spendsync/schema"
)

// rate is what the days of a week cost and brought.
type rate struct {
	CPA, Allowed Number // cost per conversion of all campaigns; by their targets
	Profit       Number // US dollars a day, by the account's payouts
	Young        bool   // conversions are still to come, so it is an estimate
	Unsure       bool   // how many is not known, so it is too high
}

// rateDays is the length of a rate's window, and youngBelow the share of final conversions below which it is young.
const (
	rateDays   = 7
	youngBelow = 0.9
)

// rollingCPA returns the cost per conversion, and the profit, over the week that ends on each day, the conversions
// still to come counted in. A week in which a day or its conversions are not known has none.
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
	spend, arrived, conversions, allowed, revenue, targets, paid := 0.0, 0.0, 0.0, 0.0, 0.0, true, true
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
		revenue, paid = revenue+d.Revenue.V, paid && d.Revenue.Known
	}
	if spend <= 0 {
		return rate{}
	}
	r.Young = r.Unsure || arrived < youngBelow*spend
	if paid && arrived > 0 {
		r.Profit = N(spend * (revenue/arrived - 1) / rateDays)
	}
	if conversions <= 0 {
		return rate{Profit: r.Profit, Young: r.Young}
	}
	r.CPA = N(arrived / conversions)
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

func hasProfit(rates []rate) bool {
	return slices.ContainsFunc(rates, func(r rate) bool { return r.Profit.Known })
}

// Profits reports whether the rates are drawn and listed as profit: that is what an account with payouts is run for.
func (v view) Profits() bool { return hasProfit(v.CPAs) }

// ratePlot draws the rates below the columns of their last days.
func ratePlot(days []SpendDay, rates []rate) *plot.Plot {
	p := newPlot()
	value, top, low := func(r rate) Number { return r.CPA }, 0.0, 0.0
	if hasProfit(rates) {
		value = func(r rate) Number { return r.Profit }
	}
	for _, r := range rates {
		top, low = max(top, value(r).V), min(low, value(r).V)
	}
	for _, r := range rates {
		if r.Allowed.V <= 2*top && !hasProfit(rates) { // a target far above the rates would flatten them
			top = max(top, r.Allowed.V)
		}
	}
	ticks := ticksAcross(low, top, 3, short)
	p.X.Min, p.X.Max = edges(days)
	p.Y.Min, p.Y.Max = ticks[0].Value, ticks[len(ticks)-1].Value*1.04
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
	if hasProfit(rates) {
		p.Add(line(plotter.XYs{{X: p.X.Min, Y: 0}, {X: p.X.Max, Y: 0}}, ink, 1))
	} else {
		draw(func(r rate) Number { return r.Allowed }, ink, 1.5, 6, 4)
	}
	draw(value, accent, 2, 2, 3)
	draw(func(r rate) Number {
		if r.Young {
			return Number{}
		}
		return value(r)
	}, accent, 2.5)
	return p
}
