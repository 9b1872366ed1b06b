package variations

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// catalog lists all quirks, in the order in which they apply: values, then bodies, then the wire.
var catalog = sync.OnceValue(func() (list []Quirk) {
	for _, of := range []struct {
		report, api bool
		quirks      []Quirk
	}{{true, true, nameQuirks}, {true, false, reportQuirks}, {false, true, apiQuirks}, {true, true, wireQuirks}} {
		for _, q := range of.quirks {
			q.Report, q.API = of.report, of.api
			list = append(list, q)
		}
	}
	return list
})

// nameQuirks are texts only: a client must not refuse the numbers because of them.
var nameQuirks = []Quirk{
	{Name: "name-surrogate", Doc: "names of campaigns end in half an emoji, as JavaScript cuts them",
		change: all(in(ofDays, "campaign_name", tail(` \ud83d`)), in(ofCampaigns, "name", tail(` \ud83d`)))},
}

// wireQuirks change all bodies alike, or how a reply is sent.
var wireQuirks = []Quirk{
	// Unknown keys, and secrets that the service repeats.
	{Name: "keys-new", Doc: "replies and what is in them have keys that the description does not name",
		change: newKeys},
	{Name: "secret-in-error",
		Doc: "refusals, of the report's sums and the API's limits, repeat the Authorization header",
		override: func(x *exchange) (wire.Reply, bool) {
			text := "Refused: " + x.request.Header.Get("Authorization")
			switch x.place {
			case "totals":
				return report.Error(http.StatusBadRequest, text), true
			case "limits":
				return x.accounts[0].APIError(http.StatusNotFound, "not_found", text, nil), true
			}
			return wire.Reply{}, false
		}},
	{Name: "secret-in-key", Doc: "bodies have a key that is the Authorization header, and it under debug",
		change: func(x *exchange, body *node) *node {
			if body.Kind == '{' {
				sent := x.request.Header.Get("Authorization")
				body.Set(strings.Trim(text(sent).Raw, `"`), leaf("true"))
				body.Set("debug", with("authorization", text(sent)))
			}
			return body
		}},
	{Name: "secret-in-entity", Doc: "rows and entities have a key debug with the credentials as they were decoded",
		change: func(x *exchange, body *node) *node { return x.mark(body, "debug", text(x.secret())) }},
	{Name: "secret-coded", Doc: "rows and entities have a key debug with the credentials coded in four ways",
		change: func(x *exchange, body *node) *node {
			secret := x.secret()
			return x.mark(body, "debug", text(strings.Join([]string{
				"sent " + base64.StdEncoding.EncodeToString([]byte("user: "+secret)),
				base64.RawURLEncoding.EncodeToString([]byte(x.request.Header.Get("Authorization"))),
				"?credentials=" + url.QueryEscape(secret), text(`{"password":` + text(secret).Raw + `}`).Raw,
			}, " ")))
		}},

	// How a reply is sent.
	{Name: "clock-day-ahead", Doc: "the Date header is two days ahead",
		wire: clockOff(48 * time.Hour)},
	{Name: "clock-day-behind", Doc: "the Date header is two days behind",
		wire: clockOff(-48 * time.Hour)},
	{Name: "clock-none", Doc: "replies have no Date header",
		wire: func(_ *exchange, rep *wire.Reply) { rep.Header["Date"] = nil }},
	{Name: "ascii", Doc: `texts are written in ASCII, with \u escapes`,
		wire: onBody(escapeUnicode)},
	{Name: "keys-escaped", Doc: `keys of the report are written with escapes: "\u0064ate"`,
		wire: func(x *exchange, rep *wire.Reply) {
			if x.place.is(ofReport) {
				onBody(func(body []byte) []byte {
					return bytes.ReplaceAll(body, []byte(`"date":`), []byte(`"\u0064ate":`))
				})(x, rep)
			}
		}},
	{Name: "pretty", Doc: "bodies are indented",
		wire: onBody(func(body []byte) []byte {
			var out bytes.Buffer
			if json.Indent(&out, body, "", "  ") != nil {
				return body
			}
			return append(out.Bytes(), '\r', '\n')
		})},
	{Name: "bom", Doc: "bodies begin with a byte order mark",
		wire: onBody(func(body []byte) []byte { return append([]byte("\xef\xbb\xbf"), body...) })},
	{Name: "gzip", Doc: "bodies are compressed, whatever was asked for",
		wire: compress},

	// One request in five is refused, without a 429, and answered when it is asked again.
	{Name: "limit-200", Doc: `one request in five is refused with 200: {"code":40100,"message":"Too many requests"}`,
		override: limited(200, `{"code":40100,"message":"Too many requests"}`)},
	{Name: "limit-400", Doc: "one request in five is refused with 400: (#17) User request limit reached",
		override: limited(400,
			`{"error":{"message":"(#17) User request limit reached","type":"OAuthException","code":17}}`)},
	{Name: "limit-403", Doc: "one request in five is refused with 403: rateLimitExceeded",
		override: limited(403, `{"error":{"code":403,"message":"Rate Limit Exceeded",`+
			`"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`)},
}

// mark adds a key to the rows or entities of a body.
func (x *exchange) mark(body *node, key string, value *node) *node {
	for _, of := range x.place.objects(body) {
		if of.Kind == '{' {
			of.Set(key, value)
		}
	}
	return body
}

// newKeys adds a key to a reply, to its rows or entities, and to the pagination.
func newKeys(x *exchange, body *node) *node {
	const key = "brand_new"
	value := with("since", text("2026-11-01"), "list", list(leaf("1"), leaf("null")))
	if x.mark(body, key, value); body.Kind == '{' {
		body.Set(key, value)
	}
	if g := body.Get("pagination"); g != nil && g.Kind == '{' {
		g.Set(key, value)
	}
	return body
}

// secret is what the credentials of a request keep secret.
func (x *exchange) secret() string {
	if _, password, ok := x.request.BasicAuth(); ok {
		return password
	}
	_, key, _ := strings.Cut(x.request.Header.Get("Authorization"), " ")
	return key
}

// clockOff shifts the Date header by a duration.
func clockOff(by time.Duration) func(x *exchange, rep *wire.Reply) {
	return func(x *exchange, rep *wire.Reply) {
		rep.Header.Set("Date", x.now.Add(by).UTC().Format(http.TimeFormat))
	}
}

// onBody changes the bytes of a body that is JSON.
func onBody(change func(body []byte) []byte) func(x *exchange, rep *wire.Reply) {
	return func(_ *exchange, rep *wire.Reply) {
		if json.Valid(rep.Body) {
			rep.Body = change(rep.Body)
		}
	}
}

// escapeUnicode writes everything beyond ASCII with escapes.
func escapeUnicode(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for _, unit := range utf16.Encode([]rune(string(body))) {
		if unit < 0x80 {
			out = append(out, byte(unit))
		} else {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// compress sends a body with gzip.
func compress(_ *exchange, rep *wire.Reply) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(rep.Body); err != nil || w.Close() != nil {
		return // a buffer takes everything
	}
	rep.Body = out.Bytes()
	rep.Header.Set("Content-Encoding", "gzip")
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
	if x.place != "days" || x.whole == nil {
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
