package adsim

import (
	"encoding/json"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
)

// bodyOf is the body of a read that succeeds.
func bodyOf(t testing.TB, s *Service, path string) string {
	t.Helper()
	status, _, body := callAPI(t, s, path)
	if status != 200 || !json.Valid(body) {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return string(body)
}

func TestFault_ChangesOneKeyOfAnObject(t *testing.T) {
	for _, quirks := range [][]string{nil, {"envelope-bare"}} {
		s := sim(config.Config{RateLimit: -1, Quirks: quirks})
		id := create(t, s, Change{Set: map[string]any{"name": `"},{`, "audience": map[string]any{"country": "US",
			"gender": "M"}},
			Sources: &SourceChange{Bids: map[string]any{s.GoodSources()[0]: 1}}})
		path := "/v1/campaigns/" + id
		for _, c := range []struct {
			path      string
			fault     wire.Fault
			old, want string
		}{
			{path, wire.Fault{Kind: wire.MissingKey, Column: "default_bid"}, `"default_bid":0.5,`, ``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "id"}, `"id":"` + id + `",`, ``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "name"}, `"name":"\"},{",`, ``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "audience"}, `,"audience":{"country":"US","gender":"M"}`,
				``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "audience.country"}, `"country":"US",`, ``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "name.first"}, ``, ``},
			{path, wire.Fault{Kind: wire.MissingKey, Column: "nothing"}, ``, ``},
			{path, wire.Fault{Kind: wire.WrongType, Column: "default_bid"}, `"default_bid":0.5`,
				`"default_bid":"12.50"`},
			{path, wire.Fault{Kind: wire.WrongType, Column: "audience", Value: "null"},
				`{"country":"US","gender":"M"}`, `null`},
			{path, wire.Fault{Kind: wire.WrongType, Column: "audience.gender", Value: "7"}, `"gender":"M"`,
				`"gender":7`},
			{path, wire.Fault{Kind: wire.RepeatKey, Column: "status", Value: `"paused"`}, `"status":"active",`,
				`"status":"active","status":"paused",`},
			{path, wire.Fault{Kind: wire.ExtraKey, Column: "day_parting", Value: "{}"}, `"audience":{"country":"US",` +
				`"gender":"M"}`, `"audience":{"country":"US","gender":"M"},"day_parting":{}`},
			{path + "/sources", wire.Fault{Kind: wire.MissingKey, Column: "bid_overrides"},
				`,"bid_overrides":[{"source_id":"` +
					s.GoodSources()[0] + `","bid":1}]`, ``},
			{"/v1/me", wire.Fault{Kind: wire.MissingKey, Column: "advertiser_id"}, `"advertiser_id":"` +
				s.Cfg.AdvertiserID +
				`",`, ``},
			{"/v1/balance", wire.Fault{Kind: wire.WrongType, Column: "auto_funding.enabled", Value: "null"},
				`"enabled":true`,
				`"enabled":null`},
		} {
			was := bodyOf(t, s, c.path)
			c.fault.Path, c.fault.Times = c.path, 1
			s.Fail(c.fault)
			got := bodyOf(t, s, c.path)
			if want := strings.Replace(was, c.old, c.want, 1); got != want || c.old != "" && got == was {
				t.Errorf("%s %+v:\ngot  %s\nwant %s", quirks, c.fault, got, want)
			}
			s.ClearFaults()
		}
	}
}
