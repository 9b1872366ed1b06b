package variations

import (
	"encoding/json"
	"net/http"
	"time"

	"spendsync/extract/adsim/wire"
)

// wireQuirks change all bodies alike, or how a reply is sent.
var wireQuirks = []Quirk{
	{Name: "keys-new", Doc: "replies and what is in them have keys that the description does not name",
		change: func(x *exchange, body *node) *node {
			for _, of := range append(x.place.objects(body), body, body.Get("pagination")) {
				if of != nil && of.Kind == '{' {
					of.Set("brand_new", with("since", text("2026-11-01"), "list", list(leaf("1"), leaf("null"))))
				}
			}
			return body
		}},
	{Name: "clock-day-ahead", Doc: "the Date header is two days ahead",
		wire: func(x *exchange, rep *wire.Reply) {
			rep.Header.Set("Date", x.now.Add(48*time.Hour).UTC().Format(http.TimeFormat))
		}},
	{Name: "clock-none", Doc: "replies have no Date header",
		wire: func(_ *exchange, rep *wire.Reply) { rep.Header["Date"] = nil }},
	{Name: "bom", Doc: "bodies begin with a byte order mark",
		wire: func(_ *exchange, rep *wire.Reply) {
			if json.Valid(rep.Body) {
				rep.Body = append([]byte("\xef\xbb\xbf"), rep.Body...)
			}
		}},
}
