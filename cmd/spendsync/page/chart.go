package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/schema"
)

// chart is a drawing: percents across, so that it is as wide as its reader's screen, and pixels down.
type chart struct {
	Height float64
	Shapes []shape
	Lines  []shape // drawn over the shapes; their points count thousandths across
	Legend []shape
	Text   string // what a reader hears who does not see it
}

// shape is a rectangle, a line (W and H are its other end), a text or a path of points.
type shape struct {
	Kind, Class, Text, Title string
	X, Y, W, H               float64
}

// The edges of a drawing's plot.
const (
	left, right = 6.0, 99.5
	top, bottom = 20.0, 22.0
)

// scale places values between the edges of a plot; log is by factors.
type scale struct {
	low, high, from, to float64
	log                 bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if high <= low {
		return s.from
	}
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(max(v, s.low))
	}
	return round(s.from + (s.to-s.from)*(v-low)/(high-low))
}

func round(v float64) float64 { return math.Round(v*100) / 100 }

// vertical returns the scale of a drawing's values, and draws its level lines.
func (c *chart) vertical(low, high float64, format string) scale {
	ticks := niceTicks(min(0, low), max(0, high))
	s := scale{low: ticks[0], high: ticks[len(ticks)-1], from: c.Height - bottom, to: top}
	for i, t := range ticks {
		label := short(format, t)
		if i%(len(ticks)-1) != 0 && (c.Height-top-bottom)/float64(len(ticks)-1) < 14 { // no room
			label = ""
		}
		c.level(s.at(t), label)
	}
	return s
}

func (c *chart) level(y float64, label string) {
	c.Shapes = append(c.Shapes, shape{Kind: "line", Class: "grid", X: 0, Y: y, W: 100, H: y},
		shape{Kind: "text", Class: "tick", X: 0, Y: y - 3, Text: label})
}

// niceTicks are some four round marks with 0 among them.
func niceTicks(low, high float64) (t []float64) {
	if high <= low {
		high = low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*step*3.6 >= high-low {
			step *= m
			break
		}
	}
	first := math.Floor(low/step + 1e-9)
	for i := first; ; i++ {
		if t = append(t, i*step); i*step >= high*(1-1e-9) && i > first {
			return t
		}
	}
}

// places are the values of x in their order, each with its slot across.
type places struct {
	values []string
	of     map[string]int
}

func placesOf(rows []Row) places {
	p := places{of: map[string]int{}}
	for _, r := range rows {
		if x := r.Text("x"); r["x"].Valid {
			if _, ok := p.of[x]; !ok {
				p.of[x] = 0
				p.values = append(p.values, x)
			}
		}
	}
	slices.SortFunc(p.values, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for i, x := range p.values {
		p.of[x] = i
	}
	return p
}

func (p places) slot() float64 { return (right - left) / float64(max(1, len(p.values))) }

func (p places) middle(x string) float64 { return left + p.slot()*(float64(p.of[x])+0.5) }

// name returns a value of x as a person reads it: a day, or an hour.
func (p places) name(x string) string {
	if t, err := time.Parse(time.DateOnly, x); err == nil {
		return t.Format("Mon 2 Jan")
	}
	return x + ":00"
}

// marks draws the days of each week's start, or every sixth hour; every other one only where there is room.
func (p places) marks(c *chart) {
	n := 0
	for _, x := range p.values {
		t, err := time.Parse(time.DateOnly, x)
		text := ""
		if err == nil && (t.Weekday() == time.Monday || len(p.values) < 9) {
			text = t.Format("2 Jan")
		} else if h, err := strconv.Atoi(x); err == nil && h%6 == 0 {
			text = x + ":00"
		}
		if text != "" {
			c.Shapes = append(c.Shapes, shape{Kind: "text", Class: "tick mid" +
				map[bool]string{true: " roomy"}[n%2 == 1],
				X: round(p.middle(x)), Y: c.Height - 6, Text: text})
			n++
		}
	}
}

// stack draws a column for each x with a part for each series. A column whose state is open is hatched; so is one
// that is not known, over all of its height. Marks stand on top.
func stack(b Block, height float64) chart {
	rows, format := b.Each(), b.Format("value")
	c, p := chart{Height: height}, placesOf(rows)
	sums, all, legend := map[string]float64{}, 0.0, map[int]string{}
	for _, r := range rows {
		if v, _, ok := parse(r["value"]); ok {
			sums[r.Text("x")] += max(0, v)
			all = max(all, sums[r.Text("x")])
			legend[number(r, "place")] = r.Text("series")
		}
	}
	y := c.vertical(0, all, format)
	base, under := map[string]float64{}, round(p.slot()*0.12)
	for _, r := range rows {
		x := r.Text("x")
		at, width := round(p.middle(x)-p.slot()/2+under), round(p.slot()-2*under)
		v, _, ok := parse(r["value"])
		switch {
		case r["mark"].Valid:
			c.Shapes = append(c.Shapes, shape{Kind: "text", Class: "mark mid", X: round(p.middle(x)), Y: 12,
				Text:  r.Text("mark"),
				Title: p.name(x) + ": " + plain(r.Text("title"), 200)})
			continue
		case !ok && r.Text("state") == "":
			continue
		case !ok:
			c.Shapes = append(c.Shapes, shape{Kind: "rect", Class: "none", X: at, Y: top, W: width,
				H:     c.Height - bottom - top,
				Title: p.name(x) + ": " + unknown})
			continue
		}
		to := y.at(base[x] + max(0, v))
		s := shape{Kind: "rect", Class: fmt.Sprintf("s%d", number(r, "place")), X: at, Y: to, W: width,
			H:     round(y.at(base[x]) - to),
			Title: p.name(x) + ", " + plain(r.Text("series"), nameLength) + ": " + spell(format, v)}
		if base[x] += max(0, v); s.H > 0 {
			c.Shapes = append(c.Shapes, s)
		}
		if r.Text("state") == schema.StateOpen && s.H > 0 {
			s.Class = "open"
			c.Shapes = append(c.Shapes, s)
		}
	}
	p.marks(&c)
	for i := range 8 {
		if name, ok := legend[i]; ok {
			c.Legend = append(c.Legend, shape{Class: fmt.Sprintf("s%d", i), Text: name})
		}
	}
	c.Text = fmt.Sprintf("%s, %d columns; the highest is %s", b.Caption, len(p.values), spell(format, all))
	return c
}

func number(r Row, column string) int {
	n, _ := strconv.Atoi(r.Text(column))
	return n
}

// lines draws a line for each series. It is interrupted where a value is not known, and each part has the style of the
// row that it leads to.
func lines(b Block, height float64) chart {
	rows := b.Each()
	c, p := chart{Height: height}, placesOf(rows)
	format, low, high := b.Format("value"), 0.0, 0.0
	for _, r := range rows {
		v, _, _ := parse(r["value"])
		low, high = min(low, v), max(high, v)
		format = cmp.Or(r.Text("unit"), format)
	}
	y := c.vertical(low, high, format)
	last, points, style, said := "", []string{}, "", map[string]bool{}
	end := func() {
		if len(points) > 1 {
			c.Lines = append(c.Lines, shape{Class: style, Text: strings.Join(points, " ")})
		}
	}
	newest := Row{}
	for _, r := range rows {
		series := r.Text("series")
		v, _, ok := parse(r["value"])
		now := fmt.Sprintf("l%d %s", number(r, "place"), r.Text("style"))
		at := fmt.Sprintf("%g,%g", round(p.middle(r.Text("x"))*10), y.at(v))
		switch {
		case !ok:
			end()
			points, style = nil, now
		case series != last || len(points) == 0:
			end()
			points, style = []string{at}, now
		case now != style:
			end()
			points, style = []string{points[len(points)-1], at}, now
		default:
			points = append(points, at)
		}
		if last = series; ok {
			newest = r
			if !said[series] {
				said[series] = true
				c.Legend = append(c.Legend, shape{Class: fmt.Sprintf("l%d", number(r, "place")), Text: series})
			}
		}
	}
	end()
	p.marks(&c)
	if v, _, ok := parse(newest["value"]); ok {
		c.Text = fmt.Sprintf("%s; the last of %s is %s on %s", b.Caption, newest.Text("series"), spell(format, v),
			p.name(newest.Text("x")))
	}
	return c
}

// scatter draws a mark for each row on two scales by factors, with the range that chance leaves. A row without y stands
// at the top, at "none".
func scatter(b Block) chart {
	rows := b.Each()
	c := chart{Height: 340, Text: fmt.Sprintf("%s: %d marks", b.Caption, len(rows))}
	x, y := c.factors(b, rows)
	series := map[string]bool{}
	for _, r := range slices.Backward(rows) { // those to act on come first, and are drawn last
		v, _, ok := parse(r["x"])
		if !ok || v <= 0 {
			continue
		}
		name, class := r.Text("series"), "p-"+word(r.Text("series"))
		c.Shapes = append(c.Shapes, marked(r, x.at(v), y, class)...)
		if !series[name] {
			series[name] = true
			c.Legend = append(c.Legend, shape{Class: class, Text: name, Title: signs[name]})
		}
	}
	return c
}

// signs are the marks of the series of a scatter; of others, a circle.
var signs = map[string]string{"block": "■", "bid more": "▲", "neither": "○"}

// factors returns the two scales of a scatter, and draws their ticks.
func (c *chart) factors(b Block, rows []Row) (x, y scale) {
	x = scale{low: math.Inf(1), from: left + 2, to: right - 2, log: true}
	y = scale{low: 0.5, high: 2, from: c.Height - bottom, to: top + 18, log: true}
	for _, r := range rows {
		if v, _, ok := parse(r["x"]); ok && v > 0 {
			x.low, x.high = min(x.low, v), max(x.high, v)
		}
		for _, name := range []string{"y", "low"} {
			if v, _, ok := parse(r[name]); ok && v > 0 {
				y.low, y.high = max(0.02, min(y.low, v)), min(50, max(y.high, v))
			}
		}
	}
	if x.high <= 0 { // nothing has a place
		x.low, x.high = 1, 10
	}
	if x.low >= x.high {
		x.low, x.high = x.high/2, x.high*2
	}
	c.level(top, "none")
	for _, t := range decades(y.low, y.high, 1, 2, 5) {
		c.level(y.at(t), short(b.Format("y"), t))
	}
	for _, t := range decades(x.low, x.high, 1, 3) {
		class := "tick mid"
		if x.at(t) > 95 { // centered, it would stick out of a narrow chart
			class = "tick last"
		}
		c.Shapes = append(c.Shapes, shape{Kind: "text", Class: class, X: x.at(t), Y: c.Height - 6,
			Text: short(b.Format("x"), t)})
	}
	return x, y
}

// decades are the multiples of the powers of ten between two values above 0.
func decades(low, high float64, times ...float64) (all []float64) {
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, m := range times {
			if v := m * math.Pow(10, power); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

// marked returns a row's mark, and the range that chance leaves below or around it.
func marked(r Row, x float64, y scale, class string) (shapes []shape) {
	v, _, known := parse(r["y"])
	known = known && v > 0
	place := top
	if known {
		place = y.at(min(v, y.high))
	}
	if low, _, ok := parse(r["low"]); ok && low > 0 {
		to := place
		if high, _, ok := parse(r["high"]); ok && known {
			to = y.at(min(high, y.high))
		}
		shapes = append(shapes, shape{Kind: "line", Class: "range " + class, X: x, Y: y.at(min(low, y.high)), W: x,
			H: to})
	}
	return append(shapes, shape{Kind: "text", Class: "point mid " + class, X: x, Y: place + 4,
		Text: cmp.Or(signs[r.Text("series")], "○"), Title: plain(r.Text("title"), 200)})
}

// lane is one row of lanes: stretches of time in a state, and marks.
type lane struct {
	Name   string
	Shapes []shape
	First  string
	Last   string
}

// lanes draws the rows of each lane between the first and the last day.
func lanes(rows []Row) (all []lane) {
	day := func(r Row, column string) float64 {
		d, _ := schema.ParseDate(r.Text(column))
		return float64(d)
	}
	for _, r := range rows {
		if name := r.Text("lane"); len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, lane{Name: name, First: r.Text("first"), Last: r.Text("last")})
		}
		l := &all[len(all)-1]
		x := scale{low: day(r, "first"), high: day(r, "last"), to: 100}
		from := x.at(day(r, "from"))
		title := plain(r.Text("title"), 200)
		if r["mark"].Valid {
			l.Shapes = append(l.Shapes, shape{Kind: "text", Class: "mark mid", X: round(from + 50/max(1,
				x.high-x.low)), Y: 14, Text: r.Text("mark"), Title: title})
			continue
		}
		class := "lane c-" + word(r.Text("state"))
		if r.Is("is_assumed") {
			class += " assumed"
		}
		l.Shapes = append(l.Shapes, shape{Kind: "rect", Class: class, X: from, Y: 5, W: round(x.at(day(r,
			"to")) - from), H: 9, Title: title})
	}
	return all
}

// heat is a table whose cells have the color of their state.
type heat struct {
	Columns []string
	Rows    []heatRow
}

type heatRow struct {
	Name, Key string
	Cells     []heatCell
}

type heatCell struct {
	Format, State, Title string
	Value                schema.Null[string]
	IsThere              bool
}

// heatOf places the cells: columns by their places, rows as they come.
func heatOf(b Block) (h heat) {
	rows := b.Each()
	place := map[string]int{}
	for _, r := range rows {
		if name := r.Text("column"); !slices.Contains(h.Columns, name) {
			h.Columns = append(h.Columns, name)
			place[name] = number(r, "place")
		}
	}
	slices.SortStableFunc(h.Columns, func(a, b string) int { return place[a] - place[b] })
	for _, r := range rows {
		if n := len(h.Rows); n == 0 || h.Rows[n-1].Key != r.Text("key") {
			h.Rows = append(h.Rows, heatRow{Name: r.Text("row"), Key: r.Text("key"), Cells: make([]heatCell,
				len(h.Columns))})
		}
		h.Rows[len(h.Rows)-1].Cells[slices.Index(h.Columns, r.Text("column"))] = heatCell{b.Format("value"),
			word(r.Text("state")), r.Text("title"),
			r["value"], true}
	}
	return h
}

// Spark returns a line of its column's values, oldest first: points in a box of 100 by 24.
func (r Row) Spark() string {
	var values []float64
	for v := range strings.SplitSeq(r.Text("spark"), ",") {
		if n, err := strconv.ParseFloat(v, 64); err == nil && n-n == 0 {
			values = append(values, n)
		}
	}
	if len(values) < 2 {
		return ""
	}
	low, high := slices.Min(values), slices.Max(values)
	if high <= low {
		high = low + 1
	}
	var points []string
	for i, v := range values {
		points = append(points, fmt.Sprintf("%g,%g", round(float64(i)*100/float64(len(values)-1)),
			round(22-20*(v-low)/(high-low))))
	}
	return strings.Join(points, " ")
}
