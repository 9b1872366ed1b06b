package variations

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/jsontext"
)

var (
	bidFields      = []string{"default_bid", "daily_spend_limit", "target_cpa"}
	campaignStates = map[string]string{"active": "RUNNING", "paused": "STOPPED", "archived": "ENDED",
		"rejected": "REFUSED"}
)

// editFields changes some fields that are there and not null.
func editFields(keys []string, change func(v *jsontext.Node) *jsontext.Node) func(e *jsontext.Node) {
	return func(e *jsontext.Node) {
		for _, key := range keys {
			e.Edit(key, change)
		}
	}
}

// dropFields takes fields away.
func dropFields(keys ...string) func(e *jsontext.Node) {
	return func(e *jsontext.Node) { e.Drop(keys...) }
}

func upper(v *jsontext.Node) *jsontext.Node { return jsontext.TextNode(strings.ToUpper(v.Text())) }

// money is an amount as an object with its currency.
func money(v *jsontext.Node) *jsontext.Node {
	return jsontext.ObjectNode().With("amount", jsontext.Quoted(v)).With("currency", jsontext.TextNode("USD"))
}

// fieldQuirks are about the fields of a campaign.
var fieldQuirks = []quirk{
	{Quirk: Quirk{Name: "bids-text",
		Doc: `bids and limits are texts: "0.45"`},
		change: ofAmounts(jsontext.Quoted)},
	{Quirk: Quirk{Name: "bids-object",
		Doc: `bids and limits are objects: {"amount":"0.45","currency":"USD"}`},
		change: ofEntities(ofCampaigns, editFields(bidFields, money))},
	{Quirk: Quirk{Name: "bids-words",
		Doc: `bids and limits are texts for people: "0.45 USD"`},
		change: ofEntities(ofCampaigns, editFields(bidFields, func(v *jsontext.Node) *jsontext.Node {
			return jsontext.TextNode(v.Raw + " USD")
		}))},
	{Quirk: Quirk{Name: "bid-renamed",
		Doc: "default_bid is called max_cpc"},
		change: ofEntities(ofCampaigns, func(e *jsontext.Node) { e.Rename("default_bid", "max_cpc") })},
	{Quirk: Quirk{Name: "limit-missing",
		Doc: "a campaign has no daily_spend_limit"},
		change: ofEntities(ofCampaigns, dropFields("daily_spend_limit"))},
	{Quirk: Quirk{Name: "limit-null",
		Doc: "daily_spend_limit is null"},
		change: ofEntities(ofCampaigns, editFields([]string{"daily_spend_limit"}, func(*jsontext.Node) *jsontext.Node {
			return jsontext.Leaf("null")
		}))},
	{Quirk: Quirk{Name: "camel-keys",
		Doc: "keys of the advertiser API are in camel case: defaultBid"},
		change: ofEntities(ofAPI, func(e *jsontext.Node) {
			e.Walk(func(of *jsontext.Node, key string) { of.Rename(key, camel(key)) })
		})},
	{Quirk: Quirk{Name: "status-uppercase",
		Doc: "statuses are in upper case: ACTIVE"},
		change: ofEntities(slices.Concat(ofCampaigns, ofCreatives), editFields([]string{"status", "delivery_status"},
			upper))},
	{Quirk: Quirk{Name: "status-other-words",
		Doc: "a campaign's status has a word that the description does not know: RUNNING"},
		change: ofEntities(ofCampaigns, editFields([]string{"status"}, func(v *jsontext.Node) *jsontext.Node {
			return jsontext.TextNode(campaignStates[v.Text()])
		}))},
	{Quirk: Quirk{Name: "status-object",
		Doc: `a status is an object: {"code":"active","label":"Active"}`},
		change: ofEntities(ofCampaigns, editFields([]string{"status"}, func(v *jsontext.Node) *jsontext.Node {
			return jsontext.ObjectNode().With("code", v).With("label", v)
		}))},
	{Quirk: Quirk{Name: "delivery-missing",
		Doc: "delivery_status is missing"},
		change: ofEntities(ofCampaigns, dropFields("delivery_status"))},
	{Quirk: Quirk{Name: "delivery-null",
		Doc: "delivery_status is null"},
		change: ofEntities(ofCampaigns, editFields([]string{"delivery_status"}, func(*jsontext.Node) *jsontext.Node {
			return jsontext.Leaf("null")
		}))},
	{Quirk: Quirk{Name: "detail-sparse",
		Doc: "the read of one campaign has only what the list lacks"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place == atCampaign {
				for _, e := range entities(body) {
					e.Drop("name", "status", "delivery_status", "default_bid", "daily_spend_limit", "created_at")
				}
			}
			return body
		}},
	{Quirk: Quirk{Name: "list-sparse",
		Doc: "the list of campaigns has only their IDs and names"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place == atCampaigns {
				for _, e := range entities(body) {
					e.Drop("status", "delivery_status", "default_bid", "daily_spend_limit", "created_at")
				}
			}
			return body
		}},
	{Quirk: Quirk{Name: "keys-flicker",
		Doc: "campaigns, creatives and sources have a key that is another one in every reply"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place.onAPI() {
				for _, e := range entities(body) {
					e.Set("request_id", jsontext.TextNode(x.accounts[0].World.RequestID()))
					e.Set("generated_at", jsontext.TextNode(x.now.UTC().Format(time.RFC3339Nano)+
						strconv.Itoa(x.times("flicker"))))
				}
			}
			return body
		}},
}

// ofAmounts changes all amounts of the advertiser API's replies.
func ofAmounts(change func(v *jsontext.Node) *jsontext.Node) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	keys := slices.Concat(bidFields, []string{
		"bid", "available_balance", "threshold", "amount", "average_daily_spend", "days_left", "used", "limit",
	})
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		if x.place.onAPI() {
			for _, e := range entities(body) {
				e.Walk(func(of *jsontext.Node, key string) {
					if slices.Contains(keys, key) {
						of.Edit(key, change)
					}
				})
			}
		}
		return body
	}
}

var timeFields = []string{
	"start_date", "end_date", "created_at", "submitted_at", "expires_at", "resets_at", "refreshed_at",
}

// ofTimes changes all times of the advertiser API's replies.
func ofTimes(change func(t time.Time) *jsontext.Node) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return ofEntities(ofAPI, func(e *jsontext.Node) {
		e.Walk(func(of *jsontext.Node, key string) {
			t, err := time.Parse(time.RFC3339Nano, of.Get(key).Text())
			if err == nil && slices.Contains(timeFields, key) {
				of.Set(key, change(t))
			}
		})
	})
}

func formatted(layout string) func(t time.Time) *jsontext.Node {
	return func(t time.Time) *jsontext.Node { return jsontext.TextNode(t.UTC().Format(layout)) }
}

// timeQuirks are about how the advertiser API writes times.
var timeQuirks = []quirk{
	{Quirk: Quirk{Name: "times-no-zone",
		Doc: "times have no zone: 2026-11-01T06:00:00"},
		change: ofTimes(formatted("2006-01-02T15:04:05"))},
	{Quirk: Quirk{Name: "times-blank",
		Doc: "times have a blank in the place of T: 2026-11-01 06:00:00Z"},
		change: ofTimes(formatted("2006-01-02 15:04:05Z07:00"))},
	{Quirk: Quirk{Name: "times-offset",
		Doc: "times have an offset without a colon: 2026-11-01T00:00:00-0600"},
		change: ofTimes(func(t time.Time) *jsontext.Node {
			return jsontext.TextNode(t.In(time.FixedZone("", -6*3600)).Format("2006-01-02T15:04:05-0700"))
		})},
	{Quirk: Quirk{Name: "times-millis",
		Doc: "times have milliseconds and an offset: 2026-11-01T00:00:00.000-06:00"},
		change: ofTimes(func(t time.Time) *jsontext.Node {
			return jsontext.TextNode(t.In(time.FixedZone("", -6*3600)).Format("2006-01-02T15:04:05.000-07:00"))
		})},
	{Quirk: Quirk{Name: "times-epoch",
		Doc: "times are seconds since 1970"},
		change: ofTimes(func(t time.Time) *jsontext.Node { return jsontext.Leaf(strconv.FormatInt(t.Unix(), 10)) })},
	{Quirk: Quirk{Name: "times-epoch-millis",
		Doc: "times are milliseconds since 1970"},
		change: ofTimes(
			func(t time.Time) *jsontext.Node { return jsontext.Leaf(strconv.FormatInt(t.UnixMilli(), 10)) },
		)},
	{Quirk: Quirk{Name: "times-epoch-text",
		Doc: "times are texts of milliseconds since 1970"},
		change: ofTimes(
			func(t time.Time) *jsontext.Node { return jsontext.TextNode(strconv.FormatInt(t.UnixMilli(), 10)) },
		)},
	{Quirk: Quirk{Name: "times-object",
		Doc: `times are objects: {"$date":"2026-11-01T06:00:00Z"}`},
		change: ofTimes(func(t time.Time) *jsontext.Node {
			return jsontext.ObjectNode().With("$date", formatted(time.RFC3339)(t))
		})},
	{Quirk: Quirk{Name: "times-words",
		Doc: "times are written for people: Nov 1, 2026, 6:00 AM"},
		change: ofTimes(formatted("Jan 2, 2006, 3:04 PM"))},
	{Quirk: Quirk{Name: "end-date-empty",
		Doc: `end_date of a campaign that has none is ""`},
		change: ofEntities(ofCampaigns, func(e *jsontext.Node) {
			if v := e.Get("end_date"); v != nil && v.Raw == "null" {
				e.Set("end_date", jsontext.Leaf(`""`))
			}
		})},
	{Quirk: Quirk{Name: "end-date-zero",
		Doc: "end_date of a campaign that has none is 0001-01-01T00:00:00Z"},
		change: ofEntities(ofCampaigns, func(e *jsontext.Node) {
			if v := e.Get("end_date"); v != nil && v.Raw == "null" {
				e.Set("end_date", jsontext.TextNode("0001-01-01T00:00:00Z"))
			}
		})},
	{Quirk: Quirk{Name: "end-date-missing",
		Doc: "a campaign without an end_date has no such key"},
		change: ofEntities(ofCampaigns, func(e *jsontext.Node) {
			if v := e.Get("end_date"); v != nil && v.Raw == "null" {
				e.Drop("end_date")
			}
		})},
}

// ofAudience makes a change of the audience of each campaign that shows it.
func ofAudience(change func(e, audience *jsontext.Node)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return ofEntities(ofCampaigns, func(e *jsontext.Node) {
		if a := e.Get("audience"); a != nil && a.Kind == '{' {
			change(e, a)
		}
	})
}

// audienceQuirks are about the audience of a campaign.
var audienceQuirks = []quirk{
	{Quirk: Quirk{Name: "audience-null",
		Doc: "audience is null"},
		change: ofAudience(func(e, _ *jsontext.Node) { e.Set("audience", jsontext.Leaf("null")) })},
	{Quirk: Quirk{Name: "audience-missing",
		Doc: "campaigns have no key audience"},
		change: ofAudience(func(e, _ *jsontext.Node) { e.Drop("audience") })},
	{Quirk: Quirk{Name: "audience-nulls",
		Doc: "what an audience does not restrict is null or an empty list"},
		change: ofAudience(func(_, a *jsontext.Node) {
			for _, key := range []string{"country", "min_age", "max_age", "gender", "subscribed_more_than_minutes_ago",
				"subscribed_less_than_minutes_ago"} {
				if a.Get(key) == nil {
					a.Set(key, jsontext.Leaf("null"))
				}
			}
			for _, key := range []string{"states", "platforms"} {
				if a.Get(key) == nil {
					a.Set(key, jsontext.ListNode())
				}
			}
		})},
	{Quirk: Quirk{Name: "audience-numbers-text",
		Doc: `ages and minutes of an audience are texts: "18"`},
		change: ofAudience(func(_, a *jsontext.Node) {
			for i, v := range a.Values {
				a.Values[i] = jsontext.Quoted(v)
			}
		})},
	{Quirk: Quirk{Name: "audience-lists-text",
		Doc: `lists of an audience are texts: "NY,CA"`},
		change: ofAudience(func(_, a *jsontext.Node) {
			for i, v := range a.Values {
				if v.Kind == '[' {
					a.Values[i] = jsontext.TextNode(strings.Join(textsOf(v), ","))
				}
			}
		})},
	{Quirk: Quirk{Name: "audience-country-list",
		Doc: `the country of an audience is a list: ["US"]`},
		change: ofAudience(func(_, a *jsontext.Node) {
			a.Edit("country", func(v *jsontext.Node) *jsontext.Node { return jsontext.ListNode(v) })
		})},
	{Quirk: Quirk{Name: "audience-nested",
		Doc: `an audience is nested: {"geo":{"country":"US"},"device":{"platforms":[..]}}`},
		change: ofAudience(func(_, a *jsontext.Node) {
			geo, device := jsontext.ObjectNode(), jsontext.ObjectNode()
			for key, of := range map[string]*jsontext.Node{"country": geo, "platforms": device} {
				if v := a.Get(key); v != nil {
					of.Set(key, v)
					a.Drop(key)
				}
			}
			a.Set("geo", geo)
			a.Set("device", device)
		})},
	{Quirk: Quirk{Name: "audience-flag-outside",
		Doc: "unsupported_targeting stands beside the audience"},
		change: ofAudience(func(e, a *jsontext.Node) {
			e.Set("unsupported_targeting", jsontext.Leaf(strconv.FormatBool(a.Get("unsupported_targeting") != nil)))
			a.Drop("unsupported_targeting")
		})},
}

func textsOf(list *jsontext.Node) []string {
	var texts []string
	for _, v := range list.Values {
		texts = append(texts, v.Text())
	}
	return texts
}

// creativeQuirks are about the fields of a creative.
var creativeQuirks = []quirk{
	{Quirk: Quirk{Name: "buttons-object",
		Doc: `buttons are objects: {"text":"Learn more"}`},
		change: ofEntities(
			ofCreatives,
			editFields([]string{"button1", "button2"}, func(v *jsontext.Node) *jsontext.Node {
				return jsontext.ObjectNode().With("text", v)
			}),
		)},
	{Quirk: Quirk{Name: "buttons-list",
		Doc: `buttons are a list: "buttons":["Learn more"]`},
		change: ofEntities(ofCreatives, func(e *jsontext.Node) {
			list := jsontext.ListNode()
			for _, key := range []string{"button1", "button2"} {
				if v := e.Get(key); v != nil && v.Raw != "null" {
					list.Values = append(list.Values, v)
				}
			}
			e.Drop("button1", "button2")
			e.Set("buttons", list)
		})},
	{Quirk: Quirk{Name: "reasons-objects",
		Doc: `rejection reasons are objects: {"code":"MISLEADING","text":".."}`},
		change: ofReasons(func(v *jsontext.Node) *jsontext.Node {
			for i, r := range v.Values {
				v.Values[i] = jsontext.ObjectNode().
					With("code", jsontext.TextNode("R"+strconv.Itoa(i+1))).
					With("text", r)
			}
			return v
		})},
	{Quirk: Quirk{Name: "reasons-text",
		Doc: "rejection reasons are one text"},
		change: ofReasons(
			func(v *jsontext.Node) *jsontext.Node { return jsontext.TextNode(strings.Join(textsOf(v), "; ")) },
		)},
	{Quirk: Quirk{Name: "reasons-null",
		Doc: "rejection reasons are null"},
		change: ofReasons(func(*jsontext.Node) *jsontext.Node { return jsontext.Leaf("null") })},
	{Quirk: Quirk{Name: "icon-object",
		Doc: `image_id and icon_id are objects: {"id":"..","url":".."}`},
		change: ofEntities(
			ofCreatives,
			editFields([]string{"image_id", "icon_id"}, func(v *jsontext.Node) *jsontext.Node {
				return jsontext.ObjectNode().
					With("id", v).
					With("url", jsontext.TextNode("https://img.example/"+v.Text()+".png"))
			}),
		)},
	{Quirk: Quirk{Name: "pending-version",
		Doc: "running creatives have a pending_version, one in three of them a rejected one"},
		change: ofEntities(ofCreatives, pendingVersion)},
	{Quirk: Quirk{Name: "link-missing",
		Doc: "creatives have no key link"},
		change: ofEntities(ofCreatives, dropFields("link"))},
}

// ofReasons makes a change of the reasons for which a creative was rejected. All
// creatives but the running ones have some, so that there is something to change.
func ofReasons(change func(v *jsontext.Node) *jsontext.Node) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return ofEntities(ofCreatives, func(e *jsontext.Node) {
		if e.Get("status").Text() == "active" {
			return
		}
		if v := e.Get("rejection_reasons"); v == nil || v.Kind != '[' {
			e.Set(
				"rejection_reasons",
				jsontext.ListNode(jsontext.TextNode("Misleading claim"), jsontext.TextNode("Poor image")),
			)
			e.Set("rejection_comment", jsontext.TextNode("Please change the title."))
		}
		e.Edit("rejection_reasons", change)
	})
}

// pendingVersion gives a running creative a version that is reviewed.
func pendingVersion(e *jsontext.Node) {
	if e.Get("status").Text() != "active" || e.Get("pending_version") != nil {
		return
	}
	v := jsontext.ObjectNode().
		With("title", jsontext.TextNode("A new title")).
		With("message", jsontext.TextNode("A new message"))
	for _, key := range []string{"link", "image_id", "icon_id", "button1", "button2"} {
		if was := e.Get(key); was != nil {
			v.Set(key, was)
		}
	}
	if title := e.Get("title").Text(); len(title)%3 > 0 {
		v.Set("status", jsontext.TextNode("pending_review"))
	} else {
		v.Set("status", jsontext.TextNode("rejected"))
		v.Set("rejection_reasons", jsontext.ListNode(jsontext.TextNode("Misleading claim")))
		v.Set("rejection_comment", jsontext.TextNode("Please change the title."))
	}
	v.Set("submitted_at", jsontext.TextNode("2026-11-20T15:00:00Z"))
	e.Set("pending_version", v)
}
