package variations

import (
	"encoding/json"
	"net/http"
	"time"

	"spendsync/extract/adsim/wire"
)

// wireQuirks are variations of both interfaces.
var wireQuirks = []Quirk{
	{Name: "keys-new", Doc: "replies, their rows and their entities have a key that the description does not name",
		change: func(x *exchange, body *node) *node {
			for _, object := range append(x.endpoint.objects(body), body, body.Get("pagination")) {
				if object != nil && object.Kind == '{' {
					object.Set("brand_new", with("since", text("2026-11-01"), "list", list(leaf("1"), leaf("null"))))
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
