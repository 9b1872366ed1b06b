package variations

import (
	"net/url"
	"strconv"

	"spendsync/extract/adsim/wire"
)

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

// listQuirks are about how a list marks its end.
var listQuirks = behaviors{
	"list-no-totals": {change: ofLists(noTotals)},
	"list-cap": {
		ask:    capped,
		change: ofLists(noTotals)},
	"list-cap-total": {ask: capped},
	"list-has-more": {
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			body.Set("has_more", leaf(strconv.FormatBool(x.offset()+len(entries) < total)))
		})},
	"list-next-offset": {
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.Drop("total", "limit", "offset")
			next := leaf("null")
			if end := x.offset() + len(entries); end < total {
				next = num(end)
			}
			body.Set("next_offset", next)
		})},
	"list-cursor": {
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
	"list-meta-total": {
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, total int) {
			body.Drop("total", "limit", "offset")
			body.Set("meta", object().With("total", num(total)))
		})},
	"list-total-text": {
		ask:    capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, _ int) { body.Edit("total", quoted) })},
	"list-total-shown": {
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, entries []*node, _ int) {
			body.Set("total", num(len(entries)))
		})},
	"list-total-more": {change: ofLists(func(_ *exchange, body *node, _ []*node, total int) {
		body.Set("total", num(total+1))
	})},
	"list-total-header": {
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
	"list-shifts": {ask: func(x *exchange) {
		if capped(x); x.place.isList() && x.offset() > 0 && x.times("shift "+x.request.URL.Path) == 1 {
			x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
		}
	}},
	"list-moves": {ask: func(x *exchange) {
		if capped(x); x.place.isList() && x.offset() > 0 {
			x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
		}
	}},
	"list-ids": {change: func(x *exchange, body *node) *node {
		if x.place != atCampaigns {
			return body
		}
		ids := list()
		for _, e := range entities(body) {
			ids.Values = append(ids.Values, ownID(e))
		}
		return object().With("campaigns", ids)
	}},
	"list-map": {change: func(x *exchange, body *node) *node {
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
var envelopeQuirks = behaviors{
	"envelope-bare":  {change: wrapped(bare, bare)},
	"envelope-data":  {change: wrapped(under("data"), under("data"))},
	"envelope-items": {change: wrapped(under("items"), bare)},
	"envelope-results": {change: wrapped(func(x *exchange, inner, around *node) *node {
		around.Rename("total", "count")
		around.Drop("limit", "offset")
		return around.With("results", inner)
	}, bare)},
	"envelope-result":   {change: wrapped(under("result"), under("result"))},
	"envelope-own-name": {change: wrapped(underOwnName, underOwnName)},
	"envelope-nested": {change: wrapped(
		func(x *exchange, inner, around *node) *node {
			return object().With("data", underOwnName(x, inner, around))
		},
		func(x *exchange, inner, around *node) *node {
			return object().With("data", underOwnName(x, inner, around))
		})},
	"envelope-success": {change: wrapped(inSuccess, inSuccess)},
	"envelope-edges": {change: wrapped(func(x *exchange, inner, around *node) *node {
		for i, e := range inner.Values {
			inner.Values[i] = object().With("node", e)
		}
		return object().
			With("edges", inner).
			With("pageInfo", object().With("hasNextPage", leaf("false")))
	}, bare)},
	"json-api": {change: wrapped(func(x *exchange, inner, around *node) *node {
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
