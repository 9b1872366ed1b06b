package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Verdict names what broke, the costliest first.
func (v Breaks) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return fine("Nothing broke: conversions, clicks, spend and delivery go on as before.")
	}
	b := v.Rows[0]
	more := ""
	if n := len(v.Rows) - 1; n > 0 {
		more = fmt.Sprintf(" %s.", plural(n, "more break is known", "more breaks are known"))
	}
	switch b.Kind {
	case "conversions_stopped":
		return act("See whether the conversions of %s still reach the service: %s since %s, where %s were to be "+
			"expected. Until then nothing is concluded from its CPA, and none of its sources is judged.%s",
			b.Campaign.Label(), count(b.Observed), day(b.Since), count(b.Expected), more)
	case "delivery_stopped":
		return act("%s is active and does not deliver (%s): %s.%s", b.Campaign.Label(), words(b.Delivery),
			plain(b.Do, 120), more)
	}
	amount := count
	if b.IsMoney() {
		amount = money
	}
	return watch("%s of %s since %s: %s where %s would be usual; %s.%s", upper(words(b.Kind)), b.Campaign.Label(),
		day(b.Since), amount(b.Observed), amount(b.Expected), plain(b.Do, 120), more)
}

// IsMoney reports whether the seen and the expected value are US dollars.
func (b Break) IsMoney() bool { return b.Kind == "spend_jumped" || b.Kind == "spend_fell" }

// upper capitalizes the first letter, for the start of a sentence.
func upper(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// Verdict names the campaign that loses most. If an entire campaign misses its target, its sources
// are not the cause.
func (v Campaigns) Verdict() Verdict {
	if len(v.Rows) == 0 {
		return why(v.Why)
	}
	var worst *Payer
	for i, r := range v.Rows {
		if r.Verdict == "loses" && (worst == nil || r.isStopped() == worst.isStopped() && r.Excess.V > worst.Excess.V ||
			!r.isStopped() && worst.isStopped()) {
			worst = &v.Rows[i]
		}
	}
	switch {
	case worst != nil:
		others := ""
		if n := v.Loses - 1; n > 0 {
			others = " " + plural(n, "more campaign loses", "more campaigns lose") + " too."
		}
		return act("%s as a whole is at %s its target: a conversion cost %s there, %s even with luck against it, for "+
			"a target of %s. That is %s too much; change its creatives, its sources or its audience, or pause it: its "+
			"bids the service moves by itself.%s", worst.Campaign.Label(), timesText(worst.Ratio), money(worst.CPA),
			money(worst.Best), money(worst.Target), money(worst.Excess), others)
	case v.Unclear+v.Aimless+v.Broke == 0:
		return fine("Every campaign that spent pays: each conversion costs no more than its target, beyond chance.")
	case v.Paying == 0 && v.Unclear == 0 && v.Broke == 0 && v.Profit.Known:
		return watch("No campaign that spent has a target CPA to be held to. By your payouts all of them "+
			"together made a %s in the window; the newest days have conversions to come.", gainOrLoss(v.Profit))
	case v.Paying+v.Unclear+v.Broke == 0 && !slices.ContainsFunc(v.Rows, func(r Payer) bool {
		return r.Conversions.Known
	}):
		return why("The conversions of no campaign that spent are known, so that none can be said to pay.")
	case v.Paying == 0 && v.Unclear == 0 && v.Broke == 0:
		return why("No campaign that spent has a target CPA, so that none can be said to pay: set one, or payouts.")
	}
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{{v.Paying, "pays", "pay"}, {v.Unclear, "may or may not, as far as chance allows", "may or may not, as far as " +
		"chance allows"}, {v.Aimless, "has no target to be held to", "have no target to be held to"},
		{v.Broke, "cannot be judged, for its conversions stopped", "cannot be judged, for their conversions stopped"}} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.one, p.many))
		}
	}
	return watch("No campaign loses money beyond chance: %s.", strings.Join(parts, "; "))
}

// gainOrLoss returns a profit in words, without a sign.
func gainOrLoss(n Number) string {
	if n.V < 0 {
		return "loss of " + money(N(-n.V))
	}
	return "profit of " + money(n)
}

// timesText is a ratio in a sentence.
func timesText(n Number) string {
	if !n.Known {
		return dash
	}
	return trimmed(fmt.Sprintf("%.1f", n.V)) + " times"
}

// isStopped reports whether the campaign no longer spends, so that its losses cannot grow.
func (r Payer) isStopped() bool {
	return slices.Contains([]string{"paused", "archived", "rejected", "deleted"}, r.Status)
}

// ChangeCell returns the change of the CPA at equal age: in color if it is more than chance.
func (r Payer) ChangeCell() template.HTML {
	class := "chance"
	if r.ChangeVerdict == "dearer" || r.ChangeVerdict == "cheaper" {
		class = r.ChangeVerdict
	}
	return cellOf("n "+class, signed, r.Change)
}

// Tone is how the verdict looks.
func (r Payer) Tone() string {
	return map[string]string{"pays": "fine", "loses": "act", "broken_tracking": "act",
		"unclear": "fatiguing"}[r.Verdict]
}
