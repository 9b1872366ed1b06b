package page

import (
	"cmp"
	"slices"
)

// section is a part of the page with the money that its advice is about.
type section struct {
	Name    string // of its template
	Title   string
	Verdict Verdict
	Stake   Number // US dollars a day; unknown: none that can be named
	ToDo    int    // its place in the list on top, which has its sentence; 0: it is not there
	Folded  bool   // it is opened by who needs it
	Note    string // what its days do not hold, and the cure
}

// Money is the stake in words.
func (s section) Money() string {
	if !s.Stake.Known || s.Stake.V < 0.01 {
		return ""
	}
	return "about " + rough(s.Stake) + " a day"
}

// sections are the sections in the order in which an owner asks: what broke, since nothing else holds
// while it lasts; what was spent; which campaigns, sources and creatives earn it; what changed;
// and what is left. What only the operator of the sync needs stands last and folded, unless it
// calls for action.
func sections(a Account) []section {
	all := []section{
		{"spend", "What did each day cost?", a.Spend.Verdict(), Number{}, 0, false, ""},
		{"campaigns", "Which campaigns pay?", a.Campaigns.Verdict(), a.Campaigns.stake(), 0, false, ""},
		{"sources", "Which sources earn their money?", a.Sources.Verdict(), a.Sources.stake(), 0, false, ""},
		{"fatigue", "Which creatives are worn out?", a.Fatigue.Verdict(), Number{}, 0, false, ""},
		{"timeline", "What changed in the settings?", a.Timeline.Verdict(), Number{}, 0, false, ""},
		{"runway", "How long does the money last?", a.Runway.Verdict(), a.Runway.stake(), 0, false, ""},
		{"pacing", "How does the day go?", a.Pacing.Verdict(), a.Pacing.stake(), 0, false, ""},
		{"bids", "Do clicks cost what is bid?", a.Bids.Verdict(), a.Bids.stake(), 0, false, ""},
		{"restated", "How long do finished days keep changing?", a.Restated.Verdict(), Number{}, 0, true, ""},
		{"coverage", "Is every day there?", a.Coverage.Verdict(), a.Coverage.stake(a.Headline), 0, true, ""},
		{"health", "Does the sync do well?", a.Health.Verdict(), Number{}, 0, true, ""},
	}
	if len(a.Breaks.Rows) > 0 {
		all = slices.Insert(all, 0, section{"breaks", "What broke?", a.Breaks.Verdict(), a.Breaks.stake(), 0, false,
			""})
	}
	first := toDo(all)
	for i := range all {
		all[i].Folded = all[i].Folded && all[i].Verdict.Tone != "act"
		all[i].Note = a.note(all[i].Name)
		all[i].ToDo = 1 + slices.IndexFunc(first, func(s section) bool { return s.Name == all[i].Name })
	}
	return all
}

// maxToDo is how many tasks the list on top has at most: as many as are done in a day.
const maxToDo = 5

// toDo are the sections whose advice is to be followed first: what broke, since what follows
// may rest on it, then what most money hangs on.
func toDo(all []section) (do []section) {
	for _, s := range all {
		if s.Verdict.Tone == "act" {
			do = append(do, s)
		}
	}
	slices.SortStableFunc(do, func(x, y section) int {
		if (x.Name == "breaks") != (y.Name == "breaks") {
			return map[bool]int{true: -1, false: 1}[x.Name == "breaks"]
		}
		return -cmp.Compare(x.Stake.V, y.Stake.V)
	})
	return do[:min(maxToDo, len(do))]
}

// stake is what the campaigns that broke spend a day.
func (v Breaks) stake() Number {
	total, known := 0.0, false
	counted := map[string]bool{}
	for _, b := range v.Rows {
		if b.Daily.Known && !counted[b.Campaign.ID] {
			total, known, counted[b.Campaign.ID] = total+b.Daily.V, true, true
		}
	}
	if !known {
		return Number{}
	}
	return N(total)
}

// stake is what the losing campaigns spend a day beyond their target.
func (v Campaigns) stake() Number {
	total := 0.0
	for _, r := range v.Rows {
		if r.Verdict == "loses" && !r.isStopped() {
			total += r.Excess.V
		}
	}
	return aDay(N(total), v.Days)
}

// stake is what a day of going on with the sources to block is expected to cost.
func (v Sources) stake() Number {
	if !v.Losing.Known {
		return Number{}
	}
	return N(v.Losing.V + v.Crowding.V)
}

// stake is what the sources with too high a bid cost a day.
func (v Bids) stake() Number { return aDay(v.LessSpend, v.Days) }

// stake is what the campaigns spent that something holds back.
func (v Pacing) stake() Number {
	if v.Verdict().Tone != "act" {
		return Number{}
	}
	total := 0.0
	for _, r := range v.Rows {
		switch {
		case r.Projected.Known:
			total += max(0, r.Projected.V-r.Limit.V)
		case r.Spend.Known:
			total += max(0, r.Spend.V-r.Limit.V)
		}
	}
	return N(total)
}

// stake is a day's spend while the money is about to end.
func (v Runway) stake() Number {
	if v.Verdict().Tone != "act" {
		return Number{}
	}
	return v.Pace()
}

// stake is a day's spend while the record of a day can still be had.
func (v Coverage) stake(h Headline) Number {
	if v.Verdict().Tone != "act" {
		return Number{}
	}
	return h.MeanSpend
}

// aDay returns the average of an amount over the known days of its window.
func aDay(amount, days Number) Number {
	if !amount.Known || !days.Known || days.V <= 0 {
		return Number{}
	}
	return N(amount.V / days.V)
}
