package transform

import (
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// Campaign makes a row of a campaign from two replies: its entry in the list of campaigns, and the reply about this
// campaign alone (the single reply). An Entity that was not read is zero. If both replies have a key, the single reply
// counts, because it was read later.
//
// A field that could not be read is NULL and in Unread, so that the caller can use the last known value. A field that
// is not set is NULL, and in one of the lists Null, Missing, Blank and Omitted of [Decoded]. The following table names
// that list:
//
//	field                            null                 missing from both
//	name, status, default_bid        unread               unread: every campaign has one
//	daily_spend_limit                Null                 unread
//	start_date                       unread               unread: it has a default
//	source mode                      unread               unread: the description promises it
//	target_cpa                       Null: off            Missing; unread without the single reply
//	end_date                         Null: never          Missing; unread without the single reply
//	audience                         unread               unread
//	a member of a readable audience  Null: not restricted Omitted; Missing if the audience has an unknown key
//	unsupported_targeting            as missing           false; unread without an audience
//
// An empty text, and a limit, a target or a default bid of 0, count as no value: the column is unread if it would be
// unread without its key, and otherwise in Blank. An empty list counts as null. Without the single reply it is unknown
// whether the list of campaigns omits fields that are set. unsupported_targeting is true if the flag is true next to
// the audience or within the audience. The names of the keys are those of service.yaml.
//
// Values are normalized, so that another spelling is not a change. Amounts come from their digits, rounded half to even
// to six decimals. Statuses are in lower case with underscores; the audience's country, states, platforms and gender
// are in upper case, whether the description lists them or not. Lists are sorted, without duplicates, and comma-joined;
// an empty list is NULL. A start or end that is a day is the beginning of that day in Chicago. Other texts are as
// received.
//
// A number, a boolean or a time may also be a text, if it is unambiguous. An empty text in place of a number, a time or
// a word counts as missing. Any other value is refused and its column is unread. A bid that is negative or does not fit
// DECIMAL(12,6) is refused, too. Campaign returns an error if the two replies are about different campaigns, or neither
// names one.
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

// audience reads the audience of a campaign.
type audience struct {
	reader            // reads the members of the audience
	campaign   reader // reads the campaign
	isReadable bool   // whether there is a readable audience
}

func (r reader) audience() *audience {
	a := &audience{campaign: r}
	a.reader, a.isReadable = r.within("audience")
	return a
}

// restrictions reads the members that restrict an audience. By the description, a missing member means no restriction.
// But if the audience has an unknown key, a missing member may have been renamed.
func (a *audience) restrictions(row *schema.Campaign) {
	restriction := optional
	if !a.isReadable {
		restriction = needed // without a readable audience, a missing member is unread, not unrestricted
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

// unsupported reads whether the campaign has targeting that the API does not show. The flag may be next to the audience
// or within it.
func (a *audience) unsupported(row *schema.Campaign) {
	const column = "unsupported_targeting"
	beside := read(a.campaign, optional, yesNo, column)
	inside := read(a.reader, optional, yesNo, column)
	a.forgetUnset(column)
	if a.isReadable && a.readAll(a.from[0]) {
		omitted := slices.DeleteFunc(slices.Clone(a.Missing), func(column string) bool {
			return !slices.Contains(AudienceColumns, column)
		})
		a.forgetUnset(omitted...)
		a.Omitted = append(a.Omitted, omitted...)
	}
	switch {
	case slices.Contains(a.Unread, column) && !beside.V && !inside.V:
		// One of the two flags was refused, and neither is true: the value is unknown.
	case a.isReadable || beside.Valid:
		row.UnsupportedTargeting = schema.Some(beside.V || inside.V)
	default:
		a.miss(column)
	}
	if v, ok := a.campaign.value(a.campaign.names("audience")...); !a.isReadable && ok && v.Null() {
		a.Withheld = append(a.Withheld, AudienceColumns...)
	}
}

// readAll reports whether the field Read contains every key of an object.
func (d *Decoded) readAll(fields map[string]extract.Value) bool {
	for key := range fields {
		if !slices.Contains(d.Read, key) {
			return false
		}
	}
	return true
}

// The codes that the service's description lists. Other codes are stored, too, but recorded as unnamed.
var (
	countries = strings.Fields("US CA DE AU GB SG AE FR IT JP IL IE HK NL")
	platforms = strings.Fields("DESKTOP MOBILE TABLET OTHER")
	genders   = strings.Fields("M F")
	states    = strings.Fields("AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV " +
		"NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY")
)

// AudienceColumns are the columns that are read from the audience.
var AudienceColumns = []string{
	"country", "states", "platforms", "subscribed_more_than_minutes_ago", "subscribed_less_than_minutes_ago",
	"min_age", "max_age", "gender", "unsupported_targeting",
}

// Delivery makes a row of a campaign's delivery status, in lower case. A status that is missing or null in both replies
// is unread: by the service's description, the service itself could not read it.
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

// Archived reports whether a listed campaign is archived, which is permanent.
func Archived(s *service.Service, listed extract.Entity) bool {
	return strings.EqualFold(ListedStatus(s, listed), `"archived"`)
}

// ListedStatus returns the JSON of a listed campaign's status, even if the status is unknown; empty: there is none.
func ListedStatus(s *service.Service, listed extract.Entity) string {
	return string(listedValue(s, listed, "campaign.status"))
}

// listedValue returns a value of an entry in a list. A line of the service file lists the possible keys; the first key
// that the entry has counts. The value is nil if the entry has none of the keys.
func listedValue(s *service.Service, listed extract.Entity, line string) extract.Value {
	for _, key := range s.Names(line) {
		if v, ok := listed.Fields[key]; ok {
			return v
		}
	}
	return nil
}
