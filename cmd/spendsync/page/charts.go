package page

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"spendsync/schema"
)

// letters name the parts of a stack where its colours alone would have to.
var letters = []string{"A", "B", "C", "D", "E", "F", "rest"}

// spendChart draws a column a day, the campaigns' parts on each other, the limits
// as a step line above them, and the days' changes of settings on three rails.
func (s *sheet) spendChart(v Spend) chart {
	top := 0.0
	for _, d := range v.Days {
		top = max(top, d.Total.V)
	}
	for _, d := range v.Days {
		if d.Limit.V <= 2*top { // a limit far above the spend would flatten the columns
			top = max(top, d.Limit.V)
		}
	}
	return s.chart("Spend by day", describeSpend(v), size{w: 900, h: 360}, size{w: 360, h: 320},
		func(sz size) *plot.Plot {
			p := newPlot()
			ticks := niceTicks(top, 4, short)
			ceiling := ticks[len(ticks)-1].Value
			rails := railsOf(v)
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.6, float64(len(v.Days))+0.4, 0,
				ceiling*(1.03+0.07*float64(len(rails)))
			p.X.Tick.Marker, p.Y.Tick.Marker = dayTicks(days(v.Days), sz), plot.ConstantTicks(ticks)
			p.Add(gridLines(false))
			drawStack(p, v, ceiling)
			drawLimits(p, v, ceiling)
			drawRails(p, v, rails, ceiling)
			return p
		})
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

// whole says whether a day's state stands for its final or nearly final numbers.
func whole(state string) bool { return state == schema.StateComplete || state == schema.StateFinal }

func drawStack(p *plot.Plot, v Spend, ceiling float64) {
	const half = 0.4
	parts := make([][]rect, len(v.Campaigns)+1)
	var hatched, growing []rect
	var at plotter.XYs
	var names []string
	for i, d := range v.Days {
		x, floor := float64(i), 0.0
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
			edge[i].X = float64(len(v.Days)) - 0.4
		}
		p.Add(labels(edge, names, ink, 0, 0))
	}
}

// partRole is the colour of a part; the last part is the rest's.
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

// lastWhole is the place of the newest day that is known whole, or -1.
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
		steps = append(steps, plotter.XY{X: float64(i) - 0.5, Y: d.Limit.V}, plotter.XY{X: float64(i) + 0.5,
			Y: d.Limit.V})
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
				at = append(at, plotter.XY{X: float64(i), Y: y})
			}
		}
		p.Add(line(plotter.XYs{{X: -0.6, Y: y}, {X: float64(len(v.Days)) - 0.5, Y: y}}, grid, 1),
			glyphs(at, accent, r.shape, 4.5))
	}
}

// span is the range of a log axis that holds the values, widened to be no line.
func span(values []float64, room float64) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	if high < 4*low {
		room = max(room, 2)
	}
	return low / room, high * room
}

// sourceScale says in what the sources' CPA is drawn: US dollars while all have one
// target, else multiples of each one's own.
func sourceScale(rows []Source) (oneTarget float64) {
	for _, r := range rows {
		if !r.Target.Known {
			continue
		}
		if oneTarget != 0 && r.Target.V != oneTarget {
			return 0
		}
		oneTarget = r.Target.V
	}
	return oneTarget
}

// whiskersMax is how many sources without a verdict get whiskers.
const whiskersMax = 12

// sourceChart draws what a source costs against what a conversion costs there, with
// the range that chance leaves. Sources without a conversion stand on the rail at
// the top, hung from it to the least that their CPA can be.
func (s *sheet) sourceChart(v Sources) chart {
	target := sourceScale(v.Rows)
	in := func(r Source, n Number) float64 {
		switch {
		case !n.Known || !r.Target.Known || r.Target.V <= 0:
			return 0
		case target > 0:
			return n.V
		}
		return n.V / r.Target.V
	}
	line1, label := 1.0, func(f float64) string { return trimmed(fmt.Sprintf("%.3f", f)) + "×" }
	if target > 0 {
		line1, label = target, short
	}
	return s.chart("Sources: spend against cost per conversion", describeSources(v, target > 0), size{w: 900, h: 420},
		size{w: 360, h: 400}, func(sz size) *plot.Plot {
			p := newPlot()
			xs, ys := []float64{}, []float64{line1}
			for _, r := range v.Rows {
				if in(r, r.Best) > 0 || in(r, r.CPA) > 0 {
					xs, ys = append(xs, r.Spend.V), append(ys, in(r, r.CPA))
					if r.Verdict != "" {
						ys = append(ys, in(r, r.Best))
					}
				}
			}
			x0, x1 := span(xs, 1.25)
			y0, y1 := span(ys, 1.4)
			y0 = max(y0, line1/50)
			rail := y1 * 1.15
			logAxis(&p.X, x0, x1, short)
			logAxis(&p.Y, y0, rail*1.12, label)
			p.Y.Tick.Marker = plot.ConstantTicks(append(logTicks(y0, y1, label), plot.Tick{Value: rail, Label: "none"}))
			p.Add(gridLines(true), line(plotter.XYs{{X: x0, Y: line1}, {X: x1, Y: line1}}, ink, 1.5, 6, 4))
			drawSources(p, v.Rows, in, rail, y0, 26/sz.w)
			return p
		})
}

// verdicts are how sources look that are to be blocked, to be scaled, or neither.
var verdicts = []struct {
	name  string
	color role
	shape draw.GlyphDrawer
}{{"", muted, draw.RingGlyph{}}, {"scale", good, draw.PyramidGlyph{}}, {"block", bad, draw.BoxGlyph{}}}

func drawSources(p *plot.Plot, rows []Source, in func(Source, Number) float64, rail, floor, room float64) {
	for _, v := range verdicts {
		var at, texts plotter.XYs
		var names []string
		for i, r := range rows {
			y := in(r, r.CPA)
			if r.Conversions.Known && r.Conversions.V == 0 {
				y = rail
			}
			if r.Verdict != v.name || y <= 0 || r.Spend.V <= 0 {
				continue
			}
			at = append(at, plotter.XY{X: r.Spend.V, Y: y})
			if low := in(r, r.Best); low > 0 && (v.name != "" || i < whiskersMax) {
				high := rail
				if w := in(r, r.Worst); w > 0 {
					high = min(w, rail)
				}
				p.Add(line(plotter.XYs{{X: r.Spend.V, Y: max(low, floor)}, {X: r.Spend.V, Y: high}}, v.color, 1))
			}
			if v.name != "" && clear(p, at[:len(at)-1], at[len(at)-1], room) {
				texts, names = append(texts, plotter.XY{X: r.Spend.V, Y: y}), append(names, fmt.Sprint(i+1))
			}
		}
		if len(at) > 0 {
			p.Add(glyphs(at, v.color, v.shape, map[string]vg.Length{"": 3, "scale": 5, "block": 4}[v.name]))
		}
		if len(names) > 0 {
			p.Add(labels(texts, names, ink, 7, 0))
		}
	}
}

// clear says whether there is room for a label beside a point, on logarithmic
// axes: a share of the width, and of the height.
func clear(p *plot.Plot, others plotter.XYs, at plotter.XY, room float64) bool {
	width, height := math.Log(p.X.Max/p.X.Min), math.Log(p.Y.Max/p.Y.Min)
	for _, o := range others {
		if math.Abs(math.Log(o.X/at.X)) < room*1.4*width && math.Abs(math.Log(o.Y/at.Y)) < 0.04*height {
			return false
		}
	}
	return true
}

// bidChart draws what is bid against what a click cost; above the slope a click
// costs more than its bid.
func (s *sheet) bidChart(v Bids) chart {
	return s.chart("Bid against cost per click", describeBids(v), size{w: 900, h: 380}, size{w: 360, h: 340},
		func(sz size) *plot.Plot {
			p := newPlot()
			var all []float64
			for _, b := range v.Rows {
				if b.Bid.V > 0 && b.CPC.V > 0 {
					all = append(all, b.Bid.V, b.CPC.V)
				}
			}
			low, high := span(all, 1.15)
			logAxis(&p.X, low, high, short)
			logAxis(&p.Y, low, high, short)
			p.Add(gridLines(true), line(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, ink, 1.5, 6, 4))
			for _, k := range []struct {
				stale, own bool
				color      role
				shape      draw.GlyphDrawer
			}{{true, false, muted, draw.CrossGlyph{}}, {true, true, muted, draw.CrossGlyph{}},
				{false, false, series0, draw.CircleGlyph{}}, {false, true, series0 + 5, draw.PyramidGlyph{}}} {
				var at plotter.XYs
				for _, b := range v.Rows {
					if b.Stale == k.stale && (b.Origin == "source") == k.own && b.Bid.V > 0 && b.CPC.V > 0 {
						at = append(at, plotter.XY{X: b.Bid.V, Y: b.CPC.V})
					}
				}
				if len(at) > 0 {
					p.Add(glyphs(at, k.color, k.shape, 4))
				}
			}
			return p
		})
}

// runwayMax is how many days ahead the projection is drawn.
const runwayMax = 60

// runwayChart draws the balance going down at the account's own pace and at full
// limits, to where the service stops the campaigns.
func (s *sheet) runwayChart(v Runway) chart {
	return s.chart("Days of money left", describeRunway(v), size{w: 900, h: 280}, size{w: 360, h: 280},
		func(sz size) *plot.Plot {
			p := newPlot()
			ahead := 7.0
			for _, d := range []Number{v.DaysAtMean, v.DaysAtFull} {
				if d.Known {
					ahead = max(ahead, min(d.V*1.1, runwayMax))
				}
			}
			ahead = math.Ceil(ahead)
			ticks := niceTicks(max(v.Balance.V, v.Warning.V*1.5), 4, short)
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, ahead, 0, ticks[len(ticks)-1].Value
			p.X.Tick.Marker, p.Y.Tick.Marker = aheadTicks(v, ahead, sz), plot.ConstantTicks(ticks)
			p.Add(gridLines(false))
			if v.Warning.Known {
				p.Add(line(plotter.XYs{{X: 0, Y: v.Warning.V}, {X: ahead, Y: v.Warning.V}}, muted, 1, 2, 3))
			}
			p.Add(line(plotter.XYs{{X: 0, Y: v.Stop.V}, {X: ahead, Y: v.Stop.V}}, bad, 2))
			for _, f := range []struct {
				pace, days Number
				color      role
				dashes     []vg.Length
				name       string
			}{{v.Full, v.DaysAtFull, series0 + 5, []vg.Length{3, 4}, "at full limits"},
				{v.Mean, v.DaysAtMean, series0, nil,
					"at your pace"}} {
				if !f.pace.Known || f.pace.V <= 0 {
					continue
				}
				end := min(ahead, max(0, (v.Balance.V-v.Stop.V)/f.pace.V))
				to := plotter.XY{X: end, Y: v.Balance.V - end*f.pace.V}
				p.Add(line(plotter.XYs{{X: 0, Y: v.Balance.V}, to}, f.color, 2.5, f.dashes...))
				if to.Y <= v.Stop.V+1e-6 {
					p.Add(glyphs(plotter.XYs{to}, f.color, draw.CrossGlyph{}, 5))
				}
			}
			p.Add(glyphs(plotter.XYs{{X: 0, Y: v.Balance.V}}, ink, draw.CircleGlyph{}, 4.5))
			return p
		})
}

func aheadTicks(v Runway, ahead float64, sz size) plot.Ticker {
	every := max(1, int(ahead)/map[bool]int{false: 8, true: 4}[sz.narrow])
	var t []plot.Tick
	for d := 0; float64(d) <= ahead; d += every {
		t = append(t, plot.Tick{Value: float64(d), Label: utc(schema.DateOf(v.AsOf) + schema.Date(d)).Format("2 Jan")})
	}
	return plot.ConstantTicks(t)
}

// tiredChart draws a creative's CTR over its recent days and its peak: one of many,
// small on every screen.
func (s *sheet) tiredChart(v Tired) chart {
	sz := size{w: 220, h: 96}
	p := newPlot()
	top := v.Peak.V
	var runs []plotter.XYs
	var dots plotter.XYs
	open := false
	for i, d := range v.Days {
		if !d.Value.Known {
			open = false
			continue
		}
		if !open {
			runs, open = append(runs, nil), true
		}
		xy := plotter.XY{X: float64(i), Y: d.Value.V}
		runs[len(runs)-1] = append(runs[len(runs)-1], xy)
		dots, top = plotter.XYs{xy}, max(top, d.Value.V)
	}
	if top == 0 {
		top = 1
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(v.Days))-0.2, 0, top*1.12
	ticks := []plot.Tick{{Value: 0, Label: ""}, {Value: top, Label: percent(N(top))}}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(ticks)
	if len(v.Days) > 1 {
		p.X.Tick.Marker = plot.ConstantTicks([]plot.Tick{
			{Value: 1.5, Label: utc(v.Days[0].Date).Format("2 Jan")}, {Value: float64(len(v.Days)) - 2.5,
				Label: utc(v.Days[len(v.Days)-1].Date).Format("2 Jan")}})
		p.X.Tick.LineStyle.Width = 0
	}
	if v.Peak.Known {
		p.Add(line(plotter.XYs{{X: -0.5, Y: v.Peak.V}, {X: float64(len(v.Days)) - 0.5, Y: v.Peak.V}}, muted, 1, 4, 3))
	}
	for _, r := range runs {
		p.Add(line(r, series0, 2))
	}
	if len(dots) > 0 {
		p.Add(glyphs(dots, bad, draw.CircleGlyph{}, 3.5))
	}
	return chart{Wide: s.svg("small", "CTR of "+v.Creative.String(), describeTired(v), sz, p)}
}
