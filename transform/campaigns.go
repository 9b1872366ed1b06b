package transform

import (
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// Campaign makes a row of a campaign from the list and the single read. Either may be the zero Entity if it was not
// read. If both have a key, the single read's counts, because it is later.
//
// A field that could not be read is NULL and named in unread, so that the last
// known value can stand in for it. A field that is not set is NULL and readable:
//
//	field                            null                 missing from both
//	name, status, default_bid        unread               unread: every campaign has one
//	daily_spend_limit                Null                 unread
//	start_date                       unread               unread: it has a default
//	source mode                      unread               unread: the description promises it
//	target_cpa                       Null: off            Missing; unread without the single read
//	end_date                         Null: never          Missing; unread without the single read
//	audience                         unread               unread
//	a member of a readable audience  Null: not restricted Omitted; Missing beside a key that is not known
//	unsupported_targeting            as missing           false; unread without an audience
//
// An empty text or list, and a limit, a target or a default bid of 0, is no value: it is unread where null
// is, and Blank elsewhere.
// Without the single read nobody knows whether a list leaves out what is set.
// unsupported_targeting counts wherever it is true, beside the audience or within
// it. The names of the keys, the source mode's among them, are those
// of service.yaml.
//
// Values are brought to one form, so that another spelling is not a change: amounts from their digits, rounded half to
// even to six decimals; statuses in lower case with underscores and the audience's country, states, platforms and
// gender in upper case, known to the description or not; lists sorted, each text once, comma-joined, and an empty one
// NULL; a start or end that is a day is the beginning of that day in Chicago. Other texts are as they were sent.
//
// What is unambiguous in another type than the description's is read: a number, a flag or
// a time as text. An empty text where a number,
// a time or a word belongs counts as missing. Any other value is refused, and so is a bid
// that is negative or does not fit DECIMAL(12,6): its column is unread, the rest is as if it
// were missing. The error is that of two replies about two campaigns, or of none.
func Campaign(a Reply, c SettingsContext) (row schema.Campaign, _ Decoded, err error) {
	r, err := newReader(c.Service, "campaign", schema.CampaignHistory.Name, "campaign_id", a.Own, a.Listed)
	if err != nil {
		return schema.Campaign{}, Decoded{}, err
	}
	settable := optional
	if a.Own.Raw == nil {
		settable = needed
	}
	row = schema.Campaign{
		AccountID: c.Account, CampaignID: r.id,
		Name:            read(r, required, r.filled, "name"),
		Status:          read(r, required, r.statusOf("status", "active", "paused", "archived", "rejected"), "status"),
		DefaultBid:      read(r, required, defaultBid, "default_bid"),
		DailySpendLimit: read(r, needed, price, "daily_spend_limit"),
		TargetCPA:       read(r, settable, price, "target_cpa"),
		StartAt:         read(r, required, r.instant, "start_at", "start_date"),
		EndAt:           read(r, settable, r.instant, "end_at", "end_date"),
	}
	if r.foreign("default_bid", "daily_spend_limit", "target_cpa") {
		row.DefaultBid, row.DailySpendLimit, row.TargetCPA = schema.Null[schema.Money]{}, schema.Null[schema.Money]{},
			schema.Null[schema.Money]{}
		r.forgetUnset("default_bid", "daily_spend_limit", "target_cpa")
	}
	audience := r.audience()
	audience.restrictions(&row)
	row.SourceMode = read(r, required, r.sourceMode, "source_mode")
	audience.unsupported(&row)
	row.Raw, row.RunID = r.raw, c.RunID
	return row, r.Decoded, nil
}

// audience reads whom a campaign is for.
type audience struct {
	reader          // of its members
	campaign reader // that it is a part of
	known    bool   // it is there and could be read
}

func (r reader) audience() *audience {
	a := &audience{campaign: r}
	a.reader, a.known = r.within("audience")
	return a
}

// restrictions reads the members that restrict an audience. By the description an audience that leaves a member out
// targets everyone in it. Beside a key that is not known a missing member may have another name.
func (a *audience) restrictions(row *schema.Campaign) {
	restriction := optional
	if !a.known {
		restriction = needed // and never found
	}
	row.Country = read(a.reader, restriction, a.codeOf("country", countries), "country")
	row.States = read(a.reader, restriction, a.codesOf("states", states), "states")
	row.Platforms = read(a.reader, restriction, a.codesOf("platforms", platforms), "platforms")
	row.SubscribedMoreThan = read(a.reader, restriction, positive, "subscribed_more_than_minutes_ago")
	row.SubscribedLessThan = read(a.reader, restriction, positive, "subscribed_less_than_minutes_ago")
	row.MinAge = read(a.reader, restriction, positive, "min_age")
	row.MaxAge = read(a.reader, restriction, positive, "max_age")
	row.Gender = read(a.reader, restriction, a.codeOf("gender", genders), "gender")
}

// unsupported reads whether the campaign has targeting that the API does not show: beside the audience or within it.
func (a *audience) unsupported(row *schema.Campaign) {
	const column = "unsupported_targeting"
	beside := read(a.campaign, optional, yesNo, column)
	inside := read(a.reader, optional, yesNo, column)
	a.forgetUnset(column)
	if a.known && a.readAll(a.from[0]) {
		omitted := slices.DeleteFunc(slices.Clone(a.Missing), func(column string) bool {
			return !slices.Contains(AudienceColumns, column)
		})
		a.forgetUnset(omitted...)
		a.Omitted = append(a.Omitted, omitted...)
	}
	switch {
	case slices.Contains(a.Unread, column) && !beside.V && !inside.V:
		// One of the two was refused, and the other is not true.
	case a.known || beside.Valid:
		row.UnsupportedTargeting = schema.Some(beside.V || inside.V)
	default:
		a.miss(column)
	}
	if v, ok := a.campaign.value(a.campaign.names("audience")...); !a.known && ok && v.Null() {
		a.Withheld = append(a.Withheld, AudienceColumns...)
	}
}

// readAll reports whether values were read from every key of an object.
func (d *Decoded) readAll(fields map[string]extract.Value) bool {
	for key := range fields {
		if !slices.Contains(d.Read, key) {
			return false
		}
	}
	return true
}

// The codes of the description.
var (
	countries = strings.Fields("US CA DE AU GB SG AE FR IT JP IL IE HK NL")
	platforms = strings.Fields("DESKTOP MOBILE TABLET OTHER")
	genders   = strings.Fields("M F")
	states    = strings.Fields("AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV " +
		"NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY")
)

// AudienceColumns come from the audience.
var AudienceColumns = []string{
	"country", "states", "platforms", "subscribed_more_than_minutes_ago", "subscribed_less_than_minutes_ago",
	"min_age", "max_age", "gender", "unsupported_targeting",
}

// Delivery makes a row of a campaign's delivery status, in lower case. If it is missing or null in both replies, it
// could not be read, according to the description, and is named in unread; if one of the two has it, it is known.
func Delivery(a Reply, c SettingsContext) (row schema.Delivery, _ Decoded, err error) {
	const key = "delivery_status"
	r, err := newReader(c.Service, "campaign", schema.DeliveryHistory.Name, "campaign_id", a.Own, a.Listed)
	if err != nil {
		return schema.Delivery{}, Decoded{}, err
	}
	r.from = slices.DeleteFunc(r.from, func(fields map[string]extract.Value) bool {
		return !slices.ContainsFunc(r.names(key), func(name string) bool { return !fields[name].Null() })
	})
	row = schema.Delivery{
		AccountID: c.Account, CampaignID: r.id,
		DeliveryStatus: read(r, needed, r.status, key),
		RunID:          c.RunID,
	}
	if len(r.from) == 0 {
		r.Withheld = []string{key}
	}
	return row, r.Decoded, nil
}

// Archived reports whether a listed campaign is archived, which it then stays.
func Archived(s *service.Service, listed extract.Entity) bool {
	return strings.EqualFold(ListedStatus(s, listed), `"archived"`)
}

// ListedStatus returns the JSON of a listed campaign's status, which need not be one that is known; empty: it has none.
func ListedStatus(s *service.Service, listed extract.Entity) string {
	for _, key := range s.Names("campaign.status") {
		if v, ok := listed.Fields[key]; ok {
			return string(v)
		}
	}
	return ""
}
