package page

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// sourceScale returns the sources' common target. Their CPA is drawn in US dollars if there is one;
// if not, sourceScale returns 0, and each CPA is drawn as a multiple of the source's own target.
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

// verdicts are the looks of sources, by the action that each needs.
var verdicts = []struct {
	name  string
	color role
	shape draw.GlyphDrawer
	size  vg.Length
}{
	{"", muted, draw.RingGlyph{}, 3}, {"optimized", muted, draw.TriangleGlyph{}, 4},
	{"scale", good, draw.PyramidGlyph{}, 5}, {"crowds_out", bad, draw.SquareGlyph{}, 4},
	{"block", bad, draw.BoxGlyph{}, 4},
}

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
			p.Add(glyphs(at, v.color, v.shape, v.size))
		}
		if len(names) > 0 {
			p.Add(labels(texts, names, ink, 7, 0))
		}
	}
}

// clear reports whether there is room for a label next to a point, on logarithmic axes: a share of
// the width, and of the height.
func clear(p *plot.Plot, others plotter.XYs, at plotter.XY, room float64) bool {
	width, height := math.Log(p.X.Max/p.X.Min), math.Log(p.Y.Max/p.Y.Min)
	for _, o := range others {
		if math.Abs(math.Log(o.X/at.X)) < room*1.4*width && math.Abs(math.Log(o.Y/at.Y)) < 0.04*height {
			return false
		}
	}
	return true
}
