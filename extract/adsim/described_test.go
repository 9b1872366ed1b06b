package adsim

import (
	"regexp"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
)

// row is one rule of the description, with a request that tests the rule and the expected reply. The field want is ""
// for a success; for an error it is the code, or the code and the field. In requests and bodies, $NAME stands for the
// ID of an entity of [cast].
type row struct {
	says, request, body string
	status              int
	want                string
}

// cast makes the entities that the rules need, and returns their IDs by name.
func cast(t *testing.T, s *Service) map[string]string {
	t.Helper()
	id := map[string]string{"FOREIGN": s.Account(1).CampaignIDs()[0]}
	for _, name := range []string{"CAMPAIGN", "ALLOWS", "ARCHIVED"} {
		id[name] = create(t, s, Change{Set: map[string]any{"name": name}})
	}
	for i, source := range s.GoodSources()[:3] {
		id["S"+itoa(i+1)] = source
	}
	change(t, s, Change{Campaign: id["ALLOWS"], Sources: &SourceChange{Mode: "allow_list", Allow: []string{id["S1"]}}})
	change(t, s, Change{Campaign: id["ARCHIVED"], Set: map[string]any{"status": "archived"}})
	id["REFUSED"] = create(t, s, Change{Do: Create, Campaign: id["CAMPAIGN"],
		Set: map[string]any{"status": "rejected"}})
	return id
}

var castName = regexp.MustCompile(`\$[A-Z][A-Z0-9]*`)

// hold sends each row's request with the read-write key, or with the read-only one after "READER:", and compares the
// reply.
func hold(t *testing.T, s *Service, id map[string]string, rows []row) {
	t.Helper()
	fill := func(text string) string {
		return castName.ReplaceAllStringFunc(text, func(name string) string { return id[name[1:]] })
	}
	for _, r := range rows {
		method, path, _ := strings.Cut(fill(r.request), " ")
		key := config.DefaultWriteKey
		if bare, asReader := strings.CutPrefix(method, "READER:"); asReader {
			method, key = bare, config.DefaultKey
		}
		a := callWith(t, s, key, method, "/v1"+path, fill(r.body))
		got := a.code()
		if a.field() != "" {
			got += " " + a.field()
		}
		if a.status != r.status || got != r.want {
			t.Errorf("%s: %s %.200s: %d %q, want %d %q: %.300v", r.says, r.request, r.body, a.status, got, r.status,
				r.want, a.body)
		}
	}
}

// TestDescription_Rules compares each operation with the description.
func TestDescription_Rules(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, Campaigns: 6, RowsPerDay: 300, Accounts: []config.Config{{}}})
	const bad, no = "validation_failed", "conflict"
	const block, allows = "POST /campaigns/$CAMPAIGN/sources/block", "POST /campaigns/$ALLOWS/sources/"
	hold(t, s, cast(t, s), []row{
		{"get_api_key_info", "READER:GET /me", "", 200, ""},
		{"get_limits", "READER:GET /limits", "", 200, ""},
		{"get_balance", "READER:GET /balance?fresh=true", "", 200, ""},
		{"list_campaigns", "READER:GET /campaigns?status=active,paused&limit=100&offset=0", "", 200, ""},
		{"get_campaign", "READER:GET /campaigns/$CAMPAIGN", "", 200, ""},
		{"list_creatives", "READER:GET /campaigns/$CAMPAIGN/creatives?status=draft,rejected&limit=1", "", 200, ""},
		{"get_creative", "READER:GET /creatives/$REFUSED", "", 200, ""},
		{"get_source_settings", "READER:GET /campaigns/$CAMPAIGN/sources", "", 200, ""},
		{"block_sources", block, `{"source_ids":["$S1","$S2"]}`, 200, ""},
		{"unblock_sources", "POST /campaigns/$CAMPAIGN/sources/unblock", `{"source_ids":["$S2"]}`, 200, ""},
		{"allow_sources", allows + "allow", `{"source_ids":["$S2"]}`, 200, ""},
		{"disallow_sources", allows + "disallow", `{"source_ids":["$S2"]}`, 200, ""},
		{"a read-only key can't write", "READER:" + block, `{"source_ids":["$S1"]}`, 403, "forbidden"},
		{"a key sees only its account", "GET /campaigns/$FOREIGN", "", 404, "not_found"},
		{"an unknown field is refused", block, `{"source_ids":["$S1"],"budget":1}`, 400, bad},
		{"an archived campaign can't be edited", "POST /campaigns/$ARCHIVED/sources/block", `{"source_ids":["$S1"]}`,
			409, no},
		{"source_ids are unique", block, `{"source_ids":["$S1","$S1"]}`, 400, bad + " source_ids"},
		{"1 to 50 sources", block, `{"source_ids":[]}`, 400, bad + " source_ids"},
		{"the last allowed source stays", allows + "disallow", `{"source_ids":["$S1"]}`, 409, no},
		{"block is of block-list campaigns", allows + "block", `{"source_ids":["$S1"]}`, 409, no},
		{"a list's limit is 1 to 100", "GET /campaigns?limit=101", "", 400, bad + " limit"},
		{"a list's offset is at most 10000", "GET /campaigns?offset=10001", "", 400, bad + " offset"},
		{"statuses are known", "GET /campaigns?status=draft", "", 400, bad + " status"},
		{"statuses are unique", "GET /campaigns?status=active,active", "", 400, bad + " status"},

		// The description does not specify these cases. The expected replies are one plausible choice.
		{"an unknown path is 404", "GET /nosuch", "", 404, "not_found"},
		{"another method is 404", "DELETE /campaigns", "", 404, "not_found"},
		{"an unknown query parameter is refused", "GET /me?x=1", "", 400, bad + " x"},
		{"a parameter given twice is refused", "GET /campaigns?limit=1&limit=2", "", 400, bad + " limit"},
		{"an unknown source is refused", block, `{"source_ids":["S0nosuch"]}`, 400, bad + " source_ids"},
		{"blocking a blocked source is no error", block, `{"source_ids":["$S1"]}`, 200, ""},
	})
}

// TestChange_RefusesWhatIsUnknown: a mistyped change must not be ignored.
func TestChange_RefusesWhatIsUnknown(t *testing.T) {
	s := sim(config.Config{})
	id := s.CampaignIDs()[0]
	for _, c := range []Change{{Campaign: "C1"}, {Creative: id + "-999999"},
		{Campaign: id, Set: map[string]any{"bid": 1}},
		{Campaign: id, Set: map[string]any{"default_bid": "cheap"}}, {Campaign: id, Set: map[string]any{"name": 1}},
		{Campaign: id, Set: map[string]any{"audience": map[string]any{"min_age": "x"}}},
		{Campaign: id, Sources: &SourceChange{Block: []string{"S0nosuch"}}},
		{Campaign: id, Sources: &SourceChange{Bids: map[string]any{"S0nosuch": "0.5"}}}} {
		before := settingsOf(t, s, id)
		if err := s.Change(c); err == nil {
			t.Errorf("%+v was made", c)
		}
		if after := settingsOf(t, s, id); after.Name != before.Name || after.DefaultBid != before.DefaultBid {
			t.Errorf("%+v: half of it happened: %+v", c, after)
		}
	}
}
