package page

import (
	"fmt"
	"math"
	"slices"

	"spendsync/schema"
)

// tile is one number of the strip on top.
type tile struct {
	Label, Value, Note, Tone string
	Exact                    Number
	Spark                    []sparkBar // oldest first
}

// sparkBar is one day of a sparkline: percents across, pixels down.
type sparkBar struct{ X, W, Y, H float64 }

// spark draws the last known values, at most 14.
func spark(values []Number) (bars []sparkBar) {
	const most, height = 14, 22
	values = slices.DeleteFunc(values, func(n Number) bool { return !n.Known })
	values = values[max(0, len(values)-most):]
	top := 0.0
	for _, n := range values {
		top = max(top, n.V)
	}
	if len(values) < 2 || top <= 0 {
		return nil
	}
	step := 100 / float64(len(values))
	for i, n := range values {
		h := math.Round(max(0, n.V)/top*10*height) / 10
		bars = append(bars, sparkBar{X: math.Round(float64(i)*step*10) / 10, W: math.Round(step*7) / 10,
			Y: math.Round((height-h)*10) / 10, H: h})
	}
	return bars
}

func tiles(a Account) []tile {
	h := a.Headline
	spent, rates := spendTile(a.Fresh, h), rollingCPA(a.Spend.Days)
	var spends, costs []Number
	for i, d := range a.Spend.Days {
		if whole(d.State) {
			spends, costs = append(spends, d.Total), append(costs, rates[i].CPA)
		}
	}
	spent.Spark = spark(spends)
	cost := cpaTile(h, a.Campaigns, costs, slices.ContainsFunc(rates, func(r rate) bool { return r.Unsure }))
	cost.Spark = spark(costs)
	return []tile{spent, todayTile(a.Pacing.Today), cost, moneyTile(h, a.Runway),
		gapTile(h), blockTile(a.Sources, a.Campaigns)}
}

func spendTile(f Freshness, h Headline) tile {
	t := tile{Label: "Spend of the last whole day", Value: money(h.Spend), Exact: h.Spend, Tone: "fine",
		Note: "no day is known whole yet"}
	if f.LastWhole.Valid {
		t.Note = day(f.LastWhole.V)
	}
	if h.Spend.Known && h.MeanSpend.Known && h.MeanSpend.V > 0 {
		change := h.Spend.V/h.MeanSpend.V - 1
		t.Note += fmt.Sprintf(": %s against the mean of the last %s, %s", signed(N(change)),
			plural(h.MeanDays, "whole day", "whole days"), money(h.MeanSpend))
		if math.Abs(change) > 0.2 {
			t.Tone = "watch"
		}
	} else {
		t.Tone = "watch" // with nothing to hold it against, nobody can say that it is fine
	}
	return unknownTile(t)
}

// todayTile shows the open day, which must not be compared with finished days.
func todayTile(v Today) tile {
	t := tile{Label: "Today so far", Value: money(v.Spend), Exact: v.Spend, Tone: "open", Note: "no day is open"}
	if v.Date.Valid {
		t.Note = fmt.Sprintf("%s, %s of the day gone", day(v.Date.V), percent(v.Elapsed))
		if v.Projected.Known {
			t.Note += fmt.Sprintf("; %s by its end, as your days go", rough(v.Projected))
		}
		if v.UsualByNow.Known && v.UsualByNow.V > 0 && v.Spend.Known {
			t.Note += fmt.Sprintf("; %s against the usual by this hour", signed(N(v.Spend.V/v.UsualByNow.V-1)))
		}
	}
	return unknownTile(t)
}

// cpaTile has the number of the section on campaigns: one number goes by one name. Its tone
// is fine only if no campaign loses: the mean of all hides one that does.
func cpaTile(h Headline, c Campaigns, costs []Number, unsure bool) tile {
	t := tile{Label: "Cost per conversion", Value: money(c.CPA), Exact: c.CPA, Tone: "fine"}
	switch {
	case !c.CPA.Known:
		t.Note = "no conversion is known in the last whole days"
	default:
		t.Note = fmt.Sprintf("all campaigns in %s days, the conversions to come counted in", count(c.Days))
		if unsure {
			t.Note = fmt.Sprintf("all campaigns in %s days; how many conversions are to come is not known yet",
				count(c.Days))
		}
		if n := len(costs) - 1; !unsure && n >= rateDays && costs[n].Known && costs[n-rateDays].Known {
			t.Note += fmt.Sprintf("; %s in the last %d days against the %d before",
				signed(N(costs[n].V/costs[n-rateDays].V-1)), rateDays, rateDays)
		}
		switch {
		case h.CPA.Known && h.AllowedCPA.Known && h.CPA.V > h.AllowedCPA.V:
			t.Tone, t.Note = "act", t.Note+"; above what the targets allow in the last "+
				plural(h.MeanDays, "whole day", "whole days")
		case c.Loses > 0:
			t.Tone, t.Note = "act", t.Note+"; "+plural(c.Loses, "campaign loses", "campaigns lose")
		case c.Broke > 0:
			t.Tone, t.Note = "watch", t.Note+"; the conversions of "+countOf(c.Broke, "campaign")+" stopped"
		case c.Unclear > 0:
			t.Tone, t.Note = "watch", t.Note+"; "+plural(c.Unclear, "campaign may", "campaigns may")+" miss theirs"
		}
	}
	return unknownTile(t)
}

func moneyTile(h Headline, r Runway) tile {
	t := tile{Label: "Money left", Value: dash, Exact: h.DaysLeft, Tone: "fine", Note: "the balance was never read"}
	switch {
	case r.Balance.Known && r.AutoFunded && r.Balance.V > r.Stop.V:
		t.Exact, t.Value, t.Note = h.Balance, money(h.Balance), "the service charges the card by itself"
	case h.DaysLeft.Known:
		t.Value = about(h.DaysLeft)
		t.Note = fmt.Sprintf("until %s becomes %s, where the service pauses campaigns", money(h.Balance),
			money(h.StopBalance))
		t.Tone = r.Verdict().Tone
	}
	return unknownTile(t)
}

func gapTile(h Headline) tile {
	t := tile{Label: "Gaps", Value: plural(h.Gaps, "day", "days"), Exact: N(float64(h.Gaps)), Tone: "fine",
		Note: "every finished day is known whole"}
	if h.Gaps > 0 {
		t.Tone, t.Note = "act", "not known whole, still to be had"
	}
	if h.Lost > 0 {
		t.Note += fmt.Sprintf("; %s lost for good", plural(h.Lost, "day", "days"))
		if t.Tone == "fine" {
			t.Tone, t.Note = "watch", plural(h.Lost, "day", "days")+" lost for good; nothing else is missing"
		}
	}
	return t
}

func blockTile(s Sources, c Campaigns) tile {
	t := tile{Label: "Sources to block", Tone: "fine", Note: "none is worse than chance explains"}
	if s.isJudged() {
		t.Exact = N(s.Block.V + s.CrowdsOut.V)
		t.Value = count(t.Exact)
	} else {
		t.Note = "no source can be judged yet"
	}
	if c.Broke > 0 {
		t.Tone, t.Note = "watch", t.Note+"; those of "+countOf(c.Broke, "campaign")+" cannot be judged"
	}
	if t.Exact.V > 0 {
		t.Tone, t.Note = "act", "going on costs about "+rough(s.stake())+" a day"
		if s.CrowdsOut.V > 0 {
			t.Note += "; " + plural(int(s.CrowdsOut.V), "takes", "take") + " the place of better sources"
		}
	}
	return unknownTile(t)
}

func unknownTile(t tile) tile {
	if !t.Exact.Known {
		t.Tone, t.Value = "unknown", dash
	}
	return t
}

// Sign is the tone's mark.
func (t tile) Sign() string {
	if t.Tone == "open" {
		return signOf(schema.StateOpen)
	}
	return Verdict{Tone: t.Tone}.Sign()
}
