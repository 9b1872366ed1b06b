package page

import (
	"fmt"
	"strings"

	"spendsync/schema"
)

// leastToCome is the share of conversions still to come from which a section mentions it, as the answers of
// "spendsync query" do.
const leastToCome = 0.02

// note returns what the days of a section do not hold, with the cure. It is empty if nothing is to be said.
func (a Account) note(section string) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	from, to, ok := a.window(section)
	if ok {
		var gaps, lost []schema.Date
		for _, d := range a.Coverage.Days {
			switch {
			case d.Date < from || d.Date > to:
			case d.State == schema.StateLost, d.State == schema.StatePartial && d.Left.V == 0:
				lost = append(lost, d.Date)
			case d.State == schema.StateMissing || d.State == schema.StatePartial:
				gaps = append(gaps, d.Date)
			}
		}
		if len(gaps) > 0 {
			add("%s not known whole (%s), and not counted here: run 'spendsync sync'.", are(len(gaps), "day"),
				dates(gaps))
		}
		if len(lost) > 0 {
			add("%s lost (%s), and not counted here: sums are too low by what was spent then.", are(len(lost), "day"),
				dates(lost))
		}
		share, unread, unsure := a.Spend.toCome(from, to)
		if unread > 0 && (section == "spend" || section == "campaigns") {
			add("The conversions of %s could not be read, so those days have no CPA.", countOf(unread, "day"))
		}
		counted, are := map[string]string{"campaigns": "CPA and verdict count", "sources": "the verdicts count"},
			map[string]string{"campaigns": "conversions and profit", "sources": "conversions and CPA"}
		if section == "campaigns" && unsure > 0 {
			add("How many conversions are still to come is not known yet: the CPA of the newest days is too high. " +
				"A few weeks of daily syncs show it.")
		}
		if counted[section] != "" && share >= leastToCome {
			add("%s of the conversions are still to come: %s them in; %s are those so far.", percent(N(share)),
				counted[section], are[section])
		}
	}
	if section == "timeline" && a.Timeline.Unconfirmed.V > 0 {
		add("%s could not be confirmed by the last sync and may be older: 'spendsync query mart.unconfirmed_settings'.",
			countOf(int(a.Timeline.Unconfirmed.V), "setting"))
	}
	return strings.Join(notes, " ")
}

// window returns the days that a section counts.
func (a Account) window(section string) (from, to schema.Date, ok bool) {
	switch section {
	case "spend":
		if n := len(a.Spend.Days); n > 0 {
			return a.Spend.Days[0].Date, a.Spend.Days[n-1].Date, true
		}
	case "campaigns", "bids":
		return a.Campaigns.From, a.Campaigns.To, len(a.Campaigns.Rows) > 0
	case "sources":
		return a.Sources.From, a.Sources.To, len(a.Sources.Rows) > 0
	case "fatigue":
		if len(a.Fatigue.Rows) > 0 && len(a.Fatigue.Rows[0].Days) > 0 {
			days := a.Fatigue.Rows[0].Days
			return days[0].Date, days[len(days)-1].Date, true
		}
	}
	return 0, 0, false
}

// toCome returns the share of the conversions of some days that is still to come, and the numbers of whole days whose
// conversions could not be read, and of which that share is not known.
func (v Spend) toCome(from, to schema.Date) (share float64, unread, unsure int) {
	seen, final := 0.0, 0.0
	for _, d := range v.Days {
		switch {
		case d.Date < from || d.Date > to || !whole(d.State) || !d.Total.Known:
		case !d.Conversions.Known:
			unread++
		case d.Arrived.Known && d.Arrived.V > 0:
			seen, final = seen+d.Conversions.V, final+d.Conversions.V/d.Arrived.V
		default:
			if d.isUnsure() {
				unsure++
			}
			seen, final = seen+d.Conversions.V, final+d.Conversions.V
		}
	}
	if final <= 0 {
		return 0, unread, unsure
	}
	return 1 - seen/final, unread, unsure
}
