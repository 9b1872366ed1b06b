package adsim

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

// row is a line of a table of the description: what it says, a request, and the answer. want is "" for a success, the
// code of a refusal, or "code field". In requests and bodies $NAME stands for an entity of [cast].
type row struct {
	says, request, body string
	status              int
	want                string
}

// cast makes the entities that the tables need, by name.
func cast(t *testing.T, s *Service) map[string]string {
	t.Helper()
	id := map[string]string{}
	made := func(name, fields string) {
		id[name] = str(mustTell(t, s, "POST", "/v1/campaigns", `{"name":"`+name+`","audience":{},"default_bid":0.5,`+
			`"daily_spend_limit":200`+fields+`}`)["id"])
	}
	made("CAMPAIGN", "")
	made("OTHER", "")
	made("PAUSED", `,"status":"paused"`)
	made("TARGETED", `,"target_cpa":20`)
	made("ALLOWS", "")
	made("ARCHIVED", "")
	made("REJECTED", "")
	sources := s.GoodSources()
	id["S1"], id["S2"], id["S3"] = sources[0], sources[1], sources[2]
	change(t, s, Change{Campaign: id["ALLOWS"], Sources: &SourceChange{Mode: "allow_list", Allow: []string{id["S1"]}}})
	change(t, s, Change{Campaign: id["REJECTED"], Set: map[string]any{"status": "rejected"}})
	mustTell(t, s, "POST", "/v1/campaigns/"+id["ARCHIVED"]+"/status", `{"status":"archived"}`)
	id["ICON"] = iconID(t, s)
	id["IMAGE"] = str(mustTell(t, s, "POST", "/v1/images", upload("image", pngOf(400, 200), "image/png"))["id"])
	for _, name := range []string{"RUNNING", "PENDING", "REFUSED", "GONE"} {
		id[name] = newCreative(t, s, id["CAMPAIGN"])
	}
	approve(t, s, id["RUNNING"])
	if err := s.Review(world.Verdict{Creative: id["REFUSED"], Reasons: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	mustTell(t, s, "POST", "/v1/creatives/"+id["GONE"]+"/status", `{"status":"archived"}`)
	a := tell(t, s, "POST", "/v1/campaigns/"+id["CAMPAIGN"]+"/creatives", `{"draft":true,"creatives":[{"title":"T"}]}`)
	id["DRAFT"] = str(asMap(list(a.body["creatives"])[0])["id"])
	id["FOREIGN"] = s.Account(1).CampaignIDs()[0]
	return id
}

var castName = regexp.MustCompile(`\$[A-Z][A-Z0-9]*`)

// hold asks each line's request with the key that may write, and holds the answer to the line.
func hold(t *testing.T, s *Service, id map[string]string, rows []row) {
	t.Helper()
	fill := func(text string) string {
		return castName.ReplaceAllStringFunc(text, func(name string) string { return id[name[1:]] })
	}
	for _, r := range rows {
		method, path, _ := strings.Cut(fill(r.request), " ")
		key := config.DefaultWriteKey
		if reading, is := strings.CutPrefix(method, "READER:"); is {
			method, key = reading, config.DefaultKey
		}
		a := callWith(t, s, key, method, "/v1"+path, fill(r.body))
		got := a.code()
		if a.field() != "" {
			got += " " + a.field()
		}
		if a.status != r.status || got != r.want {
			t.Errorf("%s: %s %.200s: %d %q, want %d %q: %.300v", r.says, r.request, r.body, a.status, got, r.status,
				r.want,
				a.body)
		}
	}
}

func describedService() *Service {
	return sim(config.Config{RateLimit: -1, Campaigns: 6, RowsPerDay: 300, ReviewTakes: -1,
		Accounts: []config.Config{{}}})
}

// TestDescription_Endpoints calls each row of the endpoint table once.
func TestDescription_Endpoints(t *testing.T) {
	s := describedService()
	id := cast(t, s)
	hold(t, s, id, []row{
		{"get_api_key_info", "READER:GET /me", "", 200, ""},
		{"get_limits", "READER:GET /limits", "", 200, ""},
		{"get_balance", "READER:GET /balance?fresh=true", "", 200, ""},
		{"list_campaigns", "READER:GET /campaigns?status=active,paused&search=OTHER&limit=100&offset=0", "", 200, ""},
		{"create_campaign", "POST /campaigns", `{"name":"N","audience":{"country":"US","states":["NY"],"platforms":` +
			`["MOBILE"]},"default_bid":0.1,"daily_spend_limit":100,"target_cpa":1,` +
			`"start_date":"2026-12-01T00:00:00Z",` +
			`"end_date":"2026-12-24T00:00:00Z","status":"paused"}`, 201, ""},
		{"get_campaign", "READER:GET /campaigns/$CAMPAIGN", "", 200, ""},
		{"update_campaign", "PATCH /campaigns/$OTHER", `{"end_date":null,"target_cpa":null,"name":"M"}`, 200, ""},
		{"set_campaign_status", "POST /campaigns/$OTHER/status", `{"status":"paused"}`, 200, ""},
		{"clone_campaign", "POST /campaigns/$CAMPAIGN/clone", `{"name":"Copy"}`, 201, ""},
		{"list_creatives", "READER:GET /campaigns/$CAMPAIGN/creatives?status=draft,rejected&limit=1", "", 200, ""},
		{"create_creatives", "POST /campaigns/$OTHER/creatives", `{"creatives":[{` + anyText + `,"icon_id":"$ICON",` +
			`"image_id":"$IMAGE","button1":"Go","button2":null}],"draft":false}`, 201, ""},
		{"get_creative", "READER:GET /creatives/$REFUSED", "", 200, ""},
		{"update_creative", "PATCH /creatives/$RUNNING", `{"title":"New","image_id":"$IMAGE"}`, 200, ""},
		{"set_creative_status", "POST /creatives/$RUNNING/status", `{"status":"paused"}`, 200, ""},
		{"clone_creative", "POST /creatives/$RUNNING/clone", `{"campaign_id":"$OTHER","title":"Again"}`, 201, ""},
		{"clone_creative without a body", "POST /creatives/$RUNNING/clone", "", 201, ""},
		{"upload_image", "POST /images", upload("icon", gifOf(30, 30), "image/gif"), 201, ""},
		{"get_source_settings", "READER:GET /campaigns/$CAMPAIGN/sources", "", 200, ""},
		{"set_source_bids", "POST /campaigns/$CAMPAIGN/sources/bids", `{"source_ids":["$S1"],"bid":0.6}`, 200, ""},
		{"block_sources", "POST /campaigns/$CAMPAIGN/sources/block", `{"source_ids":["$S1","$S2"]}`, 200, ""},
		{"unblock_sources", "POST /campaigns/$CAMPAIGN/sources/unblock", `{"source_ids":["$S2"]}`, 200, ""},
		{"allow_sources", "POST /campaigns/$ALLOWS/sources/allow", `{"source_ids":["$S2"]}`, 200, ""},
		{"disallow_sources", "POST /campaigns/$ALLOWS/sources/disallow", `{"source_ids":["$S2"]}`, 200, ""},
		{"openapi.json", "READER:GET /openapi.json", "", 200, ""},
	})
}

// TestDescription_Rules holds bounds, states and refusals to the description, a line for each.
func TestDescription_Rules(t *testing.T) {
	s := describedService()
	const bad, no = "validation_failed", "conflict"
	create := func(fields string) string {
		return `{"name":"N","audience":{},"default_bid":0.5,"daily_spend_limit":200` + fields + `}`
	}
	creative := func(fields string) string {
		return `{"creatives":[{"title":"T","message":"M","link":"https://x.example/","icon_id":"$ICON"` + fields + `}]}`
	}
	long := strings.Repeat("x", 201)
	hold(t, s, cast(t, s), []row{
		{"a read-only key can't write", "READER:POST /campaigns", create(""), 403, "forbidden"},
		{"a key sees only its account", "GET /campaigns/$FOREIGN", "", 404, "not_found"},
		{"an unknown field is refused", "POST /campaigns", create(`,"budget":1`), 400, bad + " budget"},
		{"required fields", "POST /campaigns", `{"name":"N","audience":{},"default_bid":0.5}`, 400,
			bad + " daily_spend_limit"},
		{"name needs more than blanks", "POST /campaigns", create(`,"name":"  "`), 400, bad + " name"},
		{"name has at most 100 characters", "PATCH /campaigns/$OTHER", `{"name":"` + long[:101] + `"}`, 400, bad +
			" name"},
		{"default_bid is 0.10 to 25", "PATCH /campaigns/$OTHER", `{"default_bid":0.09}`, 400, bad + " default_bid"},
		{"default_bid is at least 0.30 for new subscribers", "PATCH /campaigns/$OTHER",
			`{"default_bid":0.29,"audience":{"subscribed_less_than_minutes_ago":10080}}`, 400, bad + " default_bid"},
		{"default_bid is at least 0.30 for a gender", "PATCH /campaigns/$OTHER",
			`{"default_bid":0.29,"audience":{"gender":"F"}}`, 400, bad + " default_bid"},
		{"default_bid can at most double", "PATCH /campaigns/$OTHER", `{"default_bid":1.01}`, 400, bad +
			" default_bid"},
		{"twice is allowed", "PATCH /campaigns/$PAUSED", `{"default_bid":1}`, 200, ""},
		{"daily_spend_limit is 100 to 1,000,000", "PATCH /campaigns/$OTHER", `{"daily_spend_limit":99}`, 400,
			bad + " daily_spend_limit"},
		{"daily_spend_limit can at most double", "PATCH /campaigns/$OTHER", `{"daily_spend_limit":401}`, 400,
			bad + " daily_spend_limit"},
		{"daily_spend_limit cannot be removed", "PATCH /campaigns/$OTHER", `{"daily_spend_limit":null}`, 400,
			bad + " daily_spend_limit"},
		{"target_cpa is 1 to 10,000", "PATCH /campaigns/$OTHER", `{"target_cpa":0.99}`, 400, bad + " target_cpa"},
		{"target_cpa can at most double", "PATCH /campaigns/$TARGETED", `{"target_cpa":40.01}`, 400, bad +
			" target_cpa"},
		{"an audience has no extra fields", "PATCH /campaigns/$OTHER", `{"audience":{"city":"X"}}`, 400,
			bad + " audience.city"},
		{"states are unique codes", "PATCH /campaigns/$OTHER", `{"audience":{"states":["NY","NY"]}}`, 400,
			bad + " audience.states[1]"},
		{"country is of a list", "PATCH /campaigns/$OTHER", `{"audience":{"country":"PL"}}`, 400, bad +
			" audience.country"},
		{"min_age is 13 to 120", "PATCH /campaigns/$OTHER", `{"audience":{"min_age":12}}`, 400, bad +
			" audience.min_age"},
		{"times are RFC 3339", "PATCH /campaigns/$OTHER", `{"end_date":"tomorrow"}`, 400, bad + " end_date"},
		{"an update has a field", "PATCH /campaigns/$OTHER", `{}`, 400, bad},
		{"create accepts only active or paused", "POST /campaigns", create(`,"status":"archived"`), 400, bad +
			" status"},
		{"an archived campaign can't be edited", "PATCH /campaigns/$ARCHIVED", `{"name":"N"}`, 409, no},
		{"archived is permanent", "POST /campaigns/$ARCHIVED/status", `{"status":"active"}`, 409, no},
		{"a paused campaign can be activated", "POST /campaigns/$PAUSED/status", `{"status":"active"}`, 200, ""},
		{"pausing is always allowed", "POST /campaigns/$PAUSED/status", `{"status":"paused"}`, 200, ""},
		{"an earlier pause is finishing", "POST /campaigns/$PAUSED/status", `{"status":"active"}`, 409, no},
		{"only approval activates a pending one", "POST /creatives/$PENDING/status", `{"status":"active"}`, 409, no},
		{"only approval activates a rejected one", "POST /creatives/$REFUSED/status", `{"status":"active"}`, 409, no},
		{"an archived creative can't be edited", "PATCH /creatives/$GONE", `{"title":"N"}`, 409, no},
		{"1 to 20 creatives", "POST /campaigns/$OTHER/creatives", `{"creatives":[]}`, 400, bad + " creatives"},
		{"title has 1 to 100 characters", "POST /campaigns/$OTHER/creatives", creative(`,"title":"` + long[:101] +
			`"`), 400,
			bad + " creatives[0].title"},
		{"message has at most 200", "PATCH /creatives/$RUNNING", `{"message":"` + long + `"}`, 400, bad + " message"},
		{"link is http or https", "PATCH /creatives/$RUNNING", `{"link":"ftp://x"}`, 400, bad + " link"},
		{"dynamic text has two forms", "PATCH /creatives/$RUNNING", `{"title":"{{x}}"}`, 400, bad + " title"},
		{"dynamic text is allowed", "PATCH /creatives/$RUNNING", `{"title":"{{=data.city||'you'}} {{#def.date('D')}}"}`,
			200, ""},
		{"icon_id is required for a review", "POST /campaigns/$OTHER/creatives", `{"creatives":[{` + anyText + `}]}`,
			400,
			bad + " creatives[0].icon_id"},
		{"a draft may lack fields", "POST /campaigns/$OTHER/creatives", `{"draft":true,"creatives":[{"title":"T"}]}`,
			201,
			""},
		{"button1 has at most 25", "PATCH /creatives/$RUNNING", `{"button1":"` + long[:26] + `"}`, 400, bad +
			" button1"},
		{"an incomplete draft can't be submitted", "PATCH /creatives/$DRAFT", `{"submit_for_review":true}`, 400,
			bad + " message"},
		{"source_ids are unique", "POST /campaigns/$OTHER/sources/block", `{"source_ids":["$S1","$S1"]}`, 400,
			bad + " source_ids[1]"},
		{"1 to 50 sources", "POST /campaigns/$OTHER/sources/block", `{"source_ids":[]}`, 400, bad + " source_ids"},
		{"a source bid is at most 25", "POST /campaigns/$OTHER/sources/bids", `{"source_ids":["$S1"],"bid":25.01}`, 400,
			bad + " bid"},
		{"a source bid is at most 3 times the default", "POST /campaigns/$OTHER/sources/bids",
			`{"source_ids":["$S1"],"bid":1.51}`, 400, bad + " bid"},
		{"optimize needs a target_cpa", "POST /campaigns/$OTHER/sources/bids", `{"source_ids":["$S1"],"optimize":true}`,
			409, no},
		{"with one it is taken", "POST /campaigns/$TARGETED/sources/bids", `{"source_ids":["$S1"],"optimize":true}`,
			200,
			""},
		{"the last allowed source stays", "POST /campaigns/$ALLOWS/sources/disallow", `{"source_ids":["$S1"]}`, 409,
			no},
		{"block is of block-list campaigns", "POST /campaigns/$ALLOWS/sources/block", `{"source_ids":["$S1"]}`, 409,
			no},
		{"an icon is square", "POST /images", upload("icon", pngOf(20, 10), "image/png"), 400, bad + " data_base64"},
		{"an image is 2:1", "POST /images", upload("image", pngOf(10, 10), "image/png"), 400, bad + " data_base64"},
		{"the type is that of the file", "POST /images", upload("icon", pngOf(9, 9), "image/gif"), 400,
			bad + " content_type"},
		{"a list's limit is 1 to 100", "GET /campaigns?limit=101", "", 400, bad + " limit"},
		{"a list's offset is at most 10000", "GET /campaigns?offset=10001", "", 400, bad + " offset"},
		{"search has at most 100 characters", "GET /campaigns?search=" + long, "", 400, bad + " search"},
		{"statuses are known", "GET /campaigns?status=draft", "", 400, bad + " status[0]"},
		{"statuses are unique", "GET /campaigns?status=active,active", "", 400, bad + " status[1]"},
	})
}

// TestSilence_IsFilledByChoices: what the description does not show is one plausible choice, a line for each.
func TestSilence_IsFilledByChoices(t *testing.T) {
	s := describedService()
	const bad, no = "validation_failed", "conflict"
	hold(t, s, cast(t, s), []row{
		{"an unknown path is 404", "GET /nosuch", "", 404, "not_found"},
		{"another method is 405 with not_found", "DELETE /campaigns", "", 405, "not_found"},
		{"an unknown query parameter is refused", "GET /me?x=1", "", 400, bad + " x"},
		{"a parameter given twice is refused", "GET /campaigns?limit=1&limit=2", "", 400, bad + " limit"},
		{"end_date is after start_date", "PATCH /campaigns/$OTHER", `{"end_date":"2020-01-01T00:00:00Z"}`, 400,
			bad + " end_date"},
		{"min_age is at most max_age", "PATCH /campaigns/$OTHER", `{"audience":{"min_age":40,"max_age":30}}`, 400,
			bad + " audience.min_age"},
		{"states without a country are taken", "PATCH /campaigns/$OTHER", `{"audience":{"states":["NY"]}}`, 200, ""},
		{"a rejected campaign can't be activated", "POST /campaigns/$REJECTED/status", `{"status":"active"}`, 409, no},
		{"but paused", "POST /campaigns/$REJECTED/status", `{"status":"paused"}`, 200, ""},
		{"archiving an archived campaign changes nothing", "POST /campaigns/$ARCHIVED/status", `{"status":"archived"}`,
			200, ""},
		{"an archived campaign can be cloned", "POST /campaigns/$ARCHIVED/clone", `{"name":"C"}`, 201, ""},
		{"a creative in review can't be paused", "POST /creatives/$PENDING/status", `{"status":"paused"}`, 409, no},
		{"submit_for_review is for drafts", "PATCH /creatives/$PENDING", `{"submit_for_review":true}`, 409, no},
		{"an incomplete draft stays one", "PATCH /creatives/$DRAFT", `{"message":"M"}`, 200, ""},
		{"an unknown image is not_found", "PATCH /creatives/$RUNNING", `{"icon_id":"000000000000000000000000"}`, 404,
			"not_found icon_id"},
		{"an image of the other kind is refused", "PATCH /creatives/$RUNNING", `{"icon_id":"$IMAGE"}`, 400,
			bad + " icon_id"},
		{"an unknown source is refused", "POST /campaigns/$OTHER/sources/block", `{"source_ids":["S0nosuch"]}`, 400,
			bad + " source_ids[0]"},
		{"either bid or optimize", "POST /campaigns/$TARGETED/sources/bids",
			`{"source_ids":["$S1"],"bid":0.5,"optimize":true}`, 400, bad + " optimize"},
		{"null resets a bid", "POST /campaigns/$OTHER/sources/bids", `{"source_ids":["$S1"],"bid":null}`, 200, ""},
		{"blocking a blocked source is no error", "POST /campaigns/$OTHER/sources/block", `{"source_ids":["$S1"]}`, 200,
			""},
	})
	if a := tell(t, s, "POST", "/v1/campaigns/"+s.CampaignIDs()[0]+"/sources/block",
		`{"source_ids":["`+s.GoodSources()[0]+`"],"dry_run":true}`); a.status == 200 &&
		asMap(a.body["source_change"])["dry_run"] != true {
		t.Errorf("a dry run says that it is one: %v", a.body)
	}
}

// TestDescription_KeysAreCreatedWithBasic: POST /v1/api-keys takes the dashboard's credentials.
func TestDescription_KeysAreCreatedWithBasic(t *testing.T) {
	s := describedService()
	post := func(user, password, body string) (int, map[string]string) {
		status, _, raw := doWith(t, s, "POST", "http://sim/api/v1/api-keys", body, func(r *http.Request) {
			r.SetBasicAuth(user, password)
			r.Header.Set("Content-Type", "application/json")
		})
		var out map[string]string
		_ = json.Unmarshal(raw, &out)
		return status, out
	}
	for _, scope := range []string{"read", "write"} {
		status, got := post(config.DefaultUser, config.DefaultPassword, `{"name":"mine","scope":"`+scope+`"}`)
		if status != 201 || got["scope"] != scope || !strings.HasPrefix(got["api_key"], "adv_") {
			t.Fatalf("%d %v", status, got)
		}
		want := map[string]int{"read": 403, "write": 201}[scope]
		if a := callWith(t, s, got["api_key"], "POST", "/v1/campaigns", plainCampaign); a.status != want {
			t.Errorf("a %s key: %d %v", scope, a.status, a.body)
		}
	}
	if status, _ := post(config.DefaultUser, "wrong", `{"name":"x","scope":"read"}`); status != 401 {
		t.Errorf("a wrong password: %d", status)
	}
	if status, _ := post(config.DefaultUser, config.DefaultPassword, `{"name":"x","scope":"all"}`); status != 400 {
		t.Errorf("an unknown scope: %d", status)
	}
}
