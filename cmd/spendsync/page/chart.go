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

// chart is an SVG drawing. Its widths are percentages, so that it fills any screen; its heights are pixels. The labels
// of the vertical axis are outside of the drawing, in a margin of fixed width to the left.
type chart struct {
	Height float64
	Shapes []shape
	Lines  []shape // drawn on top of Shapes; x runs from 0 to 1000
	Legend []shape
	Text   string // description for screen readers
}

// shape is an element of a chart. Kind is its SVG element; for a line, W and H are the coordinates of its end.
type shape struct {
	Kind, Class, Text, Title string
	X, Y, W, H               float64
}

// The area for the data of a chart: its left and right edges in percent of the width, and the heights of the areas
// above and below it in pixels.
const (
	left, right = 0.5, 99.5
	top, bottom = 20.0, 22.0
)

// scale maps values to coordinates linearly: low -> from, high -> to.
type scale struct{ low, high, from, to float64 }

func (s scale) at(v float64) float64 {
	if s.high <= s.low {
		return s.from
	}
	return round(s.from + (s.to-s.from)*(v-s.low)/(s.high-s.low))
}

func round(v float64) float64 { return math.Round(v*100) / 100 }

// vertical draws the level lines of a chart, and returns the scale for its values. The third parameter is the y
// coordinate of the highest level; the lowest level is at the bottom of the chart.
func (c *chart) vertical(low, high, to float64, format string) scale {
	ticks := niceTicks(min(0, low), max(0, high))
	s := scale{low: ticks[0], high: ticks[len(ticks)-1], from: c.Height - bottom, to: to}
	for i, t := range ticks {
		label := short(format, t)
		if i%(len(ticks)-1) != 0 && (c.Height-to-bottom)/float64(len(ticks)-1) < 14 { // labels would overlap
			label = ""
		}
		c.level(s.at(t), label)
	}
	return s
}

func (c *chart) level(y float64, label string) {
	c.Shapes = append(c.Shapes, shape{Kind: "line", Class: "grid", X: 0, Y: y, W: 100, H: y},
		shape{Kind: "text", Class: "tick axis", X: 0, Y: y + 4, Text: label})
}

// niceTicks returns about four evenly spaced round values. The first is low or less, the last is high or more.
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

// places has the values on the x axis: the different values of the column x, sorted, and the index of each.
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

// name formats a value on the x axis: a day, or an hour of the day.
func (p places) name(x string) string {
	if t, err := time.Parse(time.DateOnly, x); err == nil {
		return t.Format("Mon 2 Jan")
	}
	return x + ":00"
}

// marks writes the labels below the x axis: the first day of each week, or every sixth hour. A small screen shows only
// every second label.
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

// markLane is the height, in pixels, of one line of marks above a chart.
const markLane = 12

// lanesOf distributes the marks above a chart over several lines, so that they do not overlap. The parameter apart is
// the minimum distance of two marks in one line, in columns. The first result maps the index of a mark's row to the
// mark's line. The second result is the number of lines.
func (p places) lanesOf(rows []Row, apart int) (lanes map[int]int, n int) {
	lanes = map[int]int{}
	var last []int // the column of the last mark in each line
	for i, r := range rows {
		if !r["mark"].Valid {
			continue
		}
		x := p.of[r.Text("x")]
		lane := slices.IndexFunc(last, func(before int) bool { return x-before >= apart })
		if lane < 0 {
			lane, last = len(last), append(last, x)
		}
		last[lane], lanes[i] = x, lane
	}
	return lanes, len(last)
}

// stack draws a chart with one column for each x. A column has one part for each series. Open days are hatched. Days
// with unknown values are hatched over the full height. Marks above the columns show changed settings; if they need
// more than one line, the chart becomes higher. The rows of the block must be sorted by x.
func stack(b Block, height float64, apart int) chart {
	rows, format := b.Each(), b.Format("value")
	p := placesOf(rows)
	lanes, n := p.lanesOf(rows, apart)
	over := float64(markLane * max(0, n-1))
	c, top := chart{Height: height + over}, top+over
	sums, all, legend := map[string]float64{}, 0.0, map[int]string{}
	for _, r := range rows {
		if v, _, ok := parse(r["value"]); ok {
			sums[r.Text("x")] += max(0, v)
			all = max(all, sums[r.Text("x")])
			legend[number(r, "place")] = r.Text("series")
		}
	}
	y := c.vertical(0, all, top, format)
	base, under := map[string]float64{}, round(p.slot()*0.12)
	for i, r := range rows {
		x := r.Text("x")
		at, width := round(p.middle(x)-p.slot()/2+under), round(p.slot()-2*under)
		v, _, ok := parse(r["value"])
		switch {
		case r["mark"].Valid:
			c.Shapes = append(c.Shapes, shape{Kind: "text", Class: "mark mid", X: round(p.middle(x)),
				Y: 12 + float64(markLane*lanes[i]), Text: r.Text("mark"),
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

// lines draws a line for each series. Where a value is unknown, the line has a gap. Each row of the block is a point;
// its style applies to the piece of the line that ends at this point.
func lines(b Block, height float64) chart {
	rows := b.Each()
	c, p := chart{Height: height}, placesOf(rows)
	format, low, high := b.Format("value"), 0.0, 0.0
	for _, r := range rows {
		v, _, _ := parse(r["value"])
		low, high = min(low, v), max(high, v)
		format = cmp.Or(r.Text("unit"), format)
	}
	y := c.vertical(low, high, top, format)
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

// Spark returns the points of a tiny line chart, in a box of 100 by 24, from the comma-separated values of the column
// spark. It returns "" if there are fewer than two values.
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
