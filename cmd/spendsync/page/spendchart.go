package page

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"spendsync/schema"
)

// letters name the parts of a stack where its colors alone would have to.
var letters = []string{"A", "B", "C", "D", "E", "F", "rest"}

// spendChart draws a column a day, the campaigns' parts on each other, the limits
// as a step line above them, the days' changes of settings on three rails, and the rates below.
func (s *sheet) spendChart(v Spend, rates []rate, wide, narrow size) chart {
	top := 0.0
	for _, d := range v.Days {
		top = max(top, d.Total.V)
	}
	for _, d := range v.Days {
		if d.Limit.V <= 2*top { // a limit far above the spend would flatten the columns
			top = max(top, d.Limit.V)
		}
	}
	panels := []func(size) *plot.Plot{
		func(sz size) *plot.Plot {
			p := newPlot()
			ticks := niceTicks(top, 4, short)
			ceiling := ticks[len(ticks)-1].Value
			rails := railsOf(v)
			p.X.Min, p.X.Max = edges(v.Days)
			p.Y.Min, p.Y.Max = 0, ceiling*(1.03+0.07*float64(len(rails)))
			p.X.Tick.Marker, p.Y.Tick.Marker = dayTicks(days(v.Days), sz), plot.ConstantTicks(ticks)
			p.Add(gridLines(false))
			drawStack(p, v, ceiling)
			drawLimits(p, v, ceiling)
			drawRails(p, v, rails, ceiling)
			return p
		}}
	if len(rates) > 0 {
		panels = append(panels, func(size) *plot.Plot { return ratePlot(v.Days, rates) })
		wide.h, narrow.h = wide.h+panelHeight, narrow.h+panelHeight
	}
	below := "cost per conversion"
	if hasProfit(rates) {
		below = "profit a day"
	}
	return s.chart("Spend by day, and "+below, describeSpend(v, below), wide, narrow, panels...)
}

// fewDays is the least number of days that the axis has room for: one day's column must not fill the page.
const fewDays = 14

// edges are the ends of the axis of days.
func edges(days []SpendDay) (first, last float64) {
	return -0.6, max(fewDays, placeOf(days, len(days)-1)+1.4)
}

// apart is the distance of the open day from the finished ones: its column still grows, so it must
// not be compared with theirs.
const apart = 1.5

// placeOf is where a day's column stands.
func placeOf(days []SpendDay, i int) float64 {
	if i >= 0 && days[i].State == schema.StateOpen {
		return float64(i) + apart
	}
	return float64(i)
}

func days(of []SpendDay) []schema.Date {
	var all []schema.Date
	for _, d := range of {
		all = append(all, d.Date)
	}
	return all
}

// dayTicks mark Mondays; on a phone every other one.
func dayTicks(days []schema.Date, sz size) plot.Ticker {
	var t []plot.Tick
	every := max(1, len(days)/7/map[bool]int{false: 8, true: 3}[sz.narrow])
	n := 0
	for i, d := range days {
		if d.Weekday() != 1 {
			continue
		}
		label := ""
		if n%every == 0 {
			label = utc(d).Format("2 Jan")
		}
		t, n = append(t, plot.Tick{Value: float64(i), Label: label}), n+1
	}
	if n < 2 {
		for _, i := range []int{0, len(days) - 1} {
			t = append(t, plot.Tick{Value: float64(i), Label: utc(days[i]).Format("2 Jan")})
		}
	}
	return plot.ConstantTicks(t)
}

// whole reports whether a day's state means final or nearly final numbers.
func whole(state string) bool { return state == schema.StateComplete || state == schema.StateFinal }

func drawStack(p *plot.Plot, v Spend, ceiling float64) {
	const half = 0.4
	parts := make([][]rect, len(v.Campaigns)+1)
	var hatched, growing []rect
	var at plotter.XYs
	var names []string
	for i, d := range v.Days {
		x, floor := placeOf(v.Days, i), 0.0
		for j, part := range d.Parts {
			if part.V > 0 {
				parts[j] = append(parts[j], rect{x - half, floor, x + half, floor + part.V})
			}
			floor += part.V
		}
		switch {
		case !d.Total.Known:
			hatched = append(hatched, rect{x - 0.5, 0, x + 0.5, ceiling})
		case !whole(d.State):
			growing = append(growing, rect{x - 0.5, 0, x + 0.5, ceiling})
		}
	}
	if last := lastWhole(v.Days); last >= 0 {
		floor := 0.0
		for j, part := range v.Days[last].Parts {
			if part.V > 0.04*ceiling {
				at = append(at, plotter.XY{X: float64(last), Y: floor + part.V/2})
				names = append(names, partName(v, j))
			}
			floor += part.V
		}
	}
	for j := range parts {
		if len(parts[j]) > 0 {
			p.Add(boxes(partRole(v, j), parts[j]...))
		}
	}
	if len(hatched) > 0 {
		p.Add(boxes(unknown, hatched...))
	}
	if len(growing) > 0 {
		p.Add(boxes(unfinished, growing...))
	}
	if len(at) > 0 {
		edge := slices.Clone(at)
		for i := range edge {
			edge[i].X = partsEdge(v.Days, int(at[i].X))
		}
		p.Add(labels(edge, names, ink, 0, 0))
	}
}

// partsEdge is the position of the letters of a column's parts: next to the column if there is
// room, else at the right edge.
func partsEdge(days []SpendDay, column int) float64 {
	last := len(days) - 1
	if column == last-1 && days[last].State == schema.StateOpen {
		return float64(column) + 0.5
	}
	return placeOf(days, last) + 0.6
}

// partRole is the color of a part; the last part is the rest's.
func partRole(v Spend, j int) role {
	if j >= len(v.Campaigns) {
		return rest
	}
	return series0 + role(j)
}

func partName(v Spend, j int) string {
	if j >= len(v.Campaigns) {
		return "…"
	}
	return letters[j]
}

// lastWhole returns the index of the newest completely known day, or -1.
func lastWhole(days []SpendDay) int {
	for i := len(days) - 1; i >= 0; i-- {
		if whole(days[i].State) {
			return i
		}
	}
	return -1
}

// drawLimits draws a line over each run of days whose limits add up to a number,
// dotted where they are only assumed to have held.
func drawLimits(p *plot.Plot, v Spend, ceiling float64) {
	var steps plotter.XYs
	assumed := false
	end := func() {
		if len(steps) > 0 && assumed {
			p.Add(line(steps, ink, 1.5, 2, 3))
		} else if len(steps) > 0 {
			p.Add(line(steps, surface, 5), line(steps, ink, 2))
		}
		steps = nil
	}
	for i, d := range v.Days {
		if !d.Limit.Known || d.Limit.V > ceiling {
			end()
			continue
		}
		if d.Assumed != assumed {
			end()
			assumed = d.Assumed
		}
		x := placeOf(v.Days, i)
		if x > float64(i) {
			end()
			assumed = d.Assumed
		}
		steps = append(steps, plotter.XY{X: x - 0.5, Y: d.Limit.V}, plotter.XY{X: x + 0.5, Y: d.Limit.V})
	}
	end()
}

// rail is one kind of change of settings, with the shape that marks it.
type rail struct {
	shape draw.GlyphDrawer
	of    func(SpendDay) int
}

// railsOf are the kinds that occur: ▲ bids, ■ limits, ● status.
func railsOf(v Spend) []rail {
	var found []rail
	for _, r := range []rail{
		{draw.PyramidGlyph{}, func(d SpendDay) int { return d.Bids }},
		{draw.BoxGlyph{}, func(d SpendDay) int { return d.Limits }},
		{draw.CircleGlyph{}, func(d SpendDay) int { return d.Statuses }},
	} {
		if slices.ContainsFunc(v.Days, func(d SpendDay) bool { return r.of(d) > 0 }) {
			found = append(found, r)
		}
	}
	return found
}

// drawRails marks changes above the columns, a rail a kind.
func drawRails(p *plot.Plot, v Spend, rails []rail, ceiling float64) {
	for k, r := range rails {
		y := ceiling * (1.06 + 0.065*float64(k))
		var at plotter.XYs
		for i, d := range v.Days {
			if r.of(d) > 0 {
				at = append(at, plotter.XY{X: placeOf(v.Days, i), Y: y})
			}
		}
		p.Add(line(plotter.XYs{{X: -0.6, Y: y}, {X: placeOf(v.Days, len(v.Days)-1) + 0.5, Y: y}}, grid, 1),
			glyphs(at, accent, r.shape, 4.5))
	}
}
