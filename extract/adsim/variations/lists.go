package variations

import (
	"net/url"
	"strconv"

	"spendsync/extract/adsim/wire"
)

// mostListed is how many entries a list gives at most where a quirk caps it.
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

// listQuirks are about how a list marks its end.
var listQuirks = []Quirk{
	{Name: "list-no-totals", Doc: "lists have no total, limit and offset",
		change: ofLists(noTotals)},
	{Name: "list-cap", Doc: "lists give at most 4 entries a page, whatever was asked for, and no total",
		ask: capped, change: ofLists(noTotals)},
	{Name: "list-cap-total", Doc: "lists give at most 4 entries a page, whatever was asked for, and their total",
		ask: capped},
	{Name: "list-has-more", Doc: "lists give at most 4 entries a page and has_more in the place of a total",
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			body.Set("has_more", leaf(strconv.FormatBool(x.offset()+len(entries) < total)))
		})},
	{Name: "list-next-offset", Doc: "lists give at most 4 entries a page and next_offset in the place of a total",
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			next := leaf("null")
			if end := x.offset() + len(entries); end < total {
				next = num(end)
			}
			body.Set("next_offset", next)
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
	{Name: "list-meta-total", Doc: `the total of a list lies in meta: {"meta":{"total":6}}`,
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, total int) {
			body.Drop("total", "limit", "offset")
			body.Set("meta", object().With("total", num(total)))
		})},
	{Name: "list-total-text", Doc: `the total of a list is a text: "6"`,
		ask:    capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, _ int) { body.Edit("total", quoted) })},
	{Name: "list-total-shown", Doc: "the total of a list is how many entries the page has",
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, entries []*node, _ int) {
			body.Set("total", num(len(entries)))
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
		change: func(x *exchange, body *node) *node {
			if x.place == atCampaigns {
				return object().With("campaigns", list()).With("total", num(0))
			}
			return body
		}},
	{Name: "list-ids", Doc: "the list of campaigns has their IDs alone",
		change: func(x *exchange, body *node) *node {
			if x.place != atCampaigns {
				return body
			}
			ids := list()
			for _, e := range entities(body) {
				ids.Values = append(ids.Values, ownID(e))
			}
			return object().With("campaigns", ids)
		}},
	{Name: "list-map", Doc: `lists are objects by ID: {"campaigns":{"C13463005":{..}}}`,
		change: func(x *exchange, body *node) *node {
			if !x.place.isList() {
				return body
			}
			byID := object()
			for _, e := range entities(body) {
				byID.Set(ownID(e).Text(), e)
			}
			return object().With(x.plural(), byID)
		}},
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
			around := object()
			for _, key := range []string{"total", "limit", "offset"} {
				if v := body.Get(key); v != nil {
					around.Set(key, v)
				}
			}
			return many(x, list(entities(body)...), around)
		case x.place.onAPI() && len(entities(body)) > 0:
			return one(x, entities(body)[0], object())
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

// envelopeQuirks are about what a body of the advertiser API is wrapped in.
var envelopeQuirks = []Quirk{
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
	{Name: "envelope-result", Doc: `bodies lie under result: {"result":{..}}, {"result":[..]}`,
		change: wrapped(under("result"), under("result"))},
	{Name: "envelope-own-name", Doc: `bodies lie under their own name, also those of the account: {"balance":{..}}`,
		change: wrapped(underOwnName, underOwnName)},
	{Name: "envelope-nested", Doc: `bodies lie under data and their own name: {"data":{"campaigns":[..]}}`,
		change: wrapped(
			func(x *exchange, inner, around *node) *node {
				return object().With("data", underOwnName(x, inner, around))
			},
			func(x *exchange, inner, around *node) *node {
				return object().With("data", underOwnName(x, inner, around))
			})},
	{Name: "envelope-success",
		Doc:    `bodies lie under data, beside success and message: {"success":true,"message":"OK","data":..}`,
		change: wrapped(inSuccess, inSuccess)},
	{Name: "envelope-edges", Doc: `lists are connections: {"edges":[{"node":{..}}],"totalCount":6}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.Values {
				inner.Values[i] = object().With("node", e)
			}
			return object().
				With("edges", inner).
				With("pageInfo", object().With("hasNextPage", leaf("false")))
		}, bare)},
	{Name: "json-api", Doc: `bodies are JSON:API: {"data":{"type":"campaigns","id":"C1","attributes":{..}}}`,
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.Values {
				inner.Values[i] = jsonAPI(x.plural(), e)
			}
			return object().With("data", inner).With("meta", around)
		}, func(x *exchange, inner, _ *node) *node {
			return object().With("data", jsonAPI(x.singular(), inner))
		})},
}

func inSuccess(_ *exchange, inner, around *node) *node {
	body := object().
		With("success", leaf("true")).
		With("message", text("OK")).
		With("data", inner)
	for i, key := range around.Keys {
		body.Set(key, around.Values[i])
	}
	return body
}

// jsonAPI is an object as JSON:API writes it.
func jsonAPI(kind string, e *node) *node {
	o := object().With("type", text(kind))
	if id := e.Get("id"); id != nil {
		o.Set("id", id)
		e.Drop("id")
	}
	return o.With("attributes", e)
}
