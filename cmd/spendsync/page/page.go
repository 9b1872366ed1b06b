package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/schema"
)

var (
	//go:embed style.css
	style string
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
		"money": cell(money), "price": cell(price), "count": cell(count), "percent": cell(percent),
		"signed": cell(signed),
		"times":  cell(times), "number": cell(number),
		"day": day, "dayYear": dayYear, "instant": instant, "iso": iso, "isoDay": schema.Date.String,
		"plain": func(s string) string { return plain(s, nameLength) }, "long": func(s string) string {
			return plain(s, 200)
		},
		"letter": func(i int) string { return letters[i] }, "words": words, "inc": func(i int) int { return i + 1 },
		"moneyText": money, "roughText": rough, "percentText": percent, "countText": count, "many": countOf,
		"digits": func(n int) string { return grouped(float64(n), 0) },
	}).Parse(pageText))
)

// view is an account with what is made of its numbers for the template.
type view struct {
	Account
	ID     string // prefix of the ids of its sections
	Tiles  []tile
	Weeks  []week
	States []stateMark

	SpendChart, SourceChart, BidChart, RunwayChart chart
	Tired                                          []tiredView
	Bullets                                        []bullet
	Lanes                                          []laneView
	LaneMarks                                      []mark
	Runs                                           []runBar
	OneTarget                                      bool
}

type tiredView struct {
	Tired
	Chart chart
}

// Write writes the page of a report. The same report gives the same bytes.
func Write(w io.Writer, r Report) error {
	s := newSheet()
	var views []view
	for i, a := range r.Accounts {
		views = append(views, s.view(a, i))
	}
	css := style + s.rules.String()
	sum := sha256.Sum256([]byte(css))
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		"Report": r, "Accounts": views, "CSS": template.CSS(css), // ours: a file and classes made of roles and numbers
		"Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'",
		"Marks": stateMarks,
	})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func (s *sheet) view(a Account, i int) view {
	v := view{Account: a, ID: fmt.Sprintf("a%d", i+1), Tiles: tiles(a), Weeks: weeks(a.Coverage),
		States: states(a.Coverage)}
	if len(a.Spend.Days) > 0 {
		v.SpendChart = s.spendChart(a.Spend)
	}
	if len(a.Sources.Rows) > 0 {
		v.SourceChart, v.OneTarget = s.sourceChart(a.Sources), sourceScale(a.Sources.Rows) > 0
	}
	if len(a.Bids.Rows) > 0 {
		v.BidChart = s.bidChart(a.Bids)
	}
	if a.Runway.Balance.Known {
		v.RunwayChart = s.runwayChart(a.Runway)
	}
	for _, t := range a.Fatigue.Rows {
		v.Tired = append(v.Tired, tiredView{t, s.tiredChart(t)})
	}
	v.Bullets = bullets(a.Pacing)
	v.Lanes, v.LaneMarks = lanes(a.Timeline)
	v.Runs = runBars(a.Health)
	return v
}

// stateMark is how a day's state looks: a sign, a class, and what it means.
type stateMark struct {
	State, Sign, Means string
	N                  int
}

var stateMarks = []stateMark{
	{State: schema.StateFinal, Sign: "■", Means: "final: can no longer change"},
	{State: schema.StateComplete, Sign: "●", Means: "whole, may still be restated"},
	{State: schema.StateOpen, Sign: "◐", Means: "today: the day goes on"},
	{State: schema.StatePartial, Sign: "◔", Means: "partial: last read before it was over"},
	{State: schema.StateMissing, Sign: "○", Means: "missing, still to be had"},
	{State: schema.StateLost, Sign: "✗", Means: "lost for good"},
}

func signOf(state string) string {
	for _, m := range stateMarks {
		if m.State == state {
			return m.Sign
		}
	}
	return "?"
}

// states are the states that occur, with how often.
func states(c Coverage) []stateMark {
	var found []stateMark
	for _, m := range stateMarks {
		for _, d := range c.Days {
			if d.State == m.State {
				m.N++
			}
		}
		if m.N > 0 {
			found = append(found, m)
		}
	}
	return found
}

// week is one line of the calendar, Monday first.
type week struct {
	Monday schema.Date
	Days   [7]*calendarDay
}

type calendarDay struct {
	Day
	Number int
	Sign   string
	Label  string
}

func weeks(c Coverage) []week {
	var all []week
	for _, d := range c.Days {
		place := (int(d.Date.Weekday()) + 6) % 7
		monday := d.Date - schema.Date(place)
		if len(all) == 0 || all[len(all)-1].Monday != monday {
			all = append(all, week{Monday: monday})
		}
		label := dayYear(d.Date) + ": " + d.State
		if d.Spend.Known {
			label += ", " + money(d.Spend)
		}
		all[len(all)-1].Days[place] = &calendarDay{d, utc(d.Date).Day(), signOf(d.State), label}
	}
	return all
}

// Month is the month's name in the first week of it, for the calendar's margin.
func (w week) Month() string { return utc(w.Monday).Format("Jan 2006") }

// bullet is one campaign's pace as places in percent of the width. The limit
// stands at limitAt, so that what goes over it is seen.
type bullet struct {
	Pace
	SpendTo, ProjectedTo, ElapsedAt float64
	Text                            string
}

const limitAt = 75

func bullets(p Pacing) []bullet {
	var all []bullet
	for _, r := range p.Rows {
		at := func(n Number) float64 {
			if !n.Known || !r.Limit.Known || r.Limit.V <= 0 {
				return 0
			}
			return math.Round(min(100, max(0, n.V/r.Limit.V*limitAt))*100) / 100
		}
		b := bullet{Pace: r, SpendTo: at(r.Spend), ProjectedTo: at(r.Projected)}
		b.ElapsedAt = math.Round(r.Elapsed.V*limitAt*100) / 100
		b.Text = fmt.Sprintf("%s of %s spent, %s of the day gone, %s expected by its end", money(r.Spend),
			money(r.Limit), percent(r.Elapsed), money(r.Projected))
		all = append(all, b)
	}
	return all
}

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

// runBar is one run of the strip.
type runBar struct {
	Run
	X, W, H, Y float64
	Class      string
	Text       string
}

func runBars(h Health) []runBar {
	longest := 0.0
	for _, r := range h.Runs {
		longest = max(longest, r.Seconds.V)
	}
	var all []runBar
	w := math.Round(10000/float64(max(len(h.Runs), 24))) / 100
	for i, r := range h.Runs {
		b := runBar{Run: r, X: math.Round(float64(i)*w*100) / 100, W: math.Round(w*82) / 100, H: 6, Class: "ok"}
		if longest > 0 {
			b.H = math.Round(6 + 54*r.Seconds.V/longest)
		}
		b.Y = 64 - b.H
		if r.ExitCode != 0 {
			b.Class = "failed"
		}
		b.Text = fmt.Sprintf("%s, %s: exit %d, %s s", plain(r.Command, 20), instant(r.Started), r.ExitCode,
			number(r.Seconds))
		all = append(all, b)
	}
	return all
}

// words makes a column's or a check's name readable.
func words(s string) string {
	return plain(strings.ReplaceAll(strings.ReplaceAll(s, "_", " "), ",", ", "), 120)
}

// iso is an instant for machines, in UTC; empty where there is none.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Class is the shade of a cell: h4 to h-4, by the change of conversions where it is
// known, else of spend.
func (c RestatedCell) Class() string {
	n := c.shown()
	if !n.Known {
		return "h1"
	}
	for i, edge := range []float64{0.1, 0.02, 0.005, 0} {
		if n.V > edge {
			return fmt.Sprintf("h%d", 4-i)
		}
		if n.V < -edge {
			return fmt.Sprintf("h-%d", 4-i)
		}
	}
	return "h0"
}

func (c RestatedCell) shown() Number {
	if c.Conversions.Known && c.Conversions.V != 0 {
		return c.Conversions
	}
	return c.Spend
}

// SpendText is the upper line of a cell, ConversionsText the lower one.
func (c RestatedCell) SpendText() string { return "$ " + shade(c.Spend) }

func (c RestatedCell) ConversionsText() string { return "cv " + shade(c.Conversions) }

func shade(n Number) string {
	switch {
	case !n.Known:
		return "?"
	case n.V == 0:
		return "0"
	case math.Abs(n.V) < 0.0005:
		return plus(n.V) + trimmed(strconv.FormatFloat(math.Abs(n.V)*100, 'f', 4, 64)) + " %"
	case math.Abs(n.V) < 0.1:
		return plus(n.V) + trimmed(fmt.Sprintf("%.1f", math.Abs(n.V)*100)) + " %"
	}
	return plus(n.V) + grouped(math.Abs(n.V)*100, 0) + " %"
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return sign(v)
}

// Text is the cell in words.
func (c RestatedCell) Text() string {
	return fmt.Sprintf("%s, %s conversions in %s", moneyChange(c.SpendDelta), plus(c.ConversionsDelta.V)+
		count(N(math.Abs(c.ConversionsDelta.V))), countOf(int(c.Lines.V), "line"))
}

func moneyChange(n Number) string {
	if n.Known && n.V > 0 {
		return "+" + money(n)
	}
	return money(n)
}

// Failed are the checks that found something.
func (h Health) Failed() []Check { return h.checks(true) }

// Fine are the other ones.
func (h Health) Fine() []Check { return h.checks(false) }

func (h Health) checks(failed bool) []Check {
	var some []Check
	for _, c := range h.Checks {
		if (c.Known && !c.Passed) == failed {
			some = append(some, c)
		}
	}
	return some
}
