package adsim

import (
	"encoding/json"
	"slices"
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

// idsOn lists the IDs on a page of a list, and what it says how many there are.
func idsOn(t testing.TB, s *Service, path string) (ids []string, total float64) {
	t.Helper()
	v := fetchJSON(t, s, path)
	for _, e := range objects(unwrap(v, "campaigns", "creatives")) {
		ids = append(ids, str(e["id"]))
	}
	total, _ = asMap(v)["total"].(float64)
	return ids, total
}

func TestFault_ListsThatLie(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	all, _ := idsOn(t, s, "/v1/campaigns"+everyStatus)
	page := func(f wire.Fault) ([]string, float64) {
		f.Path = "/v1/campaigns"
		s.Fail(f)
		defer s.ClearFaults()
		return idsOn(t, s, "/v1/campaigns?status=active,paused,archived,rejected&limit=10&offset=10")
	}
	for _, c := range []struct {
		name  string
		fault wire.Fault
		ids   []string
		total float64
	}{
		{"total", wire.Fault{Kind: wire.Total, Delta: 7}, all[10:20], 43},
		{"shift", wire.Fault{Kind: wire.Shift, Rows: 2, Delta: 2}, all[8:18], 38},
		{"shift/skip", wire.Fault{Kind: wire.Shift, Rows: -1}, all[11:21], 36},
		{"truncate", wire.Fault{Kind: wire.Truncate, Rows: 13}, all[10:13], 13},
		{"truncate/empty", wire.Fault{Kind: wire.Truncate}, nil, 0},
		{"drop", wire.Fault{Kind: wire.Drop, Row: 1, Rows: 2}, append(all[10:11:11], all[13:20]...), 36},
		{"duplicate", wire.Fault{Kind: wire.Duplicate, Row: 3}, slices.Insert(slices.Clone(all[10:20]), 4, all[13]),
			36},
		{"endless", wire.Fault{Kind: wire.Endless}, all[:10], 30},
		{"another page", wire.Fault{Kind: wire.Truncate, Page: 1}, all[10:20], 36},
		{"this page", wire.Fault{Kind: wire.Truncate, Page: 2, Rows: 12}, all[10:12], 12},
	} {
		ids, total := page(c.fault)
		if !slices.Equal(ids, c.ids) || total != c.total {
			t.Errorf("%s: got %v of %v, want %v of %v", c.name, ids, total, c.ids, c.total)
		}
	}
	s.Fail(wire.Fault{Kind: wire.Top, Column: "total", Value: `"many"`, Path: "/v1/campaigns"})
	if got := bodyOf(t, s, "/v1/campaigns?limit=1"); !strings.Contains(got, `"total":"many","limit":1`) {
		t.Errorf("got %s", got)
	}
	s.ClearFaults()
	s.Fail(wire.Fault{Kind: wire.Top, Column: "warnings", Value: `[]`, Path: "/v1/campaigns"})
	if got := bodyOf(t, s, "/v1/campaigns?limit=1"); !strings.HasSuffix(got, `,"offset":0,"warnings":[]}`) {
		t.Errorf("got %s", got)
	}
	s.ClearFaults()
	s.Fail(wire.Fault{Kind: wire.MissingKey, Column: "status", Row: 1})
	for i, c := range campaignsOf(t, s, "?limit=3") {
		if _, has := c["status"]; has == (i == 1) {
			t.Errorf("entry %d: %v", i, c)
		}
	}
	s.ClearFaults()
	s.Fail(wire.Fault{Kind: wire.NoPagination})
	if got := bodyOf(t, s, "/v1/campaigns?limit=1"); strings.Contains(got, `"total"`) ||
		!strings.Contains(got, `"campaigns":[{`) {
		t.Errorf("got %s", got)
	}
}
