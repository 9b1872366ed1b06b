package page

import (
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// Verdict is the one sentence of a section: what to do, made from its numbers.
type Verdict struct {
	Tone string // act, watch, fine or unknown
	Text string
}

func act(format string, args ...any) Verdict   { return Verdict{"act", fmt.Sprintf(format, args...)} }
func watch(format string, args ...any) Verdict { return Verdict{"watch", fmt.Sprintf(format, args...)} }
func fine(format string, args ...any) Verdict  { return Verdict{"fine", fmt.Sprintf(format, args...)} }
func why(text string) Verdict                  { return Verdict{"unknown", text} }

// Sign is the verdict's mark, for who does not see its colour.
func (v Verdict) Sign() string {
	return map[string]string{"act": "→", "watch": "!", "fine": "✓", "unknown": "?"}[v.Tone]
}

// Word is the mark in a word.
func (v Verdict) Word() string {
	return map[string]string{"act": "Do this:", "watch": "Watch:", "fine": "Fine:", "unknown": "Not known:"}[v.Tone]
}

func dates(days []schema.Date) string {
	var names []string
	for _, d := range days {
		names = append(names, day(d))
	}
	return list(names)
}

// Verdict says which days to read again, and until when that is possible.
func (v Coverage) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	var lost, gaps []schema.Date
	left := Number{}
	final, change := 0, 0
	for _, d := range v.Days {
		switch d.State {
		case schema.StateLost:
			lost = append(lost, d.Date)
		case schema.StateMissing, schema.StatePartial:
			gaps = append(gaps, d.Date)
			if d.Left.Known && (!left.Known || d.Left.V < left.V) {
				left = d.Left
			}
		case schema.StateFinal:
			final++
		case schema.StateComplete:
			change++
		}
	}
	switch {
	case len(gaps) > 0 && left.Known && left.V > 0:
		return act("Run 'spendsync sync' within %s: %s not known whole (%s), and can be asked for no longer than that.",
			plural(int(left.V), "day", "days"), are(len(gaps), "day"), dates(gaps))
	case len(gaps)+len(lost) > 0:
		return watch("Leave %s out of every average (%s): %s lost for good or known in part only.",
			countOf(len(gaps)+len(lost), "day"), dates(append(lost, gaps...)), isAre(len(gaps)+len(lost)))
	}
	return fine("Nothing to fetch: every finished day is known whole; %d of them may still be restated, so read the "+
		"newest ones with care.", change)
}

func isAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}

func countOf(n int, thing string) string { return plural(n, thing, thing+"s") }

// weekOnWeek are the sums of the newest 7 whole days and of the 7 before, by part.
func (v Spend) weekOnWeek() (now, before []float64, ok bool) {
	now, before = make([]float64, len(v.Campaigns)+1), make([]float64, len(v.Campaigns)+1)
	n := 0
	for _, d := range slices.Backward(v.Days) {
		if !whole(d.State) || n == 14 {
			continue
		}
		into := now
		if n >= 7 {
			into = before
		}
		for j, p := range d.Parts {
			into[j] += p.V
		}
		n++
	}
	return now, before, n == 14
}

// Verdict names the campaign that moved the week's spend most.
func (v Spend) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	now, before, ok := v.weekOnWeek()
	if !ok {
		return why("Fewer than 14 days are known whole, so no week can be compared with the week before yet.")
	}
	total, was, most := 0.0, 0.0, 0
	for j := range now {
		total, was = total+now[j], was+before[j]
		if d, top := now[j]-before[j], now[most]-before[most]; j < len(v.Campaigns) && d*d > top*top {
			most = j
		}
	}
	if was == 0 || len(v.Campaigns) == 0 {
		return watch("The last 7 whole days cost %s, after nothing in the 7 before: check that this was meant.",
			money(N(total)))
	}
	change := (total - was) / was
	moved := now[most] - before[most]
	if change < 0.05 && change > -0.05 && moved*moved < 0.01*was*was {
		return fine("Spend holds still: %s in the last 7 whole days, %s against the 7 before; no campaign moved it "+
			"by more than a tenth.", money(N(total)), signed(N(change)))
	}
	return watch("Look at %s (%s) first: it spent %s in the last 7 whole days, %s than in the 7 before; all "+
		"campaigns together %s to %s.",
		letters[most], v.Campaigns[most], money(N(now[most])), moreLess(moved), upDown(change), money(N(total)))
}

func signed(n Number) string {
	if n.Known && n.V > 0 {
		return "+" + percent(n)
	}
	return percent(n)
}

func moreLess(v float64) string {
	if v < 0 {
		return money(N(-v)) + " less"
	}
	return money(N(v)) + " more"
}

func upDown(v float64) string {
	if v < 0 {
		return "fell by " + percent(N(-v))
	}
	return "rose by " + percent(N(v))
}

// Verdict names who is held back by the limit, else who leaves most of it.
func (v Pacing) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	var over, under []string
	for _, r := range v.Rows {
		switch r.State {
		case "limited", "over", "over_limit":
			over = append(over, r.Campaign.String())
		case "under", "under_pacing":
			under = append(under, r.Campaign.String())
		}
	}
	switch {
	case len(over) > 0:
		return act("Raise the limit of %s, or lower the bid to buy more clicks with it: the limit holds %s back.",
			list(over), itThem(len(over)))
	case len(under) > 0:
		return watch("Raise the bid or widen the audience of %s if the money is meant to be spent: %s will leave a "+
			"good part of the limit.", list(under), itThey(len(under)))
	}
	return fine("Nothing to do: every campaign shown will use its limit without being held back by it.")
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func itThey(n int) string {
	if n == 1 {
		return "it"
	}
	return "they"
}

// Verdict says which sources to block and what that saves.
func (v Sources) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	var block, scale []string
	for _, r := range v.Rows {
		switch r.Verdict {
		case "block":
			block = append(block, plain(r.Source, 24))
		case "scale":
			scale = append(scale, plain(r.Source, 24))
		}
	}
	switch {
	case v.Block.V > 0:
		return act("Block %s, each in its campaign, first of all %s: they cost %s more than their conversions were "+
			"worth from %s to %s, and chance does not explain it.",
			countOf(int(v.Block.V), "source"), first(block), money(v.Excess), day(v.From), day(v.To))
	case v.Scale.V > 0:
		return act("No source is to be blocked; bid more for %s, first of all %s: they beat the target even in the "+
			"worst case.", countOf(int(v.Scale.V), "source"), first(scale))
	}
	return fine("Nothing to block: no source is worse than chance explains.")
}

// first are up to three different names, in order: a source may be bad in several
// campaigns.
func first(names []string) string {
	var once []string
	for _, n := range names {
		if !slices.Contains(once, n) && len(once) < 3 {
			once = append(once, n)
		}
	}
	return list(once)
}

// Verdict says which creative to replace first.
func (v Fatigue) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	tired := 0
	var first *Tired
	for i, r := range v.Rows {
		if r.State == "exhausted" || r.State == "fatiguing" || r.State == "fatigued" {
			if tired++; first == nil {
				first = &v.Rows[i]
			}
		}
	}
	if first == nil {
		return fine("Nothing to replace: no creative's CTR has fallen further than chance explains.")
	}
	return act("Replace %s of %s first: its CTR is %s, %s below its peak; %s.", "“"+first.Creative.String()+"”",
		first.Campaign, percent(first.CTR), percent(first.Decline),
		map[bool]string{true: "no other creative shown is tired", false: plural(tired-1, "more is tired",
			"more are tired")}[tired == 1])
}

// Verdict says which bid is furthest above what its clicks bring.
func (v Bids) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	over, stale := 0, 0
	var worst *Bid
	for i, b := range v.Rows {
		if b.Stale {
			stale++
			continue
		}
		if b.over(v.Enough) {
			if over++; worst == nil || cost(b) > cost(*worst) {
				worst = &v.Rows[i]
			}
		}
	}
	switch {
	case worst != nil:
		return act("Bid less at %s than the %s of now: a click cost %s there and brings what %s would pay for at the "+
			"target; the same holds for %s.",
			worst.label(), price(worst.Now), price(worst.CPC), price(worst.BreakEven), map[bool]string{true: "no other",
				false: plural(over-1, "other source shown", "other sources shown")}[over == 1])
	case stale == len(v.Rows):
		return why("Every bid was last read too long ago to rely on: see the health of the sync.")
	}
	return fine("Nothing to lower: at no source shown with enough conversions does a click cost more than it brings " +
		"at the target.")
}

// over says whether clicks cost more than they bring, on enough conversions to say.
func (b Bid) over(enough Number) bool {
	return b.BreakEven.Known && b.CPC.Known && b.CPC.V > b.BreakEven.V && b.Conversions.Known &&
		b.Conversions.V >= max(1, enough.V)
}

// cost is what a bid's clicks cost beyond what they bring.
func cost(b Bid) float64 { return (b.CPC.V - b.BreakEven.V) * b.Clicks.V }

func (b Bid) label() string {
	return "source " + plain(b.Source, 24) + " of " + b.Campaign.String()
}

// Verdict says by when to add money.
func (v Runway) Verdict() Verdict {
	switch {
	case !v.Balance.Known:
		return why(v.Why)
	case v.Balance.V <= v.Stop.V:
		return act("Add money now: the balance of %s is at or below %s, where the service pauses the campaigns.",
			money(v.Balance), money(v.Stop))
	case !v.DaysAtMean.Known:
		return why("The balance is known, but the pace is not: no recent day is known whole.")
	}
	by := ""
	if v.StopsOn.Valid {
		by = " before " + dayYear(v.StopsOn.V)
	}
	text := fmt.Sprintf("Add money%s: at %s a day the balance of %s reaches %s in %s.", by, money(v.Mean),
		money(v.Balance), money(v.Stop), about(v.DaysAtMean))
	if v.DaysAtMean.V < 7 {
		return Verdict{"act", text}
	}
	if v.DaysAtMean.V < 21 {
		return Verdict{"watch", text}
	}
	return Verdict{"fine", text}
}

func about(n Number) string {
	if n.Known && n.V >= 10 {
		return grouped(n.V, 0) + " days"
	}
	return count(N(round1(n.V))) + " days"
}

func round1(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

// Verdict says how long to wait before a day is judged.
func (v Restated) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	at := func() string {
		return fmt.Sprintf("%s days later it shows %s of its final spend and %s of its final conversions",
			count(v.FirstAge), percent(v.FirstSpend), percent(v.FirstConversions))
	}
	if v.FirstAge.V == 1 {
		at = func() string {
			return fmt.Sprintf("the day after it shows %s of its final spend and %s of its final conversions",
				percent(v.FirstSpend), percent(v.FirstConversions))
		}
	}
	switch {
	case v.SettledAge.Known && v.SettledAge.V <= v.FirstAge.V:
		return fine("A day can be judged as soon as it is over: %s.", at())
	case v.SettledAge.Known:
		return watch("Judge a day from %s days after it on: %s.", count(v.SettledAge), at())
	}
	return watch("Treat the newest days as provisional: %s been seen to change after the end, and too few have been "+
		"watched long enough to say when they hold still.", has(v.Changed))
}

func has(n int) string {
	if n == 1 {
		return "1 day has"
	}
	return fmt.Sprintf("%d days have", n)
}

// Verdict names the newest change.
func (v Timeline) Verdict() Verdict {
	if len(v.Lanes) == 0 {
		return why(v.Why)
	}
	n := len(v.Changes) + v.MoreRows
	if n == 0 {
		return fine("Nothing to check: no setting was seen to change from %s to %s.", day(v.From), day(v.To))
	}
	c := v.Changes[0]
	what := plain(strings.ReplaceAll(c.Columns, ",", ", "), 60)
	if what == "" {
		what = plain(c.Kind, 30)
	}
	return watch("Check that you know of %s since %s; the newest: %s of %s, seen on %s.", countOf(n, "change"),
		day(v.From), what, c.label(), instant(c.SeenAt))
}

func (c Change) label() string {
	if c.Entity == "campaign" || c.Entity == "" {
		return c.Campaign.String()
	}
	thing := words(c.Entity)
	if c.Entity == "source_rule" {
		thing = "source"
	}
	return thing + " " + plain(c.EntityID, 24) + " in " + c.Campaign.String()
}

// Verdict says what is wrong with the sync or the data, the gravest first.
func (v Health) Verdict() Verdict {
	if len(v.Runs) == 0 {
		return why(v.Why)
	}
	last := v.Runs[len(v.Runs)-1]
	var failed []string
	do := ""
	for _, c := range v.Checks {
		if c.Known && !c.Passed {
			if failed = append(failed, strings.ReplaceAll(plain(c.Name, 40), "_", " ")); do == "" {
				do = plain(c.Do, 160)
			}
		}
	}
	switch {
	case last.ExitCode != 0:
		return act("Look at the last run: it ended with exit %d, %s.", last.ExitCode, plain(last.Outcome, 120))
	case len(failed) > 0 && do != "":
		return act("See to %s of the data that failed (%s), beginning so: %s", countOf(len(failed), "check"),
			list(failed), sentence(do))
	case len(failed) > 0:
		return act("See to %s of the data that failed: %s.", countOf(len(failed), "check"), list(failed))
	}
	return fine("Nothing to do: the last run published, and all %d checks of the data passed.", v.Passed)
}

func sentence(s string) string {
	s = strings.TrimRight(s, ". ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// The descriptions below are read to who cannot see a drawing.

func describeSpend(v Spend) string {
	if len(v.Days) == 0 {
		return ""
	}
	return fmt.Sprintf("A column for each day from %s to %s, made of the spend of %s and the rest; limits as a line; "+
		"changes of settings as marks above. The table below has every number.",
		day(v.Days[0].Date), day(v.Days[len(v.Days)-1].Date), countOf(len(v.Campaigns), "campaign"))
}

func describeSources(v Sources, dollars bool) string {
	in := "multiples of the target"
	if dollars {
		in = "US dollars"
	}
	return fmt.Sprintf("%s: spend in US dollars on a logarithmic scale to the right, cost per conversion in %s on a "+
		"logarithmic scale upwards, with the range that chance leaves. The table below has every number.",
		countOf(len(v.Rows), "source"), in)
}

func describeBids(v Bids) string {
	return fmt.Sprintf("%s: the bid to the right, what a click cost upwards, both in US dollars on logarithmic "+
		"scales, and the line where both are equal. The table below has every number.", countOf(len(v.Rows), "bid"))
}

func describeRunway(v Runway) string {
	return fmt.Sprintf("The balance of %s falls to %s in %s at %s a day.", money(v.Balance), money(v.Stop),
		about(v.DaysAtMean), money(v.Mean))
}

func describeTired(v Tired) string {
	return fmt.Sprintf("The click rate is %s now and was %s at its peak: %s lower.", percent(v.CTR), percent(v.Peak),
		percent(v.Decline))
}
