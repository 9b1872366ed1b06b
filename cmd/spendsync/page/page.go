package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"spendsync/schema"
)

var (
	//go:embed style.css
	style string
	//go:embed page.html
	pageText string
	//go:embed sections.html
	sectionsText string
	//go:embed summary.html
	summaryText string

	pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
		"money": cell(money), "price": cell(price), "count": cell(count), "percent": cell(percent),
		"signed": cell(signed),
		"times":  cell(times), "factor": cell(factor), "number": cell(number),
		"day": day, "dayYear": dayYear, "instant": instant, "iso": iso, "isoDay": schema.Date.String,
		"plain": func(s string) string { return plain(s, nameLength) }, "long": func(s string) string {
			return plain(s, 200)
		},
		"letter": func(i int) string { return letters[i] }, "words": words, "inc": func(i int) int { return i + 1 },
		"moneyText": money, "roughText": rough, "percentText": percent, "countText": count, "many": countOf,
		"gain": gainOrLoss, "standIn": standIn,
	}).Parse(sectionsText + summaryText + pageText))
)

// view is an account with the values that the template derives from its numbers.
type view struct {
	Account
	ID       string // prefix of the ids of its sections
	Tiles    []tile
	Sections []section
	ToDo     []section
	Hours    []hourBar
	Weeks    []week
	States   []stateMark

	SpendChart, SourceChart, BidChart, RunwayChart chart
	Tired                                          []tiredView
	CPAs                                           []rate // by day of the spend; none: nothing to speak of
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
func Write(w io.Writer, r Page) error { return execute(w, r, "page.html", (*sheet).view) }

func execute(w io.Writer, r Page, name string, viewOf func(*sheet, Account, int) view) error {
	s := newSheet()
	var views []view
	for i, a := range r.Accounts {
		views = append(views, viewOf(s, a, i))
	}
	css := style + s.rules.String()
	sum := sha256.Sum256([]byte(css))
	var b bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&b, name, map[string]any{
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

// newView returns a view without drawings.
func newView(a Account, i int) view {
	v := view{Account: a, ID: fmt.Sprintf("a%d", i+1), Tiles: tiles(a), Sections: sections(a)}
	v.ToDo = toDo(v.Sections)
	if rates := rollingCPA(a.Spend.Days); hasCPA(rates) || hasProfit(rates) {
		v.CPAs = rates
	}
	return v
}

func (s *sheet) view(a Account, i int) view {
	v := newView(a, i)
	v.Weeks, v.States = weeks(a.Coverage), states(a.Coverage)
	if len(a.Spend.Days) > 0 {
		v.SpendChart = s.spendChart(a.Spend, v.CPAs, size{w: 900, h: 360}, size{w: 360, h: 320})
	}
	if a.Sources.isJudged() {
		v.SourceChart, v.OneTarget = s.sourceChart(a.Sources), sourceScale(a.Sources.Rows) > 0
	}
	if len(a.Bids.Rows) > 0 {
		v.BidChart = s.bidChart(a.Bids)
	}
	if a.Runway.Balance.Known && !a.Runway.AutoFunded { // nothing ends where a card is charged
		v.RunwayChart = s.runwayChart(a.Runway)
	}
	for _, t := range a.Fatigue.Rows {
		v.Tired = append(v.Tired, tiredView{t, s.tiredChart(t)})
	}
	v.Bullets = bullets(a.Pacing)
	v.Lanes, v.LaneMarks = lanes(a.Timeline)
	v.Hours = hourBars(a.Pacing.Today)
	v.Runs = runBars(a.Health)
	return v
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
