package variations

import (
	"net/url"
	"strconv"

	"spendsync/extract/adsim/wire"
)

// apiQuirks are variations of the advertiser API alone.
var apiQuirks = []Quirk{
	// The fields of a campaign.
	{Name: "bid-renamed", Doc: "default_bid is called max_cpc",
		change: in(ofCampaigns, "default_bid", renamed("max_cpc"))},
	{Name: "limit-null", Doc: "daily_spend_limit is null",
		change: in(ofCampaigns, "daily_spend_limit", put("null"))},
	{Name: "status-other-words", Doc: "a campaign's status has a word that the description does not know: RUNNING",
		change: in(ofCampaigns, "status", words(func(s string) string {
			return map[string]string{"active": "RUNNING", "paused": "STOPPED", "archived": "ENDED",
				"rejected": "REFUSED"}[s]
		}))},
	{Name: "ids-long", Doc: "campaigns name their own ID campaign_id",
		change: in(ofCampaigns, "id", renamed("campaign_id"))},

	// The sources and the account.
	{Name: "bids-missing", Doc: "source settings have no key bid_overrides",
		change: in(ofSources, "bid_overrides", drop)},
	{Name: "me-unreadable", Doc: `the key's info contains nothing about the account: {"ok":true}`,
		change: replaceBody("me", `{"ok":true}`)},
	{Name: "me-404", Doc: "the key's info does not exist (404)",
		override: refused("me", 404, "There is no such path.", always)},
	{Name: "limits-404", Doc: "the limits do not exist (404)",
		override: refused("limits", 404, "There is no such path.", always)},
	{Name: "balance-renamed", Doc: "available_balance is called credit_left",
		change: in("balance", "available_balance", renamed("credit_left"))},
	{Name: "auto-funding-off", Doc: "auto-funding is switched off: false",
		change: in("balance", "auto_funding", put("false"))},

	// How lists are divided into pages, and how lists end.
	{Name: "list-cap", Doc: "a page of a list has at most 4 entries, whatever was asked for, and no total",
		ask: capped, change: body(ofListed, noTotals)},
	{Name: "list-moves", Doc: "an entry leaves the front of a list whenever a further page is read",
		ask: func(x *exchange) {
			if capped(x); x.endpoint.is(ofListed) && x.number("offset", 0) > 0 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.number("offset", 0)+1)) })
			}
		}},
	{Name: "list-empty", Doc: "the list of campaigns is empty, though the report has some",
		change: replaceBody("campaigns", `{"campaigns":[],"total":0}`)},

	{Name: "list-short", Doc: "entries of a list of creatives have no content; a single creative has",
		change: in("creatives", "title message link image_id icon_id button1 button2", drop)},

	// The envelope of a body.
	{Name: "envelope-bare", Doc: "bodies have no envelope: [..], {..}",
		change: func(x *exchange, body *node) *node {
			if inner := body.Get(string(x.endpoint)); inner != nil && x.endpoint.is(ofNamed) {
				return inner
			}
			return body
		}},
	{Name: "envelope-data", Doc: `bodies lie under data: {"data":[..]}, {"data":{..}}`,
		change: func(x *exchange, body *node) *node {
			switch {
			case x.endpoint.is(ofNamed):
				body.Rename(string(x.endpoint), "data")
			case x.endpoint.is(ofAPI):
				return with("data", body)
			}
			return body
		}},
	{Name: "list-two-arrays", Doc: `lists have two arrays of objects: {"entries":[..],"others":[..]}`,
		change: func(x *exchange, body *node) *node {
			if x.endpoint.is(ofListed) {
				body.Rename(string(x.endpoint), "entries")
				body.Set("others", list(with("note", text("x"))))
			}
			return body
		}},
	{Name: "no-route", Doc: "a single creative is no route of the service: the web framework answers 404",
		override: func(x *exchange) (wire.Reply, bool) {
			return wire.JSONReply(404, []byte(`{"statusCode":404,"message":"Cannot GET `+x.request.URL.Path+
				`","error":"Not Found"}`)), x.endpoint == "creative"
		}},
}

// mostListed is the maximum number of entries on a page of a capped list.
const mostListed = 4

// capped limits the number of entries on a page of a list to mostListed, even if the client requests more.
func capped(x *exchange) {
	if x.endpoint.is(ofListed) && x.number("limit", 25) > mostListed {
		x.edit(func(q url.Values) { q.Set("limit", strconv.Itoa(mostListed)) })
	}
}

func noTotals(body *node) { body.Drop("total", "limit", "offset") }
