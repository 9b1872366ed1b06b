package extract

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// saying is a service with one answer.
func saying(body string) roundTrip {
	return func(*http.Request) (*http.Response, error) { return answerWith(200, body) }
}

func TestResource_FindsTheListInItsEnvelope(t *testing.T) {
	two := `[{"id":"C1000002"},{"id":"C1000001"}]`
	for name, tc := range map[string]struct {
		body  string
		total int64
	}{
		"bare":          {two, -1},
		"bare/blanks":   {" [ {\"id\" : \"C1000002\"} ,\n{\"campaign_id\":\"C1000001\"}]\n", -1},
		"name":          {`{"campaigns":` + two + `}`, -1},
		"data":          {`{"data":` + two + `,"next":null}`, -1},
		"items":         {`{"items":` + two + `,"links":[1,2]}`, -1},
		"data/name":     {`{"data":{"campaigns":` + two + `}}`, -1},
		"data/items":    {`{"data":{"items":` + two + `,"total":2},"total":9}`, 2},
		"name/data":     {`{"campaigns":{"data":` + two + `}}`, -1},
		"name/long-ids": {`{"campaigns":[{"campaign_id":"C1000002"},{"campaign_id":"C1000001"}]}`, -1},
		"name/wrapped-entries": {`{"campaigns":[{"campaign":{"id":"C1000002"}},` +
			`{"data":{"campaign":{"id":"C1000001"}}}]}`, -1},
		"name/other-lists":  {`{"campaigns":` + two + `,"warnings":[],"errors":[{}]}`, -1},
		"name/escaped-key":  {`{"campaign\u0073":` + two + `}`, -1},
		"ids/number-beside": {`[{"id":17,"campaign_id":"C1000002"},{"id":18,"campaign_id":"C1000001"}]`, -1},
		"ids/both":          {`[{"id":"C1000002","campaign_id":"C1000002"},{"id":"C1000001"}]`, -1},
		"ids/escaped":       {`[{"id":"\u00431000002"},{"id":"C1000001"}]`, -1},
		"hal": {`{"_embedded":{"campaigns":` + two + `},"_links":{"self":{"href":"/"}},"page":{"size":2,` +
			`"totalElements":7,"totalPages":4}}`, 7},
		"hal/other name": {`{"_embedded":{"campaignResourceList":` + two + `}}`, -1},
		"spring": {`{"content":` + two + `,"pageable":{"sort":{"orders":[]}},"sort":[],"totalElements":7,` +
			`"totalPages":4}`, 7},
		"any name":               {`{"ok":true,"campaignList":` + two + `,"tags":["x"],"totalHits":7}`, 7},
		"any name/deeper":        {`{"response":{"hits":` + two + `,"found":2}}`, -1},
		"any name/totals":        {`{"hits":` + two + `,"total_a":1,"total_b":2}`, -1},
		"total/beside":           {`{"campaigns":` + two + `,"total":7}`, 7},
		"total/count":            {`{"data":` + two + `,"total_count":7.0}`, 7},
		"total/pagination":       {`{"data":` + two + `,"pagination":{"total_rows":7}}`, 7},
		"total/meta":             {`{"data":` + two + `,"meta":{"page":1,"total":7}}`, 7},
		"total/outside":          {`{"data":{"campaigns":` + two + `},"meta":{"total_items":7}}`, 7},
		"total/text":             {`{"data":` + two + `,"total":"7"}`, 7},
		"total/words":            {`{"data":` + two + `,"total":"many"}`, -1},
		"total/negative":         {`{"data":` + two + `,"total":-1}`, -1},
		"total/fraction":         {`{"data":` + two + `,"total":2.5}`, -1},
		"total/null":             {`{"data":` + two + `,"total":null,"meta":null}`, -1},
		"total/meta-is-no-place": {`{"data":` + two + `,"meta":[1]}`, -1},
	} {
		t.Run(name, func(t *testing.T) {
			part, err := campaignResource(nil).list([]byte(tc.body))
			entries, total := part.entries, part.total
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			check(t, "ids", strings.Join(ids, " "), "C1000002 C1000001")
			check(t, "total", total, tc.total)
		})
	}
}

func TestResource_RefusesAListThatItCannotRecognise(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"other-key": {`{"hits":[],"b\n":1}`, `no list of campaigns: looked for an array under campaigns, data, ` +
			`items, results, content, _embedded; the keys are "b\n", "hits"; name the right one in the line lists of ` +
			`SPENDSYNC_SERVICE_FILE`},
		"no-keys":         {`{}`, "the keys are none"},
		"null":            {`{"campaigns":null}`, `the keys are "campaigns"`},
		"too-deep":        {`{"data":{"data":{"items":[{"id":"C1000001"}]}}}`, `the keys are "data", "data.data"`},
		"error":           {`{"code":7,"message":"no"}`, "the reply is an error"},
		"two of objects":  {`{"hits":[{"a":1}],"more":{"hits":[{"a":2}]}}`, "there are hits, more.hits"},
		"number":          {`7`, "no list of campaigns: a value of type number"},
		"text":            {`"campaigns"`, "a value of type string"},
		"two-lists":       {`{"data":[],"items":[]}`, "which list is that of campaigns: there are data, items"},
		"two-lists/inner": {`{"data":{"campaigns":[],"items":[]}}`, "there are data.campaigns, data.items"},
		"entry/text":      {`["Spring"]`, "entry 1: no campaign: a value of type string, not an object"},
		"entry/null":      {`[null]`, "entry 1: no campaign: a value of type null"},
		"entry/no-id": {`[{"name":"x","cid":"C1000001"}]`, `entry 1: no campaign: looked for it bare and under ` +
			`campaign, data, result; the keys are "cid", "name"`},
		"entry/fraction": {`[{"id":1000001.5}]`, "entry 1: id 1000001.5 is no campaign ID"},
		"entry/blank":    {`[{"id":" "}]`, `id " " is no campaign ID`},
		"entry/slash":    {`[{"id":"../me"}]`, `id "../me" is no campaign ID`},
		"entry/null-id":  {`[{"id":null}]`, "id null is no campaign ID"},
		"entry/both-odd": {`[{"id":"","campaign_id":7.5}]`, `campaign_id 7.5 or id "" is no campaign ID`},
		"entry/two-ids": {`[{"id":"C1000001","campaign_id":"C1000002"}]`, "campaign_id C1000002 and id C1000001 " +
			"are both IDs of a campaign"},
		"entry/creative": {`[{"id":"C1000001-001"}]`, `id "C1000001-001" is no campaign ID`},
		"twice":          {`{"campaigns":[],"campaigns":[]}`, `the key at "/campaigns" is there twice`},
		"entry/twice":    {`[{"id":"C1000001","name":1,"name":2}]`, "is there twice"},
		"behind":         {`[]]`, "1 byte after the end of the reply"},
		"id-not-utf-8":   {"[{\"id\":\"C1000001\xff\"}]", "is no campaign ID"},
		"id-half":        {`[{"id":"C1000001\ud83d"}]`, "is no campaign ID"},
	} {
		t.Run(name, func(t *testing.T) {
			part, err := campaignResource(nil).list([]byte(tc.body))
			entries := part.entries
			wantError(t, err, ErrContract, tc.want)
			check(t, "entries", len(entries), 0)
			if e, ok := errors.AsType[*replyError](err); !ok || e.notJSON {
				t.Errorf("error %v counts as one that may pass", err)
			}
		})
	}
}

func TestCampaign_IsTakenOutOfItsEnvelope(t *testing.T) {
	for name, tc := range map[string]struct{ body, raw, want string }{
		"bare":           {`{"id":"C1000001","name":"x"}`, "", ""},
		"name":           {`{"campaign":{"id":"C1000001","name":"x"}}`, "", ""},
		"data":           {`{"data":{"id":"C1000001","name":"x"},"request_id":"r"}`, "", ""},
		"data/name":      {`{"data":{"campaign":{"id":"C1000001","name":"x"}}}`, "", ""},
		"data/id-beside": {`{"id":"req_17","data":{"id":"C1000001","name":"x"}}`, "", ""},
		"blanks":         {" { \"id\" : \"C1000001\",\n\t\"name\":\"x\" } ", "", ""},
		"numbers-as-sent": {`{"id":"C1000001","bid":1.50e0,"e":"\u00e9 "}`, `{"id":"C1000001","bid":1.50e0,` +
			`"e":"\u00e9 "}`, ""},
		"bare/data-inside": {`{"id":"C1000001","data":{"id":"C1000002"}}`,
			`{"id":"C1000001","data":{"id":"C1000002"}}`, ""},
		"other-campaign":    {`{"id":"C1000002"}`, "", "the reply is about campaign C1000002"},
		"array":             {`[{"id":"C1000001"}]`, "", "no campaign: a value of type array, not an object"},
		"unknown":           {`{"answer":{"id":"C1000001"}}`, "", `the keys are "answer"`},
		"wrapped-too-often": {`{"data":{"result":{"campaign":{"id":"C1000001"}}}}`, "", `the keys are "campaign"`},
		"no-id-inside":      {`{"data":{"name":"x"}}`, "", `the keys are "name"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, saying(tc.body))
			e, err := c.Campaign(t.Context(), "C1000001")
			if tc.want != "" {
				wantError(t, err, ErrContract, "campaign C1000001: ", tc.want)
				check(t, "raw", string(e.Raw), "")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.raw == "" {
				tc.raw = `{"id":"C1000001","name":"x"}`
				check(t, "name", string(e.Fields["name"]), `"x"`)
			}
			check(t, "raw", string(e.Raw), tc.raw)
			check(t, "id", e.ID, "C1000001")
		})
	}
}

func TestSources_AreToldByTheirKeys(t *testing.T) {
	const id = "C1000001"
	for name, tc := range map[string]struct{ body, want string }{
		"bare":           {`{"mode":"block_list","blocked":[]}`, ""},
		"bare/one-list":  {`{"sources":["S1"],"kind":"x"}`, ""},
		"bids-alone":     {`{"bid_overrides":null}`, ""},
		"name":           {`{"source_settings":{"campaign_id":"C1000001","mode":"x"}}`, ""},
		"sources":        {`{"sources":{"blocked":[],"bid_overrides":[]},"campaign_id":"C1000001"}`, ""},
		"other-campaign": {`{"campaign_id":"C1000002","mode":"x"}`, `the reply is about campaign C1000002`},
		"nothing":        {`{"campaign_id":"C1000001","websites":[]}`, `the keys are "campaign_id", "websites"`},
		"empty": {`{}`, "no source settings: looked for it bare and under source_settings, sources, " +
			"data, result; the keys are none"},
		"array":           {`[]`, "a value of type array, not an object"},
		"sources/nothing": {`{"sources":{"x":1}}`, `the keys are "x"`},
		"an ID alone":     {`"C1000001"`, "not an object"}, // only a list may have IDs alone
		"another name":    {`{"my_blocked_list":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := newTestClient(t, saying(tc.body)).Sources(t.Context(), id)
			if tc.want != "" {
				wantError(t, err, ErrContract, "source settings of C1000001: ", tc.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, "id", e.ID, id)
		})
	}
}

// FuzzList: a reply gives entries that are whole JSON with an ID each, or an error.
func FuzzList(f *testing.F) {
	for _, body := range []string{
		`{"campaigns":[{"id":"C1000001","x":[1,{}]}],"total":1}`, ` [ {"campaign_id":"C1000001"} ] `,
		`{"data":{"items":[{"campaign":{"id":"C1000001"}}]}}`,
		`{"items":[],"meta":{"total":0}}`, `[{"id":1}]`, `{"data":[],"items":[]}`, `[`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		part, err := campaignResource(nil).list(body)
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

// TestResource_TakesIDsOfOtherForms: the known form tells an entity from its envelope and vetoes nothing.
func TestResource_TakesIDsOfOtherForms(t *testing.T) {
	for body, want := range map[string]string{
		`[{"id":"c1000001"},{"id":"C100000"}]`:                           "c1000001 C100000",
		`[{"id":1000001},{"id":1000002}]`:                                "1000001 1000002",
		`[{"_id":"65f1a2b3c4d5e6f7a8b9c0d1"}]`:                           "65f1a2b3c4d5e6f7a8b9c0d1",
		`[{"_id":"65f1a2b3c4d5e6f7a8b9c0d1","campaign_id":"C1000001"}]`:  "C1000001",
		`[{"_id":"65f1a2b3c4d5e6f7a8b9c0d1","campaign_id":"x7"}]`:        "x7",
		`{"docs":[{"id":"C1000001 "}],"totalDocs":1}`:                    "C1000001",
		`{"id":"req-1","rows":[{"id":"req-2","campaign":{"id":"a-1"}}]}`: "a-1",
		`[{"campaign_id":"a-1","data":{"id":"n"}}]`:                      "a-1",
		`["65f1a2b3c4d5e6f7a8b9c0d1"]`:                                   "65f1a2b3c4d5e6f7a8b9c0d1",
	} {
		part, err := campaignResource(nil).list([]byte(body))
		var ids []string
		for _, e := range part.entries {
			ids = append(ids, e.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want || part.refused != "" {
			t.Errorf("%s: %s, refused %q, error %v; want %s", body, got, part.refused, err, want)
		}
	}
}

// TestResource_TakesEntriesUnderTheirIDs: an object is a list if it has each entry under its own ID, and nothing else.
func TestResource_TakesEntriesUnderTheirIDs(t *testing.T) {
	for body, want := range map[string]string{
		`{"campaigns":{"C1000001":{"id":"C1000001"},"C1000002":{"id":"C1000002"}}}`: "C1000001 C1000002",
		`{"data":{"campaigns":{"C1000002":{"id":"C1000002"}}},"total":1}`:           "C1000002",
		`{"campaigns":{"C1000001":{"id":"C1000001"},"C1000002":{"id":"C1000003"}}}`: "",
		`{"campaigns":{"C1000001":{"id":"C1000002"},"C1000002":{"id":"C1000002"}}}`: "",
		`{"campaigns":{"C1000001":{"id":"C1000001"},"count":1}}`:                    "",
		`{"campaigns":{"C1000001":{"name":"x"}}}`:                                   "",
		`{"campaigns":{}}`:    "",
		`{"campaigns":null}`:  "",
		`{"campaigns":"C1"}`:  "",
		`{"campaigns":false}`: "",
	} {
		part, err := campaignResource(nil).list([]byte(body))
		var ids []string
		for _, e := range part.entries {
			ids = append(ids, e.ID)
		}
		if got := strings.Join(ids, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, error %v; want %s", body, got, err, want)
		}
	}
	// The source settings of a campaign have no lists.
	if values, ok := sourcesResource(nil, "C1000001").entries(Value(`{"C1000001":{"mode":"x"}}`)); ok {
		t.Errorf("a list of source settings: %s", values)
	}
}

// TestIDOf_WithinObjects: an entity in the place of its ID has it one or two objects deeper.
func TestIDOf_WithinObjects(t *testing.T) {
	for value, want := range map[string]string{
		`"x1"`: "x1", `7`: "7", `{"id":"x1"}`: "x1", `{"_id":{"oid":"x1"}}`: "",
		`{"name":"x1"}`: "", `null`: "", `true`: "", `" x1 "`: "x1", `"x/1"`: "",
	} {
		if id, ok := IDOf(nil, Value(value)); ok != (want != "") || ok && id != want {
			t.Errorf("%s: %q, %v; want %q", value, id, ok, want)
		}
	}
}
