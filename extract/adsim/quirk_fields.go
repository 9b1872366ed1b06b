package adsim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	bidFields      = []string{"default_bid", "daily_spend_limit", "target_cpa"}
	campaignStates = map[string]string{"active": "RUNNING", "paused": "STOPPED", "archived": "ENDED",
		"rejected": "REFUSED"}
)

// editFields changes some fields that are there and not null.
func editFields(keys []string, change func(v *node) *node) func(e *node) {
	return func(e *node) {
		for _, key := range keys {
			e.edit(key, change)
		}
	}
}

// dropFields takes fields away.
func dropFields(keys ...string) func(e *node) {
	return func(e *node) { e.drop(keys...) }
}

func upper(v *node) *node { return textNode(strings.ToUpper(v.text())) }

// money is an amount as an object with its currency.
func money(v *node) *node {
	return objectNode().with("amount", quoted(v)).with("currency", textNode("USD"))
}

// fieldQuirks are about the fields of a campaign.
var fieldQuirks = []quirk{
	{Quirk: Quirk{Name: "bids-text",
		Doc: `bids and limits are texts: "0.45"`},
		change: ofAmounts(quoted)},
	{Quirk: Quirk{Name: "bids-object",
		Doc: `bids and limits are objects: {"amount":"0.45","currency":"USD"}`},
		change: ofEntities(ofCampaigns, editFields(bidFields, money))},
	{Quirk: Quirk{Name: "bids-words",
		Doc: `bids and limits are texts for people: "0.45 USD"`},
		change: ofEntities(ofCampaigns, editFields(bidFields, func(v *node) *node {
			return textNode(v.raw + " USD")
		}))},
	{Quirk: Quirk{Name: "bid-renamed",
		Doc: "default_bid is called max_cpc"},
		change: ofEntities(ofCampaigns, func(e *node) { e.rename("default_bid", "max_cpc") })},
	{Quirk: Quirk{Name: "limit-missing",
		Doc: "a campaign has no daily_spend_limit"},
		change: ofEntities(ofCampaigns, dropFields("daily_spend_limit"))},
	{Quirk: Quirk{Name: "limit-null",
		Doc: "daily_spend_limit is null"},
		change: ofEntities(ofCampaigns, editFields([]string{"daily_spend_limit"}, func(*node) *node {
			return leaf("null")
		}))},
	{Quirk: Quirk{Name: "camel-keys",
		Doc: "keys of the advertiser API are in camel case: defaultBid"},
		change: ofEntities(ofAPI, func(e *node) {
			e.walk(func(of *node, key string) { of.rename(key, camel(key)) })
		})},
	{Quirk: Quirk{Name: "status-uppercase",
		Doc: "statuses are in upper case: ACTIVE"},
		change: ofEntities(slices.Concat(ofCampaigns, ofCreatives), editFields([]string{"status", "delivery_status"},
			upper))},
	{Quirk: Quirk{Name: "status-other-words",
		Doc: "a campaign's status has a word that the description does not know: RUNNING"},
		change: ofEntities(ofCampaigns, editFields([]string{"status"}, func(v *node) *node {
			return textNode(campaignStates[v.text()])
		}))},
	{Quirk: Quirk{Name: "status-object",
		Doc: `a status is an object: {"code":"active","label":"Active"}`},
		change: ofEntities(ofCampaigns, editFields([]string{"status"}, func(v *node) *node {
			return objectNode().with("code", v).with("label", v)
		}))},
	{Quirk: Quirk{Name: "delivery-missing",
		Doc: "delivery_status is missing"},
		change: ofEntities(ofCampaigns, dropFields("delivery_status"))},
	{Quirk: Quirk{Name: "delivery-null",
		Doc: "delivery_status is null"},
		change: ofEntities(ofCampaigns, editFields([]string{"delivery_status"}, func(*node) *node {
			return leaf("null")
		}))},
	{Quirk: Quirk{Name: "detail-sparse",
		Doc: "the read of one campaign has only what the list lacks"},
		change: func(x *exchange, body *node) *node {
			if x.place == atCampaign {
				for _, e := range entities(body) {
					e.drop("name", "status", "delivery_status", "default_bid", "daily_spend_limit", "created_at")
				}
			}
			return body
		}},
	{Quirk: Quirk{Name: "list-sparse",
		Doc: "the list of campaigns has only their IDs and names"},
		change: func(x *exchange, body *node) *node {
			if x.place == atCampaigns {
				for _, e := range entities(body) {
					e.drop("status", "delivery_status", "default_bid", "daily_spend_limit", "created_at")
				}
			}
			return body
		}},
	{Quirk: Quirk{Name: "keys-flicker",
		Doc: "campaigns, creatives and sources have a key that is another one in every reply"},
		change: func(x *exchange, body *node) *node {
			if x.place.onAPI() {
				for _, e := range entities(body) {
					e.set("request_id", textNode(x.accounts[0].world.requestID()))
					e.set("generated_at", textNode(x.now.UTC().Format(time.RFC3339Nano)+
						strconv.Itoa(x.times("flicker"))))
				}
			}
			return body
		}},
}

// ofAmounts changes all amounts of the advertiser API's replies.
func ofAmounts(change func(v *node) *node) func(x *exchange, body *node) *node {
	keys := slices.Concat(bidFields, []string{
		"bid", "available_balance", "threshold", "amount", "average_daily_spend", "days_left", "used", "limit",
	})
	return func(x *exchange, body *node) *node {
		if x.place.onAPI() {
			for _, e := range entities(body) {
				e.walk(func(of *node, key string) {
					if slices.Contains(keys, key) {
						of.edit(key, change)
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
func ofTimes(change func(t time.Time) *node) func(x *exchange, body *node) *node {
	return ofEntities(ofAPI, func(e *node) {
		e.walk(func(of *node, key string) {
			t, err := time.Parse(time.RFC3339Nano, of.get(key).text())
			if err == nil && slices.Contains(timeFields, key) {
				of.set(key, change(t))
			}
		})
	})
}

func formatted(layout string) func(t time.Time) *node {
	return func(t time.Time) *node { return textNode(t.UTC().Format(layout)) }
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
		change: ofTimes(func(t time.Time) *node {
			return textNode(t.In(time.FixedZone("", -6*3600)).Format("2006-01-02T15:04:05-0700"))
		})},
	{Quirk: Quirk{Name: "times-millis",
		Doc: "times have milliseconds and an offset: 2026-11-01T00:00:00.000-06:00"},
		change: ofTimes(func(t time.Time) *node {
			return textNode(t.In(time.FixedZone("", -6*3600)).Format("2006-01-02T15:04:05.000-07:00"))
		})},
	{Quirk: Quirk{Name: "times-epoch",
		Doc: "times are seconds since 1970"},
		change: ofTimes(func(t time.Time) *node { return leaf(strconv.FormatInt(t.Unix(), 10)) })},
	{Quirk: Quirk{Name: "times-epoch-millis",
		Doc: "times are milliseconds since 1970"},
		change: ofTimes(func(t time.Time) *node { return leaf(strconv.FormatInt(t.UnixMilli(), 10)) })},
	{Quirk: Quirk{Name: "times-epoch-text",
		Doc: "times are texts of milliseconds since 1970"},
		change: ofTimes(func(t time.Time) *node { return textNode(strconv.FormatInt(t.UnixMilli(), 10)) })},
	{Quirk: Quirk{Name: "times-object",
		Doc: `times are objects: {"$date":"2026-11-01T06:00:00Z"}`},
		change: ofTimes(func(t time.Time) *node { return objectNode().with("$date", formatted(time.RFC3339)(t)) })},
	{Quirk: Quirk{Name: "times-words",
		Doc: "times are written for people: Nov 1, 2026, 6:00 AM"},
		change: ofTimes(formatted("Jan 2, 2006, 3:04 PM"))},
	{Quirk: Quirk{Name: "end-date-empty",
		Doc: `end_date of a campaign that has none is ""`},
		change: ofEntities(ofCampaigns, func(e *node) {
			if v := e.get("end_date"); v != nil && v.raw == "null" {
				e.set("end_date", leaf(`""`))
			}
		})},
	{Quirk: Quirk{Name: "end-date-zero",
		Doc: "end_date of a campaign that has none is 0001-01-01T00:00:00Z"},
		change: ofEntities(ofCampaigns, func(e *node) {
			if v := e.get("end_date"); v != nil && v.raw == "null" {
				e.set("end_date", textNode("0001-01-01T00:00:00Z"))
			}
		})},
	{Quirk: Quirk{Name: "end-date-missing",
		Doc: "a campaign without an end_date has no such key"},
		change: ofEntities(ofCampaigns, func(e *node) {
			if v := e.get("end_date"); v != nil && v.raw == "null" {
				e.drop("end_date")
			}
		})},
}

// ofAudience makes a change of the audience of each campaign that shows it.
func ofAudience(change func(e, audience *node)) func(x *exchange, body *node) *node {
	return ofEntities(ofCampaigns, func(e *node) {
		if a := e.get("audience"); a != nil && a.kind == '{' {
			change(e, a)
		}
	})
}

// audienceQuirks are about the audience of a campaign.
var audienceQuirks = []quirk{
	{Quirk: Quirk{Name: "audience-null",
		Doc: "audience is null"},
		change: ofAudience(func(e, _ *node) { e.set("audience", leaf("null")) })},
	{Quirk: Quirk{Name: "audience-missing",
		Doc: "campaigns have no key audience"},
		change: ofAudience(func(e, _ *node) { e.drop("audience") })},
	{Quirk: Quirk{Name: "audience-nulls",
		Doc: "what an audience does not restrict is null or an empty list"},
		change: ofAudience(func(_, a *node) {
			for _, key := range []string{"country", "min_age", "max_age", "gender", "subscribed_more_than_minutes_ago",
				"subscribed_less_than_minutes_ago"} {
				if a.get(key) == nil {
					a.set(key, leaf("null"))
				}
			}
			for _, key := range []string{"states", "platforms"} {
				if a.get(key) == nil {
					a.set(key, listNode())
				}
			}
		})},
	{Quirk: Quirk{Name: "audience-numbers-text",
		Doc: `ages and minutes of an audience are texts: "18"`},
		change: ofAudience(func(_, a *node) {
			for i, v := range a.values {
				a.values[i] = quoted(v)
			}
		})},
	{Quirk: Quirk{Name: "audience-lists-text",
		Doc: `lists of an audience are texts: "NY,CA"`},
		change: ofAudience(func(_, a *node) {
			for i, v := range a.values {
				if v.kind == '[' {
					a.values[i] = textNode(strings.Join(textsOf(v), ","))
				}
			}
		})},
	{Quirk: Quirk{Name: "audience-country-list",
		Doc: `the country of an audience is a list: ["US"]`},
		change: ofAudience(func(_, a *node) { a.edit("country", func(v *node) *node { return listNode(v) }) })},
	{Quirk: Quirk{Name: "audience-nested",
		Doc: `an audience is nested: {"geo":{"country":"US"},"device":{"platforms":[..]}}`},
		change: ofAudience(func(_, a *node) {
			geo, device := objectNode(), objectNode()
			for key, of := range map[string]*node{"country": geo, "platforms": device} {
				if v := a.get(key); v != nil {
					of.set(key, v)
					a.drop(key)
				}
			}
			a.set("geo", geo)
			a.set("device", device)
		})},
	{Quirk: Quirk{Name: "audience-flag-outside",
		Doc: "unsupported_targeting stands beside the audience"},
		change: ofAudience(func(e, a *node) {
			e.set("unsupported_targeting", leaf(strconv.FormatBool(a.get("unsupported_targeting") != nil)))
			a.drop("unsupported_targeting")
		})},
}

func textsOf(list *node) []string {
	var texts []string
	for _, v := range list.values {
		texts = append(texts, v.text())
	}
	return texts
}

// creativeQuirks are about the fields of a creative.
var creativeQuirks = []quirk{
	{Quirk: Quirk{Name: "buttons-object",
		Doc: `buttons are objects: {"text":"Learn more"}`},
		change: ofEntities(ofCreatives, editFields([]string{"button1", "button2"}, func(v *node) *node {
			return objectNode().with("text", v)
		}))},
	{Quirk: Quirk{Name: "buttons-list",
		Doc: `buttons are a list: "buttons":["Learn more"]`},
		change: ofEntities(ofCreatives, func(e *node) {
			list := listNode()
			for _, key := range []string{"button1", "button2"} {
				if v := e.get(key); v != nil && v.raw != "null" {
					list.values = append(list.values, v)
				}
			}
			e.drop("button1", "button2")
			e.set("buttons", list)
		})},
	{Quirk: Quirk{Name: "reasons-objects",
		Doc: `rejection reasons are objects: {"code":"MISLEADING","text":".."}`},
		change: ofReasons(func(v *node) *node {
			for i, r := range v.values {
				v.values[i] = objectNode().with("code", textNode("R"+strconv.Itoa(i+1))).with("text", r)
			}
			return v
		})},
	{Quirk: Quirk{Name: "reasons-text",
		Doc: "rejection reasons are one text"},
		change: ofReasons(func(v *node) *node { return textNode(strings.Join(textsOf(v), "; ")) })},
	{Quirk: Quirk{Name: "reasons-null",
		Doc: "rejection reasons are null"},
		change: ofReasons(func(*node) *node { return leaf("null") })},
	{Quirk: Quirk{Name: "icon-object",
		Doc: `image_id and icon_id are objects: {"id":"..","url":".."}`},
		change: ofEntities(ofCreatives, editFields([]string{"image_id", "icon_id"}, func(v *node) *node {
			return objectNode().with("id", v).with("url", textNode("https://img.example/"+v.text()+".png"))
		}))},
	{Quirk: Quirk{Name: "pending-version",
		Doc: "running creatives have a pending_version, one in three of them a rejected one"},
		change: ofEntities(ofCreatives, pendingVersion)},
	{Quirk: Quirk{Name: "link-missing",
		Doc: "creatives have no key link"},
		change: ofEntities(ofCreatives, dropFields("link"))},
}

// ofReasons makes a change of the reasons for which a creative was rejected. All
// creatives but the running ones have some, so that there is something to change.
func ofReasons(change func(v *node) *node) func(x *exchange, body *node) *node {
	return ofEntities(ofCreatives, func(e *node) {
		if e.get("status").text() == "active" {
			return
		}
		if v := e.get("rejection_reasons"); v == nil || v.kind != '[' {
			e.set("rejection_reasons", listNode(textNode("Misleading claim"), textNode("Poor image")))
			e.set("rejection_comment", textNode("Please change the title."))
		}
		e.edit("rejection_reasons", change)
	})
}

// pendingVersion gives a running creative a version that is reviewed.
func pendingVersion(e *node) {
	if e.get("status").text() != "active" || e.get("pending_version") != nil {
		return
	}
	v := objectNode().with("title", textNode("A new title")).with("message", textNode("A new message"))
	for _, key := range []string{"link", "image_id", "icon_id", "button1", "button2"} {
		if was := e.get(key); was != nil {
			v.set(key, was)
		}
	}
	if title := e.get("title").text(); len(title)%3 > 0 {
		v.set("status", textNode("pending_review"))
	} else {
		v.set("status", textNode("rejected"))
		v.set("rejection_reasons", listNode(textNode("Misleading claim")))
		v.set("rejection_comment", textNode("Please change the title."))
	}
	v.set("submitted_at", textNode("2026-11-20T15:00:00Z"))
	e.set("pending_version", v)
}
