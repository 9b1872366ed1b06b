package variations

import (
	"net/http"
	"net/url"
	"slices"
	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/wire"
	"strconv"
	"strings"
	"time"
)

// fieldsQuirks: the fields of a campaign.
var fieldsQuirks = []Quirk{
	{Name: "bids-text", Doc: `bids and limits are texts: "0.45"`,
		change: all(deep("default_bid daily_spend_limit target_cpa bid available_balance threshold amount", asText),
			deep("average_daily_spend days_left used limit", asText))},
	{Name: "bids-object", Doc: `bids and limits are objects: {"amount":"0.45","currency":"USD"}`,
		change: in(ofCampaigns, "default_bid daily_spend_limit target_cpa",
			like(`{"amount":"TEXT","currency":"USD"}`))},
	{Name: "bid-renamed", Doc: "default_bid is called max_cpc",
		change: in(ofCampaigns, "default_bid", renamed("max_cpc"))},
	{Name: "limit-missing", Doc: "a campaign has no daily_spend_limit",
		change: in(ofCampaigns, "daily_spend_limit", drop)},
	{Name: "limit-null", Doc: "daily_spend_limit is null", change: in(ofCampaigns, "daily_spend_limit", nulled)},
	{Name: "camel-keys", Doc: "keys of the advertiser API are in camel case: defaultBid",
		change: edit(ofAPI, func(e *node) { e.Walk(func(of *node, key string) { of.Rename(key, camel(key)) }) })},
	{Name: "status-uppercase", Doc: "statuses are in upper case: ACTIVE",
		change: in(ofBoth, "status delivery_status", words(strings.ToUpper))},
	{Name: "status-other-words", Doc: "a campaign's status has a word that the description does not know: RUNNING",
		change: in(ofCampaigns, "status",
			words(replaced("active=RUNNING paused=STOPPED archived=ENDED rejected=REFUSED")))},
	{Name: "delivery-missing", Doc: "delivery_status is missing", change: in(ofCampaigns, "delivery_status", drop)},
	{Name: "detail-sparse", Doc: "the read of one campaign has only what the list lacks",
		change: in([]place{atCampaign}, "name status delivery_status default_bid daily_spend_limit created_at", drop)},
	{Name: "list-sparse", Doc: "the list of campaigns has only their IDs and names",
		change: in([]place{atCampaigns}, "status delivery_status default_bid daily_spend_limit created_at", drop)},
	{Name: "keys-flicker", Doc: "campaigns, creatives and sources have a key that is another one in every reply",
		change: each(ofAPI, func(x *exchange, _ int, e *node) {
			e.Set("request_id", text(x.accounts[0].World.RequestID()))
			e.Set("generated_at", text(x.now.UTC().Format(time.RFC3339Nano)+strconv.Itoa(x.times("flicker"))))
		})},
}

// timesQuirks: the format of times.
var timesQuirks = []Quirk{
	{Name: "times-no-zone", Doc: "times have no zone: 2026-11-01T06:00:00",
		change: formatted("2006-01-02T15:04:05", time.UTC)},
	{Name: "times-offset", Doc: "times have an offset without a colon: 2026-11-01T00:00:00-0600",
		change: formatted("2006-01-02T15:04:05-0700", chicagoWinter)},
	{Name: "times-epoch-millis", Doc: "times are milliseconds since 1970",
		change: times(epoch(time.Time.UnixMilli))},
	{Name: "times-object", Doc: `times are objects: {"$date":"2026-11-01T06:00:00Z"}`,
		change: times(func(t time.Time) *node { return with("$date", text(t.UTC().Format(time.RFC3339))) })},
	{Name: "times-words", Doc: "times are written for people: Nov 1, 2026, 6:00 AM",
		change: formatted("Jan 2, 2006, 3:04 PM", time.UTC)},
	{Name: "end-date-empty", Doc: `end_date of a campaign that has none is ""`,
		change: in(ofCampaigns, "end_date", ifNull(put(`""`)))},
	{Name: "end-date-missing", Doc: "a campaign without an end_date has no such key",
		change: in(ofCampaigns, "end_date", ifNull(drop))},
}

// audiencesQuirks: the audience of a campaign.
var audiencesQuirks = []Quirk{
	{Name: "audience-missing", Doc: "campaigns have no key audience", change: in(ofCampaigns, "audience", drop)},
	{Name: "audience-nulls", Doc: "what an audience does not restrict is null or an empty list",
		change: audience(func(_, a *node) {
			for key := range strings.FieldsSeq("country min_age max_age gender subscribed_more_than_minutes_ago " +
				"subscribed_less_than_minutes_ago states platforms") {
				switch {
				case a.Get(key) != nil:
				case key == "states" || key == "platforms":
					a.Set(key, list())
				default:
					a.Set(key, leaf("null"))
				}
			}
		})},
	{Name: "audience-lists-text", Doc: `lists of an audience are texts: "NY,CA"`,
		change: audience(func(_, a *node) {
			replaceAll(a, func(v *node) *node {
				if v.Kind != '[' {
					return v
				}
				return text(strings.Join(textsOf(v), ","))
			})
		})},
	{Name: "audience-nested", Doc: `an audience is nested: {"geo":{"country":"US"},"device":{"platforms":[..]}}`,
		change: audience(func(_, a *node) {
			for _, part := range [][2]string{{"country", "geo"}, {"platforms", "device"}} {
				inner := with()
				if v := a.Get(part[0]); v != nil {
					inner.Set(part[0], v)
					a.Drop(part[0])
				}
				a.Set(part[1], inner)
			}
		})},
}

// creativesQuirks: the fields of a creative.
var creativesQuirks = []Quirk{
	{Name: "buttons-list", Doc: `buttons are a list: "buttons":["Learn more"]`,
		change: edit(ofCreatives, func(e *node) {
			buttons := list()
			for _, key := range []string{"button1", "button2"} {
				if v := e.Get(key); v != nil && v.Raw != "null" {
					buttons.Values = append(buttons.Values, v)
				}
			}
			e.Drop("button1", "button2")
			e.Set("buttons", buttons)
		})},
	{Name: "reasons-objects", Doc: `rejection reasons are objects: {"code":"MISLEADING","text":".."}`,
		change: reasons(func(v *node) *node {
			for i, r := range v.Values {
				v.Values[i] = with("code", text("R"+strconv.Itoa(i+1)), "text", r)
			}
			return v
		})},
	{Name: "icon-object", Doc: `image_id and icon_id are objects: {"id":"..","url":".."}`,
		change: in(ofCreatives, "image_id icon_id", like(`{"id":VALUE,"url":"https://img.example/TEXT.png"}`))},
	{Name: "pending-version", Doc: "running creatives have a pending_version, one in three of them a rejected one",
		change: edit(ofCreatives, pendingVersion)},
	{Name: "link-missing", Doc: "creatives have no key link", change: in(ofCreatives, "link", drop)},
}

// sourcesQuirks: source settings.
var sourcesQuirks = []Quirk{
	{Name: "sources-objects", Doc: `sources in a list are objects: {"source_id":"S1","since":".."}`,
		change: in(ofSources, sourceIDs, value(func(v *node) *node {
			return replaceAll(v, func(s *node) *node { return with("source_id", s, "since", text("2026-11-01")) })
		}))},
	{Name: "sources-nested", Doc: `lists of sources are nested: {"targeting":{"mode":..,"lists":{..}}}`,
		change: edit(ofSources, func(e *node) {
			lists := with("allowed", e.Get("allowed_source_ids"), "blocked", e.Get("blocked_source_ids"))
			targeting := with("mode", e.Get("mode"), "lists", lists)
			e.Drop("mode", "allowed_source_ids", "blocked_source_ids")
			e.Set("targeting", targeting)
		})},
	{Name: "sources-one-list", Doc: `the sources are one list, that of the mode: {"source_ids":[..]}`,
		change: edit(ofSources, func(e *node) {
			key := "blocked_source_ids"
			if e.Get("mode").Text() == "allow_list" {
				key = "allowed_source_ids"
			}
			of := e.Get(key)
			e.Drop("allowed_source_ids", "blocked_source_ids")
			e.Set("source_ids", of)
		})},
	{Name: "sources-rules", Doc: `the sources are a list of rules: [{"source_id":"S1","action":"block"}]`,
		change: edit(ofSources, func(e *node) {
			rules := list()
			for _, of := range [][2]string{{"allowed_source_ids", "allow"}, {"blocked_source_ids", "block"}} {
				for _, s := range e.Get(of[0]).Elements() {
					rules.Values = append(rules.Values, with("source_id", s, "action", text(of[1])))
				}
			}
			e.Drop("allowed_source_ids", "blocked_source_ids", "bid_overrides")
			e.Set("rules", rules)
		})},
	{Name: "sources-numbers", Doc: "IDs of sources in lists and bids are numbers: 4711",
		change: all(in(ofSources, sourceIDs, func(e *node, key string) {
			for _, s := range e.Get(key).Elements() {
				*s = *lessPrefix(s)
			}
		}), func(x *exchange, body *node) *node {
			if x.place == atSources {
				return deep("source_id", asID)(x, body)
			}
			return body
		})},
	{Name: "bids-map", Doc: `bid_overrides is an object: {"S1":0.25}`,
		change: in(ofSources, "bid_overrides", value(func(v *node) *node { return byKey(v, "source_id", "bid") }))},
	{Name: "bids-null", Doc: "bid_overrides is null: the bids could not be read",
		change: in(ofSources, "bid_overrides", put("null"))},
	{Name: "bids-missing", Doc: "source settings have no key bid_overrides",
		change: in(ofSources, "bid_overrides", drop)},
	{Name: "optimized-sources", Doc: "source settings list sources under optimization",
		change: in(ofSources, "optimized_source_ids", put(`["S101","S118"]`))},
	{Name: "not-enforced-sources", Doc: "source settings list sources whose change has not yet taken effect",
		change: in(ofSources, "not_enforced_source_ids", put(`["S101"]`))},
	{Name: "mode-words", Doc: "the mode of source settings is blocklist or allowlist, in upper case",
		change: in(ofSources, "mode", words(replaced("block_list=BLOCKLIST allow_list=ALLOWLIST")))},
	{Name: "mode-missing", Doc: "neither source settings nor campaigns say which mode they are in",
		change: all(in(ofSources, "mode", drop), in(ofCampaigns, "source_targeting_mode", drop))},
}

// accountsQuirks: the three reads of the account; the description shows hardly any of their fields.
var accountsQuirks = []Quirk{
	{Name: "me-unreadable", Doc: `the key's info says nothing: {"ok":true}`, change: whole(ofMe, like(`{"ok":true}`))},
	{Name: "me-number", Doc: "the key's info has the advertiser's ID as a number",
		change: in(ofMe, "advertiser_id", asID)},
	{Name: "me-nested", Doc: `the key's info is nested: {"key":{..},"advertiser":{"id":"A1","name":".."}}`,
		change: edit(ofMe, func(e *node) {
			*e = *with("key", with("id", text("key_1"), "scope", e.Get("scope")),
				"advertiser", with("id", e.Get("advertiser_id"), "name", e.Get("advertiser_name")))
		})},
	{Name: "me-404", Doc: "the key's info is not there (404)",
		override: refuseAPI(atMe, 404, "There is no such path.")},
	{Name: "limits-unreadable", Doc: `the limits say nothing: {"ok":true}`,
		change: whole(ofLimits, like(`{"ok":true}`))},
	{Name: "limits-map", Doc: `the limits are an object: {"limits":{"campaign_create":{"used":0,..}}}`,
		change: in(ofLimits, "limits", value(func(v *node) *node { return byKey(v, "kind", "") }))},
	{Name: "limits-404", Doc: "the limits are not there (404)",
		override: refuseAPI(atLimits, 404, "There is no such path.")},
	{Name: "balance-nested", Doc: `the balance is nested: {"balance":{"amount":"12.30","currency":"USD"}}`,
		change: edit(ofBalance, func(e *node) {
			e.Set("balance", with("amount", quoted(e.Get("available_balance")), "currency", text("USD")))
			e.Drop("available_balance", "currency")
		})},
	{Name: "balance-renamed", Doc: "available_balance is called credit_left",
		change: in(ofBalance, "available_balance", renamed("credit_left"))},
	{Name: "auto-funding-off", Doc: "auto-funding is switched off: false",
		change: in(ofBalance, "auto_funding", put("false"))},
	{Name: "balance-error-200", Doc: `the balance is an error with status 200: {"error":".."}`,
		change: whole(ofBalance,
			like(`{"error":{"code":"upstream_error","message":"The billing backend does not answer."}}`))},
	{Name: "campaign-error-200", Doc: `the read of one campaign is an error with status 200: {"error":".."}`,
		change: whole([]place{atCampaign}, like(`{"error":"The campaign store is being moved."}`))},
	{Name: "account-notice", Doc: "replies of the advertiser API carry account_notice and key_expiry_warning",
		change: body(ofAPI, func(body *node) {
			if body.Kind == '{' {
				body.Set("account_notice", text("The balance lasts less than two days."))
				body.Set("key_expiry_warning", text("The key expires in 9 days."))
			}
		})},
	{Name: "no-expiry-header", Doc: "replies do not say when the key expires",
		wire: func(_ *exchange, rep *wire.Reply) {
			for _, name := range []string{"Service-Api-Key-Expires-At", "Service-Api-Key-Expiry-Warning"} {
				http.Header.Del(rep.Header, name)
			}
		}},
}

// idsQuirks: the form of IDs.
var idsQuirks = []Quirk{
	{Name: "ids-long", Doc: "objects name their own ID campaign_id or creative_id",
		change: ownIDs(func(e *node, long string) { e.Rename("id", long) })},
	{Name: "ids-number-beside", Doc: "id is a number of the database, campaign_id or creative_id is the ID",
		change: ownIDs(func(e *node, long string) {
			e.With(long, e.Get("id")).Set("id", leaf(digitsOf(e.Get("id").Text())))
		})},
	{Name: "ids-number", Doc: "IDs of campaigns and creatives are numbers: 13463005",
		change: ownIDs(func(e *node, _ string) { e.Set("id", leaf(digitsOf(e.Get("id").Text()))) })},
	{Name: "ids-uuid", Doc: "IDs of campaigns and creatives have another form than the description's",
		change: ownIDs(func(e *node, _ string) {
			e.Set("id", text("6ba7b810-9dad-11d1-80b4-00c0"+digitsOf(e.Get("id").Text())))
		})},
}

// listsQuirks: how a list marks its end.
var listsQuirks = []Quirk{
	{Name: "list-no-totals", Doc: "lists have no total, limit and offset",
		change: ofLists(noTotals)},
	{Name: "list-cap", Doc: "lists give at most 4 entries a page, whatever was asked for, and no total",
		ask:    capped,
		change: ofLists(noTotals)},
	{Name: "list-has-more", Doc: "lists give at most 4 entries a page and has_more in the place of a total",
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			body.Set("has_more", leaf(strconv.FormatBool(x.offset()+len(entries) < total)))
		})},
	{Name: "list-cursor", Doc: "lists give at most 4 entries a page, ignore the offset, and name a cursor for more",
		ask: func(x *exchange) {
			capped(x)
			if x.place.isList() {
				x.edit(func(q url.Values) { q.Del("offset") })
			}
		},
		change: ofLists(func(_ *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			if len(entries) < total {
				body.Set("next_cursor", text("eyJvIjo0fQ"))
			}
		})},
	{Name: "list-total-more", Doc: "the total of a list counts one entry that is nowhere listed",
		change: ofLists(func(_ *exchange, body *node, _ []*node, total int) {
			body.Set("total", num(total+1))
		})},
	{Name: "list-total-header", Doc: "the total of a list is in the header X-Total-Count",
		ask: capped,
		change: ofLists(func(x *exchange, body *node, _ []*node, total int) {
			body.Drop("total", "limit", "offset")
			x.total = total
		}),
		wire: func(x *exchange, rep *wire.Reply) {
			if x.place.isList() {
				rep.Header.Set("X-Total-Count", strconv.Itoa(x.total))
			}
		}},
	{Name: "list-shifts", Doc: "an entry goes from the front of a list while it is read for the first time",
		ask: func(x *exchange) {
			if capped(x); x.place.isList() && x.offset() > 0 && x.times("shift "+x.request.URL.Path) == 1 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
			}
		}},
	{Name: "list-moves", Doc: "an entry goes from the front of a list whenever it is read",
		ask: func(x *exchange) {
			if capped(x); x.place.isList() && x.offset() > 0 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
			}
		}},
	{Name: "list-empty", Doc: "the list of campaigns is empty, though the report has some",
		change: whole([]place{atCampaigns}, like(`{"campaigns":[],"total":0}`))},
	{Name: "list-ids", Doc: "the list of campaigns has their IDs alone",
		change: func(x *exchange, body *node) *node {
			if x.place != atCampaigns {
				return body
			}
			ids := list()
			for _, e := range entities(body) {
				ids.Values = append(ids.Values, ownID(e))
			}
			return with("campaigns", ids)
		}},
	{Name: "list-map", Doc: `lists are objects by ID: {"campaigns":{"C13463005":{..}}}`,
		change: func(x *exchange, body *node) *node {
			if !x.place.isList() {
				return body
			}
			byID := with()
			for _, e := range entities(body) {
				byID.Set(ownID(e).Text(), e)
			}
			return with(x.plural(), byID)
		}},
}

// envelopesQuirks: what a body of the API is wrapped in.
var envelopesQuirks = []Quirk{
	{Name: "envelope-bare", Doc: "bodies have no envelope: [..], {..}",
		change: wrapped(bare, bare)},
	{Name: "envelope-data", Doc: `bodies lie under data: {"data":[..]}, {"data":{..}}`,
		change: wrapped(under("data"), under("data"))},
	{Name: "envelope-items", Doc: `lists lie under items: {"items":[..]}`,
		change: wrapped(under("items"), bare)},
	{Name: "envelope-results", Doc: `lists lie under results: {"results":[..],"count":6}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			around.Rename("total", "count")
			around.Drop("limit", "offset")
			return around.With("results", inner)
		}, bare)},
	{Name: "envelope-nested", Doc: `bodies lie under data and their own name: {"data":{"campaigns":[..]}}`,
		change: wrapped(
			func(x *exchange, inner, around *node) *node {
				return with("data", underOwnName(x, inner, around))
			},
			func(x *exchange, inner, around *node) *node {
				return with("data", underOwnName(x, inner, around))
			})},
	{Name: "envelope-edges", Doc: `lists are connections: {"edges":[{"node":{..}}],"totalCount":6}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.Values {
				inner.Values[i] = with("node", e)
			}
			return with("edges", inner, "pageInfo", with("hasNextPage", leaf("false")))
		}, bare)},
	{Name: "json-api", Doc: `bodies are JSON:API: {"data":{"type":"campaigns","id":"C1","attributes":{..}}}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.Values {
				inner.Values[i] = jsonAPI(x.plural(), e)
			}
			return with("data", inner, "meta", around)
		}, func(x *exchange, inner, _ *node) *node {
			return with("data", jsonAPI(x.singular(), inner))
		})},
}

// unnamedQuirks: bodies that no list of the known ones names.
var unnamedQuirks = []Quirk{
	{Name: "me-bare-id", Doc: `the key's info is its account's ID alone: {"id":"A1"}`,
		change: edit(ofMe, func(e *node) { *e = *with("id", e.Get("advertiser_id")) })},
	{Name: "envelope-hal", Doc: `lists are HAL: {"_embedded":{"campaigns":[..]},"page":{"totalElements":6}}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			return with("_embedded", with(x.plural(), inner), "page", with("totalElements", totalIn(around)))
		}, bare)},
	{Name: "envelope-spring", Doc: `lists are Spring's pages: {"content":[..],"totalElements":6,"last":true}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			last := x.offset()+len(inner.Values) >= totalIn(around).Number()
			return with("content", inner, "totalElements", totalIn(around), "number", num(x.offset()/x.number("limit",
				25)),
				"last", leaf(map[bool]string{false: "false", true: "true"}[last]))
		}, bare)},
	{Name: "envelope-payload", Doc: `bodies lie under payload, lists in its rows: {"payload":{"rows":[..]}}`,
		change: wrapped(func(_ *exchange, inner, around *node) *node {
			return with("payload", with("rows", inner, "count", totalIn(around)))
		}, under("payload"))},
}

const (
	instants  = "start_date end_date created_at submitted_at expires_at resets_at refreshed_at"
	sourceIDs = "allowed_source_ids blocked_source_ids"
)

// deep applies a form to the members that keys names, at any depth, in the replies of the advertiser API.
func deep(keys string, f form) change {
	names := strings.Fields(keys)
	return edit(ofAPI, func(e *node) {
		e.Walk(func(of *node, key string) {
			if slices.Contains(names, key) {
				f(of, key)
			}
		})
	})
}

// times changes all times of the advertiser API's replies.
func times(to func(t time.Time) *node) change {
	return deep(instants, func(of *node, key string) {
		if t, err := time.Parse(time.RFC3339Nano, of.Get(key).Text()); err == nil {
			of.Set(key, to(t))
		}
	})
}

func formatted(layout string, zone *time.Location) change {
	return times(func(t time.Time) *node { return text(t.In(zone).Format(layout)) })
}

func epoch(of func(t time.Time) int64) func(t time.Time) *node {
	return func(t time.Time) *node { return leaf(strconv.FormatInt(of(t), 10)) }
}

var chicagoWinter = time.FixedZone("", -6*3600)

// audience changes the audience of each campaign that shows it.
func audience(do func(e, audience *node)) change {
	return edit(ofCampaigns, func(e *node) {
		if a := e.Get("audience"); a != nil && a.Kind == '{' {
			do(e, a)
		}
	})
}

// reasons changes the reasons for which a creative was rejected. All creatives but the running ones have some,
// so that there is something to change.
func reasons(to func(v *node) *node) change {
	return edit(ofCreatives, func(e *node) {
		if e.Get("status").Text() == "active" {
			return
		}
		if v := e.Get("rejection_reasons"); v == nil || v.Kind != '[' {
			e.Set("rejection_reasons", list(text("Misleading claim"), text("Poor image")))
			e.Set("rejection_comment", text("Please change the title."))
		}
		e.Edit("rejection_reasons", to)
	})
}

// pendingVersion gives a running creative a version that is reviewed.
func pendingVersion(e *node) {
	if e.Get("status").Text() != "active" || e.Get("pending_version") != nil {
		return
	}
	v := with("title", text("A new title"), "message", text("A new message"))
	for _, key := range []string{"link", "image_id", "icon_id", "button1", "button2"} {
		if was := e.Get(key); was != nil {
			v.Set(key, was)
		}
	}
	if len(e.Get("title").Text())%3 > 0 {
		v.Set("status", text("pending_review"))
	} else {
		v.With("status", text("rejected")).With("rejection_reasons", list(text("Misleading claim"))).
			Set("rejection_comment", text("Please change the title."))
	}
	e.Set("pending_version", v.With("submitted_at", text("2026-11-20T15:00:00Z")))
}

// refuseAPI answers requests of a place with an error of the advertiser API.
func refuseAPI(p place, status int, message string) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if x.place != p {
			return wire.Reply{}, false
		}
		return x.accounts[0].APIError(status, advertiser.CodeOf(status), message, nil), true
	}
}

var (
	ofMe      = []place{atMe}
	ofLimits  = []place{atLimits}
	ofBalance = []place{atBalance}
)

// byKey turns a list of objects into an object. The members are named by key; they are the rest of each object or,
// if member is set, that member of it.
func byKey(objects *node, key, member string) *node {
	all := with()
	for _, o := range objects.Values {
		name := o.Get(key).Text()
		o.Drop(key)
		if member != "" {
			o = o.Get(member)
		}
		all.Set(name, o)
	}
	return all
}

// ownIDs changes each campaign and creative that is named by id; long is the other name of the key.
func ownIDs(do func(e *node, long string)) change {
	return each(ofBoth, func(x *exchange, _ int, e *node) {
		if long := map[bool]string{false: "campaign_id", true: "creative_id"}; e.Get("id") != nil {
			do(e, long[slices.Contains(ofCreatives, x.place)])
		}
	})
}

// mostListed is the number of entries on a page of a capped list.
const mostListed = 4

// capped makes lists give fewer entries than asked for.
func capped(x *exchange) {
	if x.place.isList() && x.number("limit", 25) > mostListed {
		x.edit(func(q url.Values) { q.Set("limit", strconv.Itoa(mostListed)) })
	}
}

// ofLists makes a change of replies that are lists. entries are the entries on the page, total is
// the number of entries in all, or -1 if the reply lacks it.
func ofLists(change func(x *exchange, body *node, entries []*node, total int)) change {
	return func(x *exchange, body *node) *node {
		if x.place.isList() && body.Kind == '{' {
			total := -1
			if t := body.Get("total"); t != nil {
				total = t.Number()
			}
			change(x, body, entities(body), total)
		}
		return body
	}
}

func noTotals(_ *exchange, body *node, _ []*node, _ int) {
	body.Drop("total", "limit", "offset")
}

// ownID is the ID of an entity of a list, under either of its names.
func ownID(e *node) *node {
	for _, key := range []string{"id", "creative_id", "campaign_id"} {
		if v := e.Get(key); v != nil {
			return v
		}
	}
	return nil
}

// offset is the offset that a request of a list asks for.
func (x *exchange) offset() int {
	n, _ := strconv.Atoi(x.param("offset"))
	return n
}

// plural and singular are the names of the requested resource, "" without one.
func (x *exchange) plural() string {
	return map[place]string{atCampaigns: "campaigns", atCreatives: "creatives"}[x.place]
}

func (x *exchange) singular() string {
	return map[place]string{
		atCampaign: "campaign", atCreative: "creative", atSources: "source_settings", atMe: "me", atLimits: "limits",
		atBalance: "balance",
	}[x.place]
}

// wrapped puts lists and single objects into another envelope; the fields next to a list (its
// total) stay next to it if the envelope has a place for them.
func wrapped(many, one func(x *exchange, inner, around *node) *node) change {
	return func(x *exchange, body *node) *node {
		switch {
		case x.place.isList():
			around := with()
			for _, key := range []string{"total", "limit", "offset"} {
				if v := body.Get(key); v != nil {
					around.Set(key, v)
				}
			}
			return many(x, list(entities(body)...), around)
		case x.place.onAPI() && len(entities(body)) > 0:
			return one(x, entities(body)[0], with())
		}
		return body
	}
}

func bare(_ *exchange, inner, _ *node) *node { return inner }

// under puts it under one key.
func under(key string) func(x *exchange, inner, around *node) *node {
	return func(_ *exchange, inner, around *node) *node { return around.With(key, inner) }
}

func underOwnName(x *exchange, inner, around *node) *node {
	if x.place.isList() {
		return around.With(x.plural(), inner)
	}
	return around.With(x.singular(), inner)
}

// jsonAPI is an object as JSON:API writes it.
func jsonAPI(kind string, e *node) *node {
	o := with("type", text(kind))
	if id := e.Get("id"); id != nil {
		o.Set("id", id)
		e.Drop("id")
	}
	return o.With("attributes", e)
}
