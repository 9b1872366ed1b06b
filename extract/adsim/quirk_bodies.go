package adsim

import (
	"net/url"
	"strconv"
)

// mostListed is how many entries a list gives at most where a quirk caps it.
const mostListed = 4

// capped makes lists give fewer entries than asked for.
func capped(x *exchange) {
	if x.place.isList() && x.number("limit", 25) > mostListed {
		x.edit(func(q url.Values) { q.Set("limit", strconv.Itoa(mostListed)) })
	}
}

// ofLists makes a change of the replies that are lists. entries are those on the page,
// total is how many there are in all; -1 where the reply does not say.
func ofLists(change func(x *exchange, body *node, entries []*node, total int)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		if x.place.isList() && body.kind == '{' {
			total := -1
			if t := body.get("total"); t != nil {
				total = t.number()
			}
			change(x, body, entities(body), total)
		}
		return body
	}
}

func noTotals(_ *exchange, body *node, _ []*node, _ int) { body.drop("total", "limit", "offset") }

// listQuirks are about how a list says where it ends.
var listQuirks = []quirk{
	{Quirk: Quirk{Name: "list-no-totals",
		Doc: "lists have no total, limit and offset"},
		change: ofLists(noTotals)},
	{Quirk: Quirk{Name: "list-cap",
		Doc: "lists give at most 4 entries a page, whatever was asked for, and no total"},
		ask: capped, change: ofLists(noTotals)},
	{Quirk: Quirk{Name: "list-cap-total",
		Doc: "lists give at most 4 entries a page, whatever was asked for, and their total"},
		ask: capped},
	{Quirk: Quirk{Name: "list-has-more",
		Doc: "lists give at most 4 entries a page and has_more in the place of a total"},
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.drop("total", "limit", "offset")
			body.set("has_more", leaf(strconv.FormatBool(x.offset()+len(entries) < total)))
		})},
	{Quirk: Quirk{Name: "list-next-offset",
		Doc: "lists give at most 4 entries a page and next_offset in the place of a total"},
		ask: capped,
		change: ofLists(func(x *exchange, body *node, entries []*node, total int) {
			body.drop("total", "limit", "offset")
			next := leaf("null")
			if end := x.offset() + len(entries); end < total {
				next = intNode(end)
			}
			body.set("next_offset", next)
		})},
	{Quirk: Quirk{Name: "list-cursor",
		Doc: "lists give at most 4 entries a page, ignore the offset, and name a cursor for more"},
		ask: func(x *exchange) {
			capped(x)
			if x.place.isList() {
				x.edit(func(q url.Values) { q.Del("offset") })
			}
		},
		change: ofLists(func(_ *exchange, body *node, entries []*node, total int) {
			body.drop("total", "limit", "offset")
			if len(entries) < total {
				body.set("next_cursor", textNode("eyJvIjo0fQ"))
			}
		})},
	{Quirk: Quirk{Name: "list-meta-total",
		Doc: `the total of a list lies in meta: {"meta":{"total":6}}`},
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, total int) {
			body.drop("total", "limit", "offset")
			body.set("meta", objectNode().with("total", intNode(total)))
		})},
	{Quirk: Quirk{Name: "list-total-text",
		Doc: `the total of a list is a text: "6"`},
		ask:    capped,
		change: ofLists(func(_ *exchange, body *node, _ []*node, _ int) { body.edit("total", quoted) })},
	{Quirk: Quirk{Name: "list-total-shown",
		Doc: "the total of a list is how many entries the page has"},
		ask: capped,
		change: ofLists(func(_ *exchange, body *node, entries []*node, _ int) {
			body.set("total", intNode(len(entries)))
		})},
	{Quirk: Quirk{Name: "list-total-more",
		Doc: "the total of a list counts one entry that is nowhere listed"},
		change: ofLists(func(_ *exchange, body *node, _ []*node, total int) { body.set("total", intNode(total+1)) })},
	{Quirk: Quirk{Name: "list-total-header",
		Doc: "the total of a list is in the header X-Total-Count"},
		ask: capped,
		change: ofLists(func(x *exchange, body *node, _ []*node, total int) {
			body.drop("total", "limit", "offset")
			x.total = total
		}),
		wire: func(x *exchange, rep *reply) {
			if x.place.isList() {
				rep.header.Set("X-Total-Count", strconv.Itoa(x.total))
			}
		}},
	{Quirk: Quirk{Name: "list-shifts",
		Doc: "an entry goes from the front of a list while it is read for the first time"},
		ask: func(x *exchange) {
			if capped(x); x.place.isList() && x.offset() > 0 && x.times("shift "+x.request.URL.Path) == 1 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
			}
		}},
	{Quirk: Quirk{Name: "list-moves",
		Doc: "an entry goes from the front of a list whenever it is read"},
		ask: func(x *exchange) {
			if capped(x); x.place.isList() && x.offset() > 0 {
				x.edit(func(q url.Values) { q.Set("offset", strconv.Itoa(x.offset()+1)) })
			}
		}},
	{Quirk: Quirk{Name: "list-empty",
		Doc: "the list of campaigns is empty, though the report has some"},
		change: func(x *exchange, body *node) *node {
			if x.place == atCampaigns {
				return objectNode().with("campaigns", listNode()).with("total", intNode(0))
			}
			return body
		}},
	{Quirk: Quirk{Name: "list-ids",
		Doc: "the list of campaigns has their IDs alone"},
		change: func(x *exchange, body *node) *node {
			if x.place != atCampaigns {
				return body
			}
			ids := listNode()
			for _, e := range entities(body) {
				ids.values = append(ids.values, ownID(e))
			}
			return objectNode().with("campaigns", ids)
		}},
	{Quirk: Quirk{Name: "list-map",
		Doc: `lists are objects by ID: {"campaigns":{"C13463005":{..}}}`},
		change: func(x *exchange, body *node) *node {
			if !x.place.isList() {
				return body
			}
			byID := objectNode()
			for _, e := range entities(body) {
				byID.set(ownID(e).text(), e)
			}
			return objectNode().with(x.plural(), byID)
		}},
}

// ownID is the ID of an entity of a list, under either of its names.
func ownID(e *node) *node {
	for _, key := range []string{"id", "creative_id", "campaign_id"} {
		if v := e.get(key); v != nil {
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

// plural and singular are the names of what is asked for; empty where it has none.
func (x *exchange) plural() string {
	return map[place]string{atCampaigns: "campaigns", atCreatives: "creatives"}[x.place]
}

func (x *exchange) singular() string {
	return map[place]string{
		atCampaign: "campaign", atCreative: "creative", atSources: "source_settings", atMe: "me", atLimits: "limits",
		atBalance: "balance",
	}[x.place]
}

// wrapped puts lists and single objects into another envelope; what stood beside a
// list (its total) stays beside it where the envelope has a place for it.
func wrapped(list, one func(x *exchange, inner *node, around *node) *node) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		switch {
		case x.place.isList():
			around := objectNode()
			for _, key := range []string{"total", "limit", "offset"} {
				if v := body.get(key); v != nil {
					around.set(key, v)
				}
			}
			return list(x, listNode(entities(body)...), around)
		case x.place.onAPI() && len(entities(body)) > 0:
			return one(x, entities(body)[0], objectNode())
		}
		return body
	}
}

func bare(_ *exchange, inner, _ *node) *node { return inner }

// under puts it under one key.
func under(key string) func(x *exchange, inner, around *node) *node {
	return func(_ *exchange, inner, around *node) *node { return around.with(key, inner) }
}

func underOwnName(x *exchange, inner, around *node) *node {
	if x.place.isList() {
		return around.with(x.plural(), inner)
	}
	return around.with(x.singular(), inner)
}

// envelopeQuirks are about what a body of the advertiser API is wrapped in.
var envelopeQuirks = []quirk{
	{Quirk: Quirk{Name: "envelope-bare",
		Doc: "bodies have no envelope: [..], {..}"},
		change: wrapped(bare, bare)},
	{Quirk: Quirk{Name: "envelope-data",
		Doc: `bodies lie under data: {"data":[..]}, {"data":{..}}`},
		change: wrapped(under("data"), under("data"))},
	{Quirk: Quirk{Name: "envelope-items",
		Doc: `lists lie under items: {"items":[..]}`},
		change: wrapped(under("items"), bare)},
	{Quirk: Quirk{Name: "envelope-results",
		Doc: `lists lie under results: {"results":[..],"count":6}`},
		change: wrapped(func(x *exchange, inner, around *node) *node {
			around.rename("total", "count")
			around.drop("limit", "offset")
			return around.with("results", inner)
		}, bare)},
	{Quirk: Quirk{Name: "envelope-result",
		Doc: `bodies lie under result: {"result":{..}}, {"result":[..]}`},
		change: wrapped(under("result"), under("result"))},
	{Quirk: Quirk{Name: "envelope-own-name",
		Doc: `bodies lie under their own name, also those of the account: {"balance":{..}}`},
		change: wrapped(underOwnName, underOwnName)},
	{Quirk: Quirk{Name: "envelope-nested",
		Doc: `bodies lie under data and their own name: {"data":{"campaigns":[..]}}`},
		change: wrapped(
			func(x *exchange, inner, around *node) *node {
				return objectNode().with("data", underOwnName(x, inner, around))
			},
			func(x *exchange, inner, around *node) *node {
				return objectNode().with("data", underOwnName(x, inner, around))
			})},
	{Quirk: Quirk{Name: "envelope-success",
		Doc: `bodies lie under data, beside success and message: {"success":true,"message":"OK","data":..}`},
		change: wrapped(inSuccess, inSuccess)},
	{Quirk: Quirk{Name: "envelope-edges",
		Doc: `lists are connections: {"edges":[{"node":{..}}],"totalCount":6}`},
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.values {
				inner.values[i] = objectNode().with("node", e)
			}
			return objectNode().with("edges", inner).with("pageInfo", objectNode().with("hasNextPage", leaf("false")))
		}, bare)},
	{Quirk: Quirk{Name: "json-api",
		Doc: `bodies are JSON:API: {"data":{"type":"campaigns","id":"C1","attributes":{..}}}`},
		change: wrapped(func(x *exchange, inner, around *node) *node {
			for i, e := range inner.values {
				inner.values[i] = jsonAPI(x.plural(), e)
			}
			return objectNode().with("data", inner).with("meta", around)
		}, func(x *exchange, inner, _ *node) *node {
			return objectNode().with("data", jsonAPI(x.singular(), inner))
		})},
}

func inSuccess(_ *exchange, inner, around *node) *node {
	body := objectNode().with("success", leaf("true")).with("message", textNode("OK")).with("data", inner)
	for i, key := range around.keys {
		body.set(key, around.values[i])
	}
	return body
}

// jsonAPI is an object as JSON:API writes it.
func jsonAPI(kind string, e *node) *node {
	o := objectNode().with("type", textNode(kind))
	if id := e.get("id"); id != nil {
		o.set("id", id)
		e.drop("id")
	}
	return o.with("attributes", e)
}

// reportBodyQuirks are about what a body of the report is wrapped in.
var reportBodyQuirks = []quirk{
	{Quirk: Quirk{Name: "report-wrapped",
		Doc: `the report lies under data: {"data":{"columns":..,"data":..,"pagination":..}}`},
		change: ofReportBody(func(body *node) *node { return objectNode().with("data", body) })},
	{Quirk: Quirk{Name: "report-success",
		Doc: `the report has success and message beside its rows`},
		change: ofReportBody(func(body *node) *node {
			body.set("success", leaf("true"))
			body.set("message", textNode("OK"))
			return body
		})},
	{Quirk: Quirk{Name: "report-bare",
		Doc: "the report is its rows alone: [..]"},
		change: ofReportBody(func(body *node) *node { return listNode(rowsOf(body)...) })},
	{Quirk: Quirk{Name: "report-rows",
		Doc: "the rows of the report lie under rows, not data"},
		change: ofReportBody(func(body *node) *node { body.rename("data", "rows"); return body })},
	{Quirk: Quirk{Name: "report-data-null",
		Doc: "data of the report is null where there are no rows"},
		change: ofReportBody(func(body *node) *node {
			if data := body.get("data"); data != nil && len(data.values) == 0 {
				body.set("data", leaf("null"))
			}
			return body
		})},
	{Quirk: Quirk{Name: "report-error-200",
		Doc: `the report is an error with status 200: {"error":".."}`},
		change: ofReportBody(func(*node) *node {
			return objectNode().with("error", textNode("The report is being prepared. Try again later."))
		})},
	{Quirk: Quirk{Name: "report-failure-200",
		Doc: `the report is an error with status 200: {"success":false,"message":".."}`},
		change: ofReportBody(func(*node) *node {
			return objectNode().with("success", leaf("false")).with("message", textNode("Backend timeout (code 4711)"))
		})},
}

func ofReportBody(change func(body *node) *node) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		if x.place.onReport() {
			return change(body)
		}
		return body
	}
}
