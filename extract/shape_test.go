package extract

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"spendsync/extract/service"
)

// saying returns a service that always answers with the same body.
func saying(body string) roundTrip {
	return func(*http.Request) (*http.Response, error) { return answerWith(200, body) }
}

// TestResource_FindsTheList: the list is the reply itself, the only array of objects in an object, or the array that a
// line names.
func TestResource_FindsTheList(t *testing.T) {
	const two = `[{"id":"C1000002"},{"campaign_id":1000001,"id":"x"}]`
	for name, tc := range map[string]struct{ line, body, ids, refused string }{
		"array":          {"", two, "C1000002 1000001", ""},
		"campaigns":      {"", `{"campaigns":` + two + `,"links":[{"x":1}]}`, "C1000002 1000001", ""},
		"one array":      {"", `{"rows":` + two + `,"notes":["a"],"total":2}`, "C1000002 1000001", ""},
		"one with rows":  {"", `{"rows":` + two + `,"notes":[]}`, "C1000002 1000001", ""},
		"empty":          {"", `{"rows":[]}`, "", ""},
		"wrapped":        {"", `[{"campaign":{"id":"C1000001"}}]`, "C1000001", ""},
		"two arrays":     {"", `{"a":` + two + `,"b":` + two + `}`, "", "names the array is lists.campaigns: a, or b"},
		"two, one named": {"lists.campaigns: b", `{"a":[{"id":"C7"}],"b":` + two + `}`, "C1000002 1000001", ""},
		"deeper":         {"", `{"payload":{"rows":` + two + `}}`, "", "lists.campaigns: payload.rows"},
		"deeper, named":  {"lists.campaigns: payload.rows", `{"payload":{"rows":` + two + `}}`, "C1000002 1000001", ""},
		"by ID":          {"", `{"campaigns":{"C1000001":{"id":"C1000001"}}}`, "", `its keys are "campaigns"`},
		"none":           {"", `{"total":0}`, "", "lists.campaigns: KEY"},
		"text":           {"", `"x"`, "", "a value of type string"},
		"twice":          {"", `{"campaigns":[],"campaigns":[]}`, "", "is there twice"},
		"behind":         {"", `[]]`, "", "1 byte after the end of the reply"},
		"IDs alone":      {"", `["C1000001"]`, "", "entry 1: no campaign: a value of type string"},
		"another ID":     {"", `[{"cid":"C1"}]`, "", `line ids.campaign (campaign_id, id, _id); the keys are "cid"`},
		"that is named":  {"ids.campaign: cid", `[{"cid":"C1000001"}]`, "C1000001", ""},
		"no path":        {"", `[{"id":"../me"}]`, "", "entry 1: no campaign"},
		"a fraction":     {"", `[{"id":1000001.5}]`, "", "entry 1: no campaign"},
		"two in one":     {"", `[{"a":{"id":"C1"},"b":{"id":"C2"}}]`, "", "a and b have an ID of one"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := service.Default().With([]byte(tc.line))
			if err != nil {
				t.Fatal(err)
			}
			part, err := byID(s, KindCampaign, "").list([]byte(tc.body))
			if tc.refused != "" {
				wantError(t, err, ErrContract, tc.refused)
				return
			}
			check(t, "error", err, nil)
			check(t, "IDs", strings.Join(idsOf(Listing{Entities: part.entries}), " "), tc.ids)
		})
	}
}

// TestSources_AreToldByTheirKeys: source settings are recognized by the keys that the service file names.
func TestSources_AreToldByTheirKeys(t *testing.T) {
	for body, want := range map[string]bool{
		`{"mode":"block_list"}`: true, `{"source_settings":{"bid_overrides":null}}`: true, `{"blocked":[]}`: true,
		`{"sources":{"mode":"x"}}`: true, `{"sources":["S1"]}`: true, `{"blocked_places":[]}`: false,
		`{"id":"C1"}`: false, `[]`: false,
	} {
		c := newTestClient(t, saying(body))
		e, err := c.Sources(t.Context(), "C1000001")
		check(t, body+" is taken", err == nil, want)
		if want {
			check(t, "ID", e.ID, "C1000001")
		}
	}
}

// FuzzList: any reply leads to entries of valid JSON with an ID each, or to an error.
func FuzzList(f *testing.F) {
	for _, body := range []string{
		`{"campaigns":[{"id":"C1000001","x":[1,{}]}],"total":1}`, ` [ {"campaign_id":"C1000001"} ] `,
		`{"data":{"items":[{"campaign":{"id":"C1000001"}}]}}`,
		`{"items":[],"meta":{"total":0}}`, `[{"id":1}]`, `{"data":[],"items":[]}`, `[`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		part, err := byID(nil, KindCampaign, "").list(body)
		entries, total := part.entries, part.total
		if err != nil {
			if !errors.Is(err, ErrContract) || entries != nil {
				t.Errorf("%d entries, error %v", len(entries), err)
			}
			return
		}
		if total < -1 {
			t.Errorf("total %d", total)
		}
		for _, e := range entries {
			if !IsID(e.ID) || !json.Valid(e.Raw) {
				t.Errorf("entry %q: %s", e.ID, e.Raw)
			}
			for name, v := range e.Fields {
				if !json.Valid(v) {
					t.Errorf("%s of %s: %s", name, e.ID, v)
				}
			}
		}
	})
}
