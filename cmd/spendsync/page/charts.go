package page

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"spendsync/schema"
)

// bidChart plots bids against the cost of a click; above the slope a click costs more than its bid.
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
