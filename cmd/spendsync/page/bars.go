package page

import (
	"fmt"
	"math"

	"spendsync/schema"
)

// bullet is one campaign's pace as places in percent of the width. The limit
// stands at limitAt, so that what goes over it is seen.
type bullet struct {
	Pace
	SpendTo, ProjectedTo, ElapsedAt float64
	Text                            string
}

const limitAt = 75

// DayBefore returns the day of the rows if it is not today's; nil: it is.
func (p Pacing) DayBefore() *schema.Date {
	if len(p.Rows) == 0 || p.Today.Date.Valid && p.Today.Date.V == p.Rows[0].Date {
		return nil
	}
	return &p.Rows[0].Date
}

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
		b.Text = fmt.Sprintf("%s of %s spent", money(r.Spend), money(r.Limit))
		if p.DayBefore() == nil {
			b.Text += fmt.Sprintf(", %s of the day gone, %s expected by its end", percent(r.Elapsed),
				money(r.Projected))
		}
		all = append(all, b)
	}
	return all
}

// hourBar is one hour of the open day, as positions in percent of the width and pixels of the
// height.
type hourBar struct {
	Spend, Usual       Number
	X, W, Y, H, UsualY float64
	To                 float64 // right end
	Text               string
}

// hoursHeight is of the strip of hours, in pixels.
const hoursHeight = 72

func hourBars(v Today) (all []hourBar) {
	top := 0.0
	for _, h := range v.Hours {
		top = max(top, h.Spend.V, h.Usual.V)
	}
	if top <= 0 {
		return nil
	}
	high := func(n Number) float64 { return math.Round(max(0, n.V)/top*(hoursHeight-4)*10) / 10 }
	for _, h := range v.Hours {
		b := hourBar{Spend: h.Spend, Usual: h.Usual, X: math.Round(float64(h.Hour)/24*10000) / 100, W: 3.4,
			H: high(h.Spend), UsualY: hoursHeight - high(h.Usual)}
		b.Y, b.To = hoursHeight-b.H, math.Round((b.X+b.W)*100)/100
		b.Text = fmt.Sprintf("%d:00 to %d:00: %s, usually %s", h.Hour, h.Hour+1, money(h.Spend), money(h.Usual))
		all = append(all, b)
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
