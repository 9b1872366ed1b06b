package variations

import (
	"math/rand/v2"
	"net/url"

	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// moodQuirks are the moods of services that a client must not take for facts.
var moodQuirks = behaviors{
	"limit-200": {override: limited(200, `{"code":40100,"message":"Too many requests"}`)},
	"limit-400": {override: limited(400,
		`{"error":{"message":"(#17) User request limit reached","type":"OAuthException","code":17}}`)},
	"limit-403": {override: limited(403, `{"error":{"code":403,"message":"Rate Limit Exceeded",`+
		`"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`)},
	"report-empty":    {change: body(ofReport, noRows)},
	"pages-unordered": {change: shuffled},
	"me-bare-id":      {change: edit(ofMe, func(e *node) { *e = *with("id", e.Get("advertiser_id")) })},
	"envelope-hal": {change: wrapped(func(x *exchange, inner, around *node) *node {
		return with("_embedded", with(x.plural(), inner), "page", with("totalElements", totalIn(around)))
	}, bare)},
	"envelope-spring": {change: wrapped(func(x *exchange, inner, around *node) *node {
		last := x.offset()+len(inner.Values) >= totalIn(around).Number()
		return with("content", inner, "totalElements", totalIn(around), "number", num(x.offset()/x.number("limit", 25)),
			"last", leaf(map[bool]string{false: "false", true: "true"}[last]))
	}, bare)},
	"envelope-payload": {change: wrapped(func(_ *exchange, inner, around *node) *node {
		return with("payload", with("rows", inner, "count", totalIn(around)))
	}, under("payload"))},
}

// totalIn is the total beside a list, 0 if there is none.
func totalIn(around *node) *node {
	if v := around.Get("total"); v != nil {
		return v
	}
	return num(0)
}

// limited refuses one request in five.
func limited(status int, body string) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		return wire.JSONReply(status, []byte(body)), x.times("limit")%5 == 0
	}
}

// shuffled gives a page of the rows of a day in an order of its own. The service is asked for the whole day.
func shuffled(x *exchange, body *node) *node {
	if x.place != atDays || x.whole == nil {
		return body
	}
	size, page := x.number("page_size", report.DefaultPageSize), x.number("page", 1)
	rows := x.whole(url.Values{"page": {"1"}, "page_size": {"10000"}}).Get("data").Elements()
	times := x.times("shuffle")
	rand.New(rand.NewPCG(1, uint64(times))).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	from := min((page-1)*size, len(rows))
	body.Set("data", list(rows[from:min(from+size, len(rows))]...))
	return body
}
