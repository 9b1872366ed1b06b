package payouts

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ofTrackers are the names of these columns in exports of Voluum, RedTrack, Keitaro, Binom, BeMob and others, as
// [plain] makes them.
var ofTrackers = map[string]string{
	"day": "day", "days": "day", "date": "day", "report_date": "day",
	"campaign": "campaign", "campaign_id": "campaign", "ad_campaign_id": "campaign",
	"source": "source", "source_id": "source", "site_id": "source", "zone_id": "source", "placement_id": "source",
	"state": "state", "status": "state", "conversion_status": "state",
	"clicks": "clicks", "visits": "clicks", "conversions": "conversions", "conversions_(all)": "conversions",
	"approved": "approved", "approved_conversions": "approved", "confirmed": "approved", "sales": "approved",
	"held": "held", "hold": "held", "pending": "held", "pending_conversions": "held",
	"refused": "refused", "rejected": "refused", "declined": "refused",
	"revenue": "revenue", "approved_revenue": "revenue", "sale_revenue": "revenue",
}

// ofPayouts are the columns of payouts, under all the names that they may have.
var ofPayouts = map[string]string{
	"from": "from", "from_date": "from", "to": "to", "to_date": "to",
	"campaign": "campaign", "campaign_id": "campaign", "creative": "creative", "creative_id": "creative",
	"source": "source", "source_id": "source", "payout": "payout",
}

// preferred are pairs of headings with one meaning of which the first is the one meant. Voluum and BeMob call the
// clicks of an ad visits, and those on a landing page clicks. Keitaro's revenue includes conversions that are on hold.
var preferred = [][2]string{{"visits", "clicks"}, {"sale_revenue", "revenue"}, {"approved_revenue", "revenue"},
	{"conversions", "conversions_(all)"}}

// inDollars ends a heading that names the currency.
var inDollars = regexp.MustCompile(`[\s_]*[(\[,]?\s*(\$|usd)\s*[)\]]?$`)

// plain returns a heading in lower case, with _ for spaces and without the currency.
func plain(name string) string {
	name = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "\u00a0", " ")))
	return strings.Join(strings.Fields(inDollars.ReplaceAllString(name, "")), "_")
}

// isExport reports whether a heading is that of a tracker's export: it has a column of days.
func isExport(names []string, mapping map[string]string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return ofTrackers[plain(n)] == "day" || mapping["day"] != "" && strings.EqualFold(n, mapping["day"])
	})
}

// placesOf returns where each of our columns is in a heading, and the headings of numbers that are not read though they
// mean the same.
func placesOf(names []string, mapping map[string]string) (at map[string]int, unread []string, err error) {
	if len(mapping) > 0 {
		at, err = placesByMapping(names, mapping)
		return at, nil, err
	}
	at = map[string]int{}
	has := map[string]bool{}
	for _, name := range names {
		has[plain(name)] = true
	}
	for i, name := range names {
		p := plain(name)
		if slices.ContainsFunc(preferred, func(pair [2]string) bool { return p == pair[1] && has[pair[0]] }) {
			unread = append(unread, name)
			continue
		}
		c := ofTrackers[p]
		switch {
		case p == "leads" && (has["sales"] || has["conversions"]): // Keitaro's, on which nobody has decided
			c = "held"
		case p == "leads": // Binom's conversions
			c = "conversions"
		}
		if c == "" {
			continue
		}
		if other, twice := at[c]; twice {
			return nil, nil, fmt.Errorf("the columns %q and %q may both be the %s; name the one to read in "+
				"SPENDSYNC_TRACKER_COLUMNS", names[other], name, c)
		}
		at[c] = i
	}
	return at, unread, checkPlaces(names, at)
}

// placesByMapping returns where the columns are that SPENDSYNC_TRACKER_COLUMNS names; no other one is read.
func placesByMapping(names []string, mapping map[string]string) (map[string]int, error) {
	at := map[string]int{}
	for name, theirs := range mapping {
		if !slices.ContainsFunc(exportColumns, func(c column) bool { return c.name == name }) {
			return nil, fmt.Errorf("SPENDSYNC_TRACKER_COLUMNS: %s=%s: %s is none of day, campaign, source, state, "+
				"clicks, conversions, approved, held, refused, revenue", name, theirs, name)
		}
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), theirs) })
		if i < 0 {
			return nil, fmt.Errorf("there is no column %q, which SPENDSYNC_TRACKER_COLUMNS names for %s; the "+
				"columns are %s",
				theirs, name, strings.Join(names, ", "))
		}
		at[name] = i
	}
	return at, checkPlaces(names, at)
}

// checkPlaces refuses an export that lacks a column or has both layouts.
func checkPlaces(names []string, at map[string]int) error {
	has := func(name string) bool { _, ok := at[name]; return ok }
	var missing []string
	for _, needed := range []string{"day", "campaign", "source"} {
		if !has(needed) {
			missing = append(missing, needed)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no column is known as the %s; the columns are %s. Export the report by day, campaign "+
			"and source, "+
			"and name the columns in SPENDSYNC_TRACKER_COLUMNS, for example day=Date,campaign=Custom 1,"+
			"source=Custom 2,"+
			"revenue=Revenue", strings.Join(missing, " and the "), strings.Join(names, ", "))
	}
	for _, state := range []string{"approved", "held", "refused"} {
		if has("state") && has(state) {
			return fmt.Errorf("there are a column state and a column %s: a state has a row, or a column", state)
		}
	}
	switch {
	case has("state") && !has("conversions"):
		return errors.New("there is a column state, and no column conversions that counts those of each state")
	case !has("clicks") && !has("conversions") && !has("approved") && !has("revenue"):
		return fmt.Errorf("none of the columns %s is known as clicks, conversions, approved or revenue; name them in "+
			"SPENDSYNC_TRACKER_COLUMNS", strings.Join(names, ", "))
	}
	return nil
}

// payoutPlaces returns where the columns of payouts are. An unknown name is refused: it may be a misspelling, and its
// values would be left out.
func payoutPlaces(names []string) (map[string]int, error) {
	const form = "a file of payouts has the columns from, to, campaign, creative, source, payout, and a tracker's " +
		"export a column of days"
	at := map[string]int{}
	for i, n := range names {
		c := ofPayouts[plain(n)]
		if _, twice := at[c]; c == "" || twice {
			return nil, fmt.Errorf("the column %q is none of from, to, campaign, creative, source, payout, or is "+
				"there twice (%s)", n, form)
		}
		at[c] = i
	}
	for _, needed := range []string{"from", "payout"} {
		if _, ok := at[needed]; !ok {
			return nil, fmt.Errorf("there is no column %s; %s", needed, form)
		}
	}
	return at, nil
}
