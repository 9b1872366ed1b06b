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
	{Name: "me-unreadable", Doc: `the key's info says nothing: {"ok":true}`, change: whole("me", `{"ok":true}`)},
	{Name: "me-404", Doc: "the key's info is not there (404)",
		override: refuse("me", 404, "There is no such path.", always)},
	{Name: "limits-404", Doc: "the limits are not there (404)",
		override: refuse("limits", 404, "There is no such path.", always)},
	{Name: "balance-renamed", Doc: "available_balance is called credit_left",
		change: in("balance", "available_balance", renamed("credit_left"))},
	{Name: "auto-funding-off", Doc: "auto-funding is switched off: false",
		change: in("balance", "auto_funding", put("false"))},

	// How a list ends.
	{Name: "list-cap", Doc: "lists give at most 4 entries a page, whatever was asked for, and no total",
		ask: capped, change: body(ofListed, noTotals)},
	{Name: "list-moves", Doc: "an entry goes from the front of a list whenever it is read",
		ask: func(x *exchange) {
			if capped(x); x.place.is(ofListed) && x.number("offset", 0) > 0 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.number("offset", 0)+1)) })
			}
		}},
	{Name: "list-empty", Doc: "the list of campaigns is empty, though the report has some",
		change: whole("campaigns", `{"campaigns":[],"total":0}`)},

	// What a body of the API is wrapped in.
	{Name: "envelope-bare", Doc: "bodies have no envelope: [..], {..}",
		change: func(x *exchange, body *node) *node {
			if inner := body.Get(string(x.place)); inner != nil && x.place.is(ofNamed) {
				return inner
			}
			return body
		}},
	{Name: "envelope-data", Doc: `bodies lie under data: {"data":[..]}, {"data":{..}}`,
		change: func(x *exchange, body *node) *node {
			switch {
			case x.place.is(ofNamed):
				body.Rename(string(x.place), "data")
			case x.place.is(ofAPI):
				return with("data", body)
			}
			return body
		}},
	{Name: "list-two-arrays", Doc: `lists have two arrays of objects: {"entries":[..],"others":[..]}`,
		change: func(x *exchange, body *node) *node {
			if x.place.is(ofListed) {
				body.Rename(string(x.place), "entries")
				body.Set("others", list(with("note", text("x"))))
			}
			return body
		}},
	{Name: "no-route", Doc: "a creative alone is answered by the framework: 404, no such route",
		override: func(x *exchange) (wire.Reply, bool) {
			return wire.JSONReply(404, []byte(`{"statusCode":404,"message":"Cannot GET `+x.request.URL.Path+
				`","error":"Not Found"}`)), x.place == "creative"
		}},
}

// mostListed is the number of entries on a page of a capped list.
const mostListed = 4

// capped makes lists give fewer entries than asked for.
func capped(x *exchange) {
	if x.place.is(ofListed) && x.number("limit", 25) > mostListed {
		x.edit(func(q url.Values) { q.Set("limit", strconv.Itoa(mostListed)) })
	}
}

func noTotals(body *node) { body.Drop("total", "limit", "offset") }
