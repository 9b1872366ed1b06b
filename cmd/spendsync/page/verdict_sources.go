package page

import (
	"fmt"
	"net/url"
	"slices"
)

// Verdict names the sources to block and the saving.
func (v Sources) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	if !v.isJudged() {
		return why("The conversions of no source are known, so that none can be judged.")
	}
	first := map[string][]string{}
	for _, r := range v.Rows {
		if of := first[r.Verdict]; len(of) < 3 {
			first[r.Verdict] = append(of, r.label())
		}
	}
	switch {
	case v.Block.V > 0:
		crowding := ""
		if v.CrowdsOut.V > 0 {
			crowding = fmt.Sprintf(" Block %s more, %s", count(v.CrowdsOut), v.crowding(first["crowds_out"]))
		}
		return act("Block %s, first of all %s: going on is expected to lose %s a day; from %s to %s they cost %s more "+
			"than their conversions were worth.%s", countOf(int(v.Block.V), "source"), list(first["block"]),
			money(v.Losing), day(v.From), day(v.To), money(v.Excess), crowding)
	case v.CrowdsOut.V > 0:
		return act("No source loses. Block %s, %s", countOf(int(v.CrowdsOut.V), "source"),
			v.crowding(first["crowds_out"]))
	case v.Scale.V > 0:
		return act("No source is to be blocked; bid more for %s, first of all %s: they beat the target even in the "+
			"worst case.%s", countOf(int(v.Scale.V), "source"), list(first["scale"]), v.leftToService())
	}
	return fine("Nothing to block: no source is worse than chance explains.%s", v.leftToService())
}

// crowding describes the sources that take the place of better ones.
func (v Sources) crowding(first []string) string {
	return fmt.Sprintf("first of all %s, of campaigns that spend all of their daily limit: the same money is expected "+
		"to bring %s a day more at the better sources there.", list(first), money(v.Crowding))
}

// isJudged reports whether the conversions of some source are known.
func (v Sources) isJudged() bool {
	return slices.ContainsFunc(v.Rows, func(r Source) bool { return r.Conversions.Known })
}

// leftToService describes the bids that the service adjusts by itself: a manual bid would end that.
func (v Sources) leftToService() string {
	if v.Optimized.V == 0 {
		return ""
	}
	return fmt.Sprintf(" Leave the bids of %s that beat the target to the service, which moves them by itself.",
		countOf(int(v.Optimized.V), "other source"))
}

// Verdict names the creative to replace first.
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
	if together := v.fallen(); first == nil && together != nil {
		return watch("No creative has fallen beside the others of its campaign, but those of %s fell together: the "+
			"CTR of “%s” is %s below its peak. Look at the campaign's sources, audience and offer.",
			together.Campaign.Label(), together.Creative.String(), percent(together.Decline))
	}
	if first == nil {
		return fine("Nothing to replace: no creative's CTR has fallen further than chance explains.")
	}
	beside := ""
	if first.Siblings && first.Beside.Known {
		beside = fmt.Sprintf(" and %s beside the campaign's other creatives", percent(first.Beside))
	}
	return act("Replace %s of %s first: its CTR is %s, %s below its peak%s; %s.", "“"+first.Creative.String()+"” ("+
		first.Creative.Short()+")", first.Campaign.Label(), percent(first.CTR), percent(first.Decline), beside,
		map[bool]string{true: "no other creative shown is tired", false: plural(tired-1, "more is tired",
			"more are tired")}[tired == 1])
}

// Host returns the host that the creative leads to; empty: it is not known.
func (p Push) Host() string {
	u, err := url.Parse(p.Link)
	if err != nil {
		return ""
	}
	return plain(u.Hostname(), nameLength)
}

// fallen returns the creative that fell furthest with the others of its campaign; nil: none did.
func (v Fatigue) fallen() (most *Tired) {
	for i, r := range v.Rows {
		if r.Together && (most == nil || r.Decline.V > most.Decline.V) {
			most = &v.Rows[i]
		}
	}
	return most
}

// Word returns the creative's state in words.
func (t Tired) Word() string {
	if t.Together {
		return "fell with its campaign"
	}
	return words(t.State)
}

// FromPeak returns the distance of the CTR from its peak in words.
func (t Tired) FromPeak() string {
	switch {
	case !t.Decline.Known:
		return ""
	case t.Decline.V < 0:
		return percent(N(-t.Decline.V)) + " above its earlier peak"
	}
	return percent(t.Decline) + " below its peak"
}

// Look returns the class of the creative's state.
func (t Tired) Look() string {
	if t.Together {
		return "fatiguing"
	}
	return t.State
}

// Verdict names the bid to lower. A point estimate does not suffice: only bids that are too high
// even in the best case are named, and none that the service adjusts.
func (v Bids) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	stale := 0
	var worst *Bid
	for i, b := range v.Rows {
		if b.Stale {
			stale++
		} else if b.Advice == "bid_less" && (worst == nil || b.Spend.V > worst.Spend.V) {
			worst = &v.Rows[i]
		}
	}
	left := ""
	if v.Optimized.V > 0 {
		left = fmt.Sprintf(" Leave those of %s alone: with a target CPA the service moves the bids by itself.",
			countOf(int(v.Optimized.V), "source"))
	}
	switch {
	case worst != nil:
		best, more := "", "the same holds for no other"
		if worst.Best.Known {
			best = ": " + price(worst.Best) + " is expected to earn most"
		}
		if n := int(v.Less.V) - 1; n > 0 {
			more = "the same holds for " + plural(n, "other source", "other sources")
		}
		return act("Bid less at %s than the %s of now: a click cost %s there, and it is expected to bring back too "+
			"little for that%s; %s.%s", worst.label(), price(worst.Now), price(worst.CPC), best, more, left)
	case stale == len(v.Rows):
		return why("Every bid was last read too long ago to rely on: see the health of the sync.")
	}
	return fine("Nothing to lower: at no source is a click too dear beyond chance.%s", left)
}

func (r Source) label() string { return plain(r.Source, 24) + " of " + r.Campaign.Label() }

func (b Bid) label() string {
	return "source " + plain(b.Source, 24) + " of " + b.Campaign.Label()
}
