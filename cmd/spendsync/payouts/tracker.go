package payouts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// exportColumns are the columns of a tracker's export, by our names.
var exportColumns = []string{"day", "campaign", "source", "state", "clicks", "conversions", "approved", "held",
	"refused", "revenue"}

// trackersNames are the names of these columns in the exports of trackers, in lower case and with _ for spaces.
var trackersNames = map[string]string{
	"day": "day", "date": "day", "report_date": "day",
	"campaign": "campaign", "campaign_id": "campaign", "ad_campaign_id": "campaign",
	"source": "source", "source_id": "source", "site_id": "source", "zone_id": "source", "placement_id": "source",
	"state": "state", "status": "state", "conversion_status": "state",
	"clicks": "clicks", "visits": "clicks", "conversions": "conversions",
	"approved": "approved", "approved_conversions": "approved", "confirmed": "approved", "sales": "approved",
	"held": "held", "hold": "held", "pending": "held", "pending_conversions": "held",
	"refused": "refused", "rejected": "refused", "declined": "refused",
	"revenue": "revenue", "approved_revenue": "revenue", "sale_revenue": "revenue",
}

// notRead are the names of columns that follow from others or are known better from the service.
var notRead = strings.Fields(`cost spend profit roi cr cv ctr epc epv cpa cpc cpv ecpa ecpc ecpm impressions
	unique_clicks unique_visits lp_clicks lp_ctr suspicious_visits errors campaign_name source_name`)

// states are a conversion's states, by the words of trackers for them.
var states = map[string]string{
	"approved": "approved", "approve": "approved", "confirmed": "approved", "accepted": "approved", "paid": "approved",
	"sale": "approved", "valid": "approved",
	"held": "held", "hold": "held", "on_hold": "held", "pending": "held", "open": "held", "lead": "held", "new": "held",
	"refused": "refused", "rejected": "refused", "declined": "refused", "cancelled": "refused", "canceled": "refused",
	"trash": "refused", "invalid": "refused", "reversed": "refused",
}

func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

// hasDays reports whether a heading is that of a tracker's export.
func hasDays(names []string, mapping map[string]string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return trackersNames[plain(n)] == "day" || mapping["day"] != "" && strings.EqualFold(n, mapping["day"])
	})
}

// placesOf returns where each of our columns is in a heading.
func placesOf(names []string, mapping map[string]string) (map[string]int, error) {
	at := map[string]int{}
	ours := func(name string) (string, error) {
		if len(mapping) == 0 {
			c := trackersNames[plain(name)]
			if c == "" && !slices.Contains(notRead, plain(name)) {
				return "", fmt.Errorf("the column %q of the tracker's export is not known; name those to read in "+
					"SPENDSYNC_TRACKER_COLUMNS, for example day=Date,campaign=Custom 1,source=Site", name)
			}
			return c, nil
		}
		for ours, theirs := range mapping {
			if strings.EqualFold(theirs, name) {
				return ours, nil
			}
		}
		return "", nil
	}
	for name, theirs := range mapping {
		if !slices.Contains(exportColumns, name) {
			return nil, fmt.Errorf("SPENDSYNC_TRACKER_COLUMNS: %s=%s: %s is none of %s", name, theirs, name,
				strings.Join(exportColumns, ", "))
		}
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, theirs) }) {
			return nil, fmt.Errorf("there is no column %q, which SPENDSYNC_TRACKER_COLUMNS names for %s", theirs, name)
		}
	}
	// The clicks of an export with visits are those on a landing page.
	hasVisits := len(mapping) == 0 && slices.ContainsFunc(names, func(n string) bool { return plain(n) == "visits" })
	for i, name := range names {
		c, err := ours(name)
		if err != nil {
			return nil, err
		}
		if c == "" || hasVisits && plain(name) == "clicks" {
			continue
		}
		if other, twice := at[c]; twice {
			return nil, fmt.Errorf("the columns %q and %q are both %s; name the one to read in "+
				"SPENDSYNC_TRACKER_COLUMNS", names[other], name, c)
		}
		at[c] = i
	}
	return at, checkPlaces(at)
}

// checkPlaces refuses an export that lacks a column or has both layouts.
func checkPlaces(at map[string]int) error {
	has := func(name string) bool { _, ok := at[name]; return ok }
	for _, needed := range []string{"day", "campaign", "source"} {
		if !has(needed) {
			return fmt.Errorf("a tracker's export needs a column %s; SPENDSYNC_TRACKER_COLUMNS names it", needed)
		}
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
		return errors.New("there is none of the columns clicks, conversions, approved and revenue")
	}
	return nil
}

// export reads the rows of a tracker's export.
type export struct {
	at    map[string]int // our columns in the file
	texts map[string]string
	rows  []schema.TrackerDay
	of    map[trackerKey]int // rows by key
	lines map[stateKey]int   // where each key is in the file, and in which state
}

type trackerKey struct {
	day              schema.Date
	campaign, source string
}

type stateKey struct {
	trackerKey
	state string // in the tracker's word; empty: the export has no column for it
}

// readExport reads an export of a row for each day, campaign and source, or for each of these and state. It returns
// the rows in key order, and the problems of each bad line.
func readExport(s *sheet, mapping map[string]string) (rows []schema.TrackerDay, problems []string, err error) {
	at, err := placesOf(s.names, mapping)
	if err != nil {
		return nil, nil, err
	}
	e := &export{at: at, texts: map[string]string{}, rows: []schema.TrackerDay{}, of: map[trackerKey]int{},
		lines: map[stateKey]int{}}
	for {
		n, values, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if err := e.add(n, values); err != nil {
			problems = append(problems, fmt.Sprintf("%s %d: %v", s.unit, n, err))
		}
	}
	slices.SortFunc(e.rows, func(a, b schema.TrackerDay) int {
		return cmp.Or(cmp.Compare(a.ReportDate, b.ReportDate), cmp.Compare(a.CampaignID, b.CampaignID),
			cmp.Compare(a.SourceID, b.SourceID))
	})
	return e.rows, problems, nil
}

// add adds a line: the first thing that is wrong with it is its error.
func (e *export) add(n int, values []string) error {
	text := func(column string) string {
		if i, ok := e.at[column]; ok {
			return values[i]
		}
		return ""
	}
	day, err := date("day", text("day"))
	if err != nil {
		return err
	}
	key := trackerKey{day, e.text(text("campaign")), e.text(text("source"))}
	row := schema.TrackerDay{ReportDate: key.day, CampaignID: key.campaign, SourceID: key.source}
	for _, c := range []struct {
		name string
		to   *schema.Null[int64]
	}{{"clicks", &row.Clicks}, {"conversions", &row.Conversions}, {"approved", &row.Approved}, {"held", &row.Held},
		{"refused", &row.Refused}} {
		if *c.to, err = count(c.name, text(c.name)); err != nil {
			return err
		}
	}
	if t := text("revenue"); t != "" {
		m, err := money("revenue", t)
		if err != nil {
			return err
		}
		row.Revenue = schema.Some(m)
	}
	word := plain(text("state"))
	if _, by := e.at["state"]; by {
		if err := e.inState(&row, word); err != nil {
			return err
		}
	} else if _, told := e.at["conversions"]; !told && row.Approved.Valid && row.Refused.Valid {
		row.Conversions = schema.Some(row.Approved.V + row.Held.V + row.Refused.V)
	}
	if first, twice := e.lines[stateKey{key, word}]; twice {
		return fmt.Errorf("%s, campaign %q, source %q has a row before, in %d: which counts?", key.day, key.campaign,
			key.source, first)
	}
	e.lines[stateKey{key, word}] = n
	i, known := e.of[key]
	if !known {
		e.of[key] = len(e.rows)
		e.rows = append(e.rows, row)
		return nil
	}
	return join(&e.rows[i], &row)
}

// text returns a text that keeps no line of the file in memory.
func (e *export) text(s string) string {
	known, ok := e.texts[s]
	if !ok {
		known = strings.Clone(s)
		e.texts[known] = known
	}
	return known
}

// inState makes a row of the conversions of one state: of the other states it has none.
func (e *export) inState(row *schema.TrackerDay, word string) error {
	if !row.Conversions.Valid {
		return errors.New(`conversions "" is not a whole number`)
	}
	row.Approved, row.Held, row.Refused = schema.Some[int64](0), schema.Some[int64](0), schema.Some[int64](0)
	switch states[word] {
	case "approved":
		row.Approved = row.Conversions
	case "held":
		row.Held = row.Conversions
	case "refused":
		row.Refused = row.Conversions
	default:
		return fmt.Errorf("state %q is none of %s", word, strings.Join(slices.Sorted(maps.Keys(states)), ", "))
	}
	if _, told := e.at["revenue"]; told && states[word] != "approved" {
		row.Revenue = schema.Some[schema.Money](0) // not earned
	}
	return nil
}

// join adds the row of another state.
func join(to, row *schema.TrackerDay) error {
	switch {
	case !to.Clicks.Valid:
		to.Clicks = row.Clicks
	case row.Clicks.Valid && row.Clicks != to.Clicks:
		return fmt.Errorf("clicks %d differ from the %d in the row of another state: are they the clicks of one "+
			"state, or of all? Write them in one row", row.Clicks.V, to.Clicks.V)
	}
	for _, sum := range [][2]*schema.Null[int64]{{&to.Conversions, &row.Conversions}, {&to.Approved, &row.Approved},
		{&to.Held, &row.Held}, {&to.Refused, &row.Refused}} {
		sum[0].V += sum[1].V
	}
	to.Revenue.V += row.Revenue.V
	if to.Revenue.Valid = to.Revenue.Valid && row.Revenue.Valid; !to.Revenue.Valid {
		to.Revenue = schema.Null[schema.Money]{}
	}
	return nil
}

var whole = regexp.MustCompile(`^[0-9]{1,15}$`)

// count reads a number of things; an empty text is not known.
func count(column, text string) (n schema.Null[int64], err error) {
	if text == "" {
		return n, nil
	}
	if !whole.MatchString(text) {
		return n, fmt.Errorf("%s %q is not a whole number", column, text)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return schema.Some(v), err
}
