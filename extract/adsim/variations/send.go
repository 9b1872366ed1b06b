package variations

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// bothQuirks are about unknown keys, and secrets that the service repeats.
var bothQuirks = behaviors{
	"keys-new": {change: newKeys},
	"secret-in-error": {override: func(x *exchange) (wire.Reply, bool) {
		text := "Refused: " + x.request.Header.Get("Authorization")
		switch x.place {
		case atTotals:
			return report.Error(http.StatusBadRequest, text), true
		case atLimits:
			return x.accounts[0].APIError(http.StatusNotFound, "not_found", text, nil), true
		}
		return wire.Reply{}, false
	}},
	"secret-in-key": {change: func(x *exchange, body *node) *node {
		if body.Kind == '{' {
			sent := x.request.Header.Get("Authorization")
			body.Set(strings.Trim(text(sent).Raw, `"`), leaf("true"))
			body.Set("debug", object().With("authorization", text(sent)))
		}
		return body
	}},
	"secret-in-entity": {change: func(x *exchange, body *node) *node {
		debug := text(x.secret())
		x.debug(body, debug)
		return body
	}},
	"secret-coded": {change: func(x *exchange, body *node) *node {
		secret := x.secret()
		x.debug(body, text(strings.Join([]string{
			"sent " + base64.StdEncoding.EncodeToString([]byte("user: "+secret)),
			base64.RawURLEncoding.EncodeToString([]byte(x.request.Header.Get("Authorization"))),
			"?credentials=" + url.QueryEscape(secret), text(`{"password":` + text(secret).Raw + `}`).Raw,
		}, " ")))
		return body
	}},
}

// debug adds a key debug to the rows of a body, and to the entities of the advertiser API's.
func (x *exchange) debug(body, value *node) {
	for _, row := range rowsOf(body) {
		row.Set("debug", value)
	}
	if x.place.onAPI() {
		for _, e := range entities(body) {
			e.Set("debug", value)
		}
	}
}

// newKeys adds a key to a reply, to its rows or entities, and to the pagination.
func newKeys(x *exchange, body *node) *node {
	more := func(n *node) {
		if n.Kind == '{' {
			n.Set("brand_new", object().With("since", text("2026-11-01")).With("list",
				list(leaf("1"), leaf("null"))))
		}
	}
	if x.place.onReport() {
		for _, row := range rowsOf(body) {
			more(row)
		}
		if g := body.Get("pagination"); g != nil {
			more(g)
		}
	} else {
		for _, e := range entities(body) {
			more(e)
		}
	}
	more(body)
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

// contentType sets the Content-Type; "" takes it away.
func contentType(v string) func(x *exchange, rep *wire.Reply) {
	return func(_ *exchange, rep *wire.Reply) {
		if v == "" {
			rep.Header["Content-Type"] = nil // the server guesses otherwise
			return
		}
		rep.Header.Set("Content-Type", v)
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

// wireQuirks are about how a reply is sent.
var wireQuirks = behaviors{
	"clock-ahead":      {wire: clockOff(50 * time.Minute)},
	"clock-behind":     {wire: clockOff(-50 * time.Minute)},
	"clock-day-ahead":  {wire: clockOff(48 * time.Hour)},
	"clock-day-behind": {wire: clockOff(-48 * time.Hour)},
	"clock-none":       {wire: func(_ *exchange, rep *wire.Reply) { rep.Header["Date"] = nil }},
	"clock-words":      {wire: func(_ *exchange, rep *wire.Reply) { rep.Header.Set("Date", "just now") }},
	"ascii":            {wire: onBody(escapeUnicode)},
	"slashes-escaped": {
		wire: onBody(func(body []byte) []byte { return bytes.ReplaceAll(body, []byte("/"), []byte(`\/`)) })},
	"keys-escaped": {wire: func(x *exchange, rep *wire.Reply) {
		if x.place.onReport() {
			onBody(func(body []byte) []byte {
				return bytes.ReplaceAll(body, []byte(`"date":`), []byte(`"\u0064ate":`))
			})(x, rep)
		}
	}},
	"pretty": {wire: onBody(func(body []byte) []byte {
		var out bytes.Buffer
		if json.Indent(&out, body, "", "  ") != nil {
			return body
		}
		return append(out.Bytes(), '\r', '\n')
	})},
	"bom":        {wire: onBody(func(body []byte) []byte { return append([]byte("\xef\xbb\xbf"), body...) })},
	"type-plain": {wire: contentType("text/plain")},
	"type-html":  {wire: contentType("text/html; charset=utf-8")},
	"type-none":  {wire: contentType("")},
	"gzip":       {wire: compress},
	"chunked":    {wire: func(_ *exchange, rep *wire.Reply) { rep.Chunked = true }},
	"status-201": {wire: func(_ *exchange, rep *wire.Reply) {
		if rep.Status == http.StatusOK {
			rep.Status = http.StatusCreated
		}
	}},
	"etag": {wire: func(_ *exchange, rep *wire.Reply) {
		rep.Header.Set("Etag", fmt.Sprintf(`"%016x"`, chance.Mix(uint64(len(rep.Body)))))
		rep.Header.Set("Cache-Control", "private, max-age=600")
	}},
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
