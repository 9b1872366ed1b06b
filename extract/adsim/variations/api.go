package variations

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// apiQuirks are variations of the advertiser API alone.
var apiQuirks = []Quirk{
	// The fields of a campaign.
	{Name: "bid-renamed", Doc: "default_bid is called max_cpc",
		change: in(ofCampaigns, "default_bid", renamed("max_cpc"))},
	{Name: "limit-missing", Doc: "a campaign has no daily_spend_limit",
		change: in(ofCampaigns, "daily_spend_limit", drop)},
	{Name: "limit-null", Doc: "daily_spend_limit is null",
		change: in(ofCampaigns, "daily_spend_limit", value(func(*node) *node { return leaf("null") }))},
	{Name: "camel-keys", Doc: "keys of the advertiser API are in camel case: defaultBid",
		change: edit(ofAPI, camelKeys)},
	{Name: "status-other-words", Doc: "a campaign's status has a word that the description does not know: RUNNING",
		change: in(ofCampaigns, "status", words(func(s string) string {
			return map[string]string{"active": "RUNNING", "paused": "STOPPED", "archived": "ENDED",
				"rejected": "REFUSED"}[s]
		}))},
	{Name: "keys-flicker", Doc: "campaigns, creatives and sources have a key that is another one in every reply",
		change: each(ofAPI, func(x *exchange, _ int, e *node) {
			e.Set("request_id", text(x.accounts[0].World.RequestID()))
			e.Set("generated_at", text(x.now.UTC().Format(time.RFC3339Nano)+strconv.Itoa(x.times("flicker"))))
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
	{Name: "bids-map", Doc: `bid_overrides is an object: {"S1":0.25}`,
		change: in(ofSources, "bid_overrides", value(func(v *node) *node { return byKey(v, "source_id", "bid") }))},
	{Name: "bids-null", Doc: "bid_overrides is null: the bids could not be read",
		change: in(ofSources, "bid_overrides", put("null"))},
	{Name: "bids-missing", Doc: "source settings have no key bid_overrides",
		change: in(ofSources, "bid_overrides", drop)},
	{Name: "me-unreadable", Doc: `the key's info says nothing: {"ok":true}`, change: whole("me", `{"ok":true}`)},
	{Name: "me-404", Doc: "the key's info is not there (404)",
		override: refuse("me", 404, "There is no such path.", always)},
	{Name: "limits-map", Doc: `the limits are an object: {"limits":{"campaign_create":{"used":0,..}}}`,
		change: in("limits", "limits", value(func(v *node) *node { return byKey(v, "kind", "") }))},
	{Name: "limits-404", Doc: "the limits are not there (404)",
		override: refuse("limits", 404, "There is no such path.", always)},
	{Name: "balance-renamed", Doc: "available_balance is called credit_left",
		change: in("balance", "available_balance", renamed("credit_left"))},
	{Name: "auto-funding-off", Doc: "auto-funding is switched off: false",
		change: in("balance", "auto_funding", put("false"))},
	{Name: "balance-error-200", Doc: `the balance is an error with status 200: {"error":".."}`,
		change: whole("balance",
			`{"error":{"code":"upstream_error","message":"The billing backend does not answer."}}`)},

	// The form of IDs.
	{Name: "ids-long", Doc: "objects name their own ID campaign_id or creative_id",
		change: ownIDs(func(e *node, long string) { e.Rename("id", long) })},
	{Name: "ids-number", Doc: "IDs of campaigns and creatives are numbers: 13463005",
		change: ownIDs(func(e *node, _ string) {
			e.Set("id", leaf(strings.TrimLeft(strings.NewReplacer("C", "", "-", "").Replace(e.Get("id").Text()), "0")))
		})},

	// How a list marks its end.
	{Name: "list-no-totals", Doc: "lists have no total, limit and offset",
		change: body(ofListed, noTotals)},
	{Name: "list-cap", Doc: "lists give at most 4 entries a page, whatever was asked for, and no total",
		ask:    capped,
		change: body(ofListed, noTotals)},
	{Name: "list-total-more", Doc: "the total of a list counts one entry that is nowhere listed",
		change: body(ofListed, func(body *node) {
			body.Edit("total", func(v *node) *node { return num(v.Number() + 1) })
		})},
	{Name: "list-shifts", Doc: "an entry goes from the front of a list while it is read for the first time",
		ask: shifts(func(x *exchange) bool { return x.times("shift "+x.request.URL.Path) == 1 })},
	{Name: "list-moves", Doc: "an entry goes from the front of a list whenever it is read", ask: shifts(always)},
	{Name: "list-empty", Doc: "the list of campaigns is empty, though the report has some",
		change: whole("campaigns", `{"campaigns":[],"total":0}`)},
	{Name: "list-map", Doc: `lists are objects by ID: {"campaigns":{"C13463005":{..}}}`,
		change: inPlaces(ofListed, func(x *exchange, body *node) *node {
			byID := with()
			for _, e := range entities(body) {
				byID.Set(ownID(e).Text(), e)
			}
			return with(string(x.place), byID)
		})},

	// What a body of the API is wrapped in.
	{Name: "envelope-bare", Doc: "bodies have no envelope: [..], {..}",
		change: wrapped(bare, bare)},
	{Name: "envelope-data", Doc: `bodies lie under data: {"data":[..]}, {"data":{..}}`,
		change: wrapped(under("data"), under("data"))},
	{Name: "envelope-items", Doc: `lists lie under items: {"items":[..]}`,
		change: wrapped(under("items"), bare)},
	{Name: "json-api", Doc: `bodies are JSON:API: {"data":{"type":"campaigns","id":"C1","attributes":{..}}}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.Values {
				inner.Values[i] = jsonAPI(string(x.place), e)
			}
			return with("data", inner, "meta", around)
		}, func(x *exchange, inner, _ *node) *node {
			return with("data", jsonAPI(string(x.place), inner))
		})},

	// Bodies that no list of the known ones names.
	{Name: "me-bare-id", Doc: `the key's info is its account's ID alone: {"id":"A1"}`,
		change: edit("me", func(e *node) { *e = *with("id", e.Get("advertiser_id")) })},
	{Name: "envelope-hal", Doc: `lists are HAL: {"_embedded":{"campaigns":[..]},"page":{"totalElements":6}}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			return with("_embedded", with(string(x.place), inner), "page", with("totalElements", totalIn(around)))
		}, bare)},
	{Name: "envelope-spring", Doc: `lists are Spring's pages: {"content":[..],"totalElements":6,"last":true}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			last := x.number("offset", 0)+len(inner.Values) >= totalIn(around).Number()
			number := x.number("offset", 0) / x.number("limit", 25)
			return with("content", inner, "totalElements", totalIn(around), "number", num(number),
				"last", leaf(strconv.FormatBool(last)))
		}, bare)},
	{Name: "envelope-payload", Doc: `bodies lie under payload, lists in its rows: {"payload":{"rows":[..]}}`,
		change: wrapped(func(_ *exchange, inner, around *node) *node {
			return with("payload", with("rows", inner, "count", totalIn(around)))
		}, under("payload"))},
}

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
		if e.Get("id") != nil {
			do(e, strings.TrimSuffix(string(x.place), "s")+"_id")
		}
	})
}

// mostListed is the number of entries on a page of a capped list.
const mostListed = 4

// capped makes lists give fewer entries than asked for.
func capped(x *exchange) {
	if x.place.is(ofListed) && x.number("limit", 25) > mostListed {
		x.edit(func(q url.Values) { q.Set("limit", strconv.Itoa(mostListed)) })
	}
}

// shifts skips an entry before every page but the first.
func shifts(when func(x *exchange) bool) func(x *exchange) {
	return func(x *exchange) {
		if capped(x); x.place.is(ofListed) && x.number("offset", 0) > 0 && when(x) {
			x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.number("offset", 0)+1)) })
		}
	}
}

func noTotals(body *node) { body.Drop("total", "limit", "offset") }

// ownID is the ID of an entity of a list, under either of its names.
func ownID(e *node) *node {
	for _, key := range []string{"id", "creative_id", "campaign_id"} {
		if v := e.Get(key); v != nil {
			return v
		}
	}
	return nil
}

// wrapped puts lists and single objects into another envelope; the fields next to a list (its
// total) stay next to it if the envelope has a place for them.
func wrapped(many, one func(x *exchange, inner, around *node) *node) change {
	return func(x *exchange, body *node) *node {
		switch {
		case x.place.is(ofListed):
			around := with()
			for _, key := range []string{"total", "limit", "offset"} {
				if v := body.Get(key); v != nil {
					around.Set(key, v)
				}
			}
			return many(x, list(entities(body)...), around)
		case x.place.is(ofAPI) && len(entities(body)) > 0:
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

// jsonAPI is an object as JSON:API writes it.
func jsonAPI(kind string, e *node) *node {
	o := with("type", text(kind))
	if id := e.Get("id"); id != nil {
		o.Set("id", id)
		e.Drop("id")
	}
	return o.With("attributes", e)
}
