package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// role is the meaning of a color. The style sheet defines the color in light, in dark and on paper.
type role uint8

const (
	ink role = iota
	muted
	grid
	surface
	bad
	good
	accent
	unknown    // hatched
	unfinished // hatched thinly, so that the drawing below shows
	series0    // and up to series5
	rest       = series0 + seriesMax
)

// seriesMax is how many campaigns have a color of their own.
const seriesMax = 6

// paints are the style sheet's names of the roles.
var paints = []string{"var(--ink)", "var(--muted)", "var(--grid)", "var(--surface)", "var(--bad)", "var(--good)",
	"var(--accent)",
	"url(#hatch)", "url(#thin)", "var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)",
	"var(--rest)"}

func (r role) paint() string { return paints[r] }

// RGBA makes a role a [color.Color], as the drawing library wants one; only the role counts.
func (role) RGBA() (red, green, blue, alpha uint32) { return 0, 0, 0, math.MaxUint16 }

// sheet collects the styles of all drawings as classes, so that they can stand in
// the one style sheet whose hash the page's policy allows.
type sheet struct {
	classes map[string]string
	rules   strings.Builder
	drawn   int // drawings, for ids
}

func newSheet() *sheet { return &sheet{classes: map[string]string{}} }

// class is the class of a style.
func (s *sheet) class(style string) string {
	if c, ok := s.classes[style]; ok {
		return c
	}
	c := fmt.Sprintf("d%d", len(s.classes))
	s.classes[style] = c
	fmt.Fprintf(&s.rules, ".%s{%s}\n", c, style)
	return c
}

// size is how large a drawing is: one for wide screens and paper, one for phones.
type size struct {
	w, h   float64
	narrow bool
}

// chart is a drawing for both widths; the style sheet shows one of them.
type chart struct{ Wide, Narrow template.HTML }

// chart draws plots twice, each above the next. Screen readers read its title and description.
func (s *sheet) chart(title, desc string, wide, narrow size, builds ...func(size) *plot.Plot) chart {
	narrow.narrow = true
	draw := func(class string, sz size) template.HTML {
		var plots []*plot.Plot
		for _, build := range builds {
			plots = append(plots, build(sz))
		}
		return s.svg(class, title, desc, sz, plots...)
	}
	return chart{draw("wide", wide), draw("narrow", narrow)}
}

// panelHeight is the height of each plot below the first one.
const panelHeight = 96

// place divides a canvas between plots, so that their horizontal axes begin and end together.
func place(plots []*plot.Plot, on draw.Canvas) (parts []draw.Canvas) {
	low, left, right := vg.Length(len(plots)-1)*panelHeight, vg.Length(0), vg.Length(0)
	for i, p := range plots {
		part := draw.Crop(on, 0, 0, low, 0)
		if i > 0 {
			low -= panelHeight
			part = draw.Crop(on, 0, 0, low+textSize/2, low+panelHeight-(on.Max.Y-on.Min.Y))
		}
		data := p.DataCanvas(part)
		left, right = max(left, data.Min.X-part.Min.X), max(right, part.Max.X-data.Max.X)
		parts = append(parts, part)
	}
	for i, p := range plots {
		data := p.DataCanvas(parts[i])
		parts[i] = draw.Crop(parts[i], left-(data.Min.X-parts[i].Min.X), parts[i].Max.X-data.Max.X-right, 0, 0)
	}
	return parts
}

func (s *sheet) svg(class, title, desc string, sz size, plots ...*plot.Plot) template.HTML {
	c := s.canvas(sz.w, sz.h)
	for i, part := range place(plots, draw.New(c)) {
		plots[i].Draw(part)
	}
	id := fmt.Sprintf("g%d", s.drawn)
	s.drawn++
	head := fmt.Sprintf(`<svg class=%q role="img" viewBox="0 0 %g %g" aria-labelledby="%s-t %s-d"><title id="%s-t">`+
		`%s</title><desc id="%s-d">%s</desc>`,
		class, sz.w, sz.h, id, id, id, html.EscapeString(plain(title, 200)), id, html.EscapeString(plain(desc, 500)))
	return template.HTML(head + c.svg() + "</svg>\n") // made here, of numbers and of texts escaped above
}

// textSize is the size of text in drawings, in their own units.
const textSize = 12

// newPlot is an empty plot in the page's style: a floor line, level grid lines and
// small labels.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = grid, grid
		a.Tick.Label.Color, a.Tick.Label.Font = muted, textFont()
		a.Label.TextStyle.Color, a.Label.TextStyle.Font = muted, textFont()
		a.Padding = 0
		a.Tick.Length = 4
	}
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.X.LineStyle.Width = 1
	return p
}

func textFont() font.Font { return font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize} }

// gridLines are level lines at the marks of Y, and upright ones at those of X.
func gridLines(upright bool) *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Horizontal.Width = grid, 1
	g.Vertical.Color, g.Vertical.Width = grid, 0
	if upright {
		g.Vertical.Width = 1
	}
	return g
}

// line is a line through points.
func line(xys plotter.XYs, c role, width vg.Length, dashes ...vg.Length) *plotter.Line {
	return &plotter.Line{XYs: xys, LineStyle: draw.LineStyle{Color: c, Width: width, Dashes: dashes}}
}

// glyphs are points in one shape.
func glyphs(xys plotter.XYs, c role, shape draw.GlyphDrawer, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: c, Shape: shape, Radius: radius}}
}

// labels are texts at points, with the given offset.
func labels(xys plotter.XYs, texts []string, c role, dx, dy vg.Length) *plotter.Labels {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: xys, Labels: texts})
	if err != nil {
		panic(err) // as many texts as points
	}
	for i := range l.TextStyle {
		l.TextStyle[i].Color, l.TextStyle[i].Font = c, textFont()
		l.TextStyle[i].YAlign = draw.YCenter
	}
	l.Offset = vg.Point{X: dx, Y: dy}
	return l
}

// boxes are filled rectangles of one color: one path.
func boxes(c role, rects ...rect) *plotter.Polygon {
	p := &plotter.Polygon{Color: c}
	for _, r := range rects {
		p.XYs = append(p.XYs, plotter.XYs{{X: r.x0, Y: r.y0}, {X: r.x1, Y: r.y0}, {X: r.x1, Y: r.y1},
			{X: r.x0, Y: r.y1}})
	}
	return p
}

type rect struct{ x0, y0, x1, y1 float64 }

// niceTicks are round marks from 0, some n of them, and the last is at or above max.
func niceTicks(max float64, n int, label func(float64) string) []plot.Tick {
	if max <= 0 {
		max = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(max/float64(n))))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step*m*float64(n) >= max {
			step *= m
			break
		}
	}
	var t []plot.Tick
	for i := 0; ; i++ {
		v := step * float64(i)
		t = append(t, plot.Tick{Value: v, Label: label(v)})
		if v >= max*(1-1e-9) {
			return t
		}
	}
}

// ticksAcross are round marks with 0 among them, some n of them, from low or below to top or above.
func ticksAcross(low, top float64, n int, label func(float64) string) (t []plot.Tick) {
	step := niceTicks(top-low, n, label)[1].Value
	for i := math.Floor(low/step + 1e-9); ; i++ {
		t = append(t, plot.Tick{Value: i * step, Label: label(i * step)})
		if i*step >= top*(1-1e-9) {
			return t
		}
	}
}

// logTicks are marks at 1, 2 and 5 of each decade; over long ranges at 1 alone.
func logTicks(min, max float64, label func(float64) string) []plot.Tick {
	steps := []float64{1, 2, 5}
	if max/min > 500 {
		steps = steps[:1]
	} else if max/min > 60 {
		steps = []float64{1, 3}
	} else if max/min < 12 {
		steps = []float64{1, 1.5, 2, 3, 5, 7}
	}
	var t []plot.Tick
	for e := math.Floor(math.Log10(min)); e <= math.Ceil(math.Log10(max)); e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); v >= min*(1-1e-9) && v <= max*(1+1e-9) {
				t = append(t, plot.Tick{Value: v, Label: label(v)})
			}
		}
	}
	return t
}

// logAxis makes an axis logarithmic, with a margin on both ends.
func logAxis(a *plot.Axis, min, max float64, label func(float64) string) {
	a.Min, a.Max, a.Scale = min, max, plot.LogScale{}
	a.Tick.Marker = plot.ConstantTicks(logTicks(min, max, label))
}
