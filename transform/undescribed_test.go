package transform

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
)

func TestUndescribedIn_NamesTheValuesThatNoColumnShows(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"none":              {`{"name":"x"}`, ""},
		"not-an-object":     {`["name"]`, ""},
		"identity":          {`{"id":1,"campaign_id":"C1","creative_id":2,"type":"t","node":{"x":1}}`, ""},
		"one":               {`{"name":"x","color":"red"}`, "color string"},
		"object":            {`{"name":"x","geo":{"lat":1}}`, "geo object"},
		"object/holds-read": {`{"geo":{"lat":1,"country":"US"}}`, "geo.lat number"},
		"object/wraps": {`{"audience":{"interests":[1]},"attributes":{"tone":true}}`,
			"attributes.tone boolean, audience.interests array"},
		"object/none-within": {`{"audience":{}}`, ""},
		"list":               {`{"name":"x","tags":[{"name":"y"}]}`, "tags array"},
		"deepest": {`{"audience":{"audience":{"audience":{"audience":{"x":1}}}}}`,
			"audience.audience.audience.audience.x number"},
		"too-deep": {`{"audience":{"audience":{"audience":{"audience":{"audience":{"x":1}}}}}}`,
			"audience.audience.audience.audience.audience object"},
	} {
		t.Run(name, func(t *testing.T) {
			found := ExtraKeysIn(tc.raw, map[string]bool{"name": true, "country": true, "state": true})
			var got []string
			for _, path := range slices.Sorted(maps.Keys(found)) {
				got = append(got, path+" "+found[path].Type)
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("%s, want %s", s, tc.want)
			}
		})
	}
}

// Values that mean the same JSON are no change of it.
func TestUndescribedIn_HashesTheMeaning(t *testing.T) {
	hash := func(v string) string { return ExtraKeysIn(`{"x":`+v+`}`, nil)["x"].Hash }
	for name, tc := range map[string]struct {
		a, b string
		same bool
	}{
		"order":  {`{"a":1,"b":2}`, `{ "b": 2, "a": 1 }`, true},
		"number": {`1e2`, `100`, true},
		"escape": {`"\u0041"`, `"A"`, true},
		"value":  {`1`, `2`, false},
		"type":   {`1`, `"1"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hash(tc.a) == hash(tc.b); got != tc.same {
				t.Errorf("%s and %s: equal %t", tc.a, tc.b, got)
			}
		})
	}
	raw := `{"x":{"b":1,"a":2}}`
	if ExtraKeysIn(raw, nil); raw != `{"x":{"b":1,"a":2}}` {
		t.Errorf("raw is now %s", raw)
	}
}

// All keys of a described entity are read; one that the description lacks is found.
func TestUndescribedIn_FindsTheKeysThatNothingRead(t *testing.T) {
	creative := func(body string) Decoded {
		_, r, _ := Creative(entity(t, "C1000001-001", body), "C1000001", settings)
		return r
	}
	campaign := func(body string) Decoded {
		_, r, _ := Campaign(extract.Entity{}, entity(t, "C1000001", body), settings)
		return r
	}
	key := func(body string) Decoded {
		return Account(entity(t, "", body), extract.Entity{}, extract.Entity{}, seenAt, settings).Key
	}
	for name, tc := range map[string]struct {
		body string
		read func(string) Decoded
		want string
	}{
		"campaign":      {with(t, sampleCampaign, "color", `"red"`), campaign, "color delivery_status"},
		"creative":      {with(t, sampleCreative, "color", `"red"`), creative, "color"},
		"key":           {`{"advertiser_id":"A17","can_write":true,"scopes":["read"],"plan":"x"}`, key, "plan"},
		"key/of-object": {`{"advertiser":"A17","scope":"write","read_only":false,"plan":"x"}`, key, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			read := map[string]bool{}
			for _, key := range tc.read(tc.body).Read {
				read[key] = true
			}
			found := slices.Sorted(maps.Keys(ExtraKeysIn(tc.body, read)))
			if got := strings.Join(found, " "); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
