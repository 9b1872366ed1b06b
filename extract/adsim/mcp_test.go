package adsim

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/tools"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// bearer adds the key to every request.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// session connects the SDK's client.
func session(t testing.TB, s *Service, key string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(
		context.Background(),
		&mcp.StreamableClientTransport{Endpoint: "http://sim" + tools.MCPPath,
			HTTPClient: &http.Client{Transport: bearer{key, s.Transport()}}, DisableStandaloneSSE: true},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// callTool calls a tool and gives its JSON.
func callTool(t testing.TB, cs *mcp.ClientSession, name, args string) (result map[string]any, isError bool) {
	t.Helper()
	out, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	text := out.Content[0].(*mcp.TextContent).Text
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatalf("%s: %v in %s", name, err, text)
	}
	if !reflect.DeepEqual(out.StructuredContent, any(result)) {
		t.Errorf("%s: the structured content is %v, the text %s", name, out.StructuredContent, text)
	}
	return result, out.IsError
}

func TestMCP_ListsEveryOperationAsATool(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	list, err := session(t, s, config.DefaultKey).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	want := strings.Fields(`get_api_key_info get_limits get_balance
		list_campaigns create_campaign get_campaign update_campaign set_campaign_status clone_campaign
		list_creatives create_creatives get_creative update_creative set_creative_status clone_creative upload_image
		get_source_settings set_source_bids block_sources unblock_sources allow_sources disallow_sources`)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(tools)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, tool := range tools {
		in := tool.InputSchema.(map[string]any)
		if in["additionalProperties"] != false || in["type"] != "object" || tool.Description == "" {
			t.Errorf("%s: %v", name, in)
		}
	}
	props := func(name string) []string {
		return slices.Sorted(maps.Keys(asMap(tools[name].InputSchema.(map[string]any)["properties"])))
	}
	if got := props("set_source_bids"); !slices.Equal(got, []string{"bid", "campaign_id", "dry_run", "optimize",
		"source_ids"}) {
		t.Errorf("got %v", got)
	}
	if got := props("list_campaigns"); !slices.Equal(got, []string{"limit", "offset", "search", "status"}) {
		t.Errorf("got %v", got)
	}
}

func TestMCP_CallsEveryTool(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, ReviewTakes: -1})
	cs := session(t, s, config.DefaultWriteKey)
	called := map[string]bool{}
	do := func(name, args string) map[string]any {
		t.Helper()
		called[name] = true
		got, failed := callTool(t, cs, name, args)
		if failed {
			t.Fatalf("%s %s: %v", name, args, got)
		}
		for _, k := range []string{"campaign", "creative", "source_change", "image", "source_settings"} {
			if m := asMap(got[k]); m != nil {
				return m
			}
		}
		return got
	}
	if me := do("get_api_key_info", `{}`); me["scope"] != "write" {
		t.Errorf("got %v", me)
	}
	if b := do("get_balance", `{"fresh":true}`); b["status"] != "ok" {
		t.Errorf("got %v", b)
	}
	if got := do("list_campaigns", `{"status":["active","archived"],"limit":3,"offset":1,`+
		`"search":"a"}`); len(list(got["campaigns"])) > 3 || got["limit"] != 3.0 || got["offset"] != 1.0 {
		t.Errorf("got %v", got)
	}
	id := str(do("create_campaign", plainCampaign)["id"])
	arg := func(more string) string { return `{"campaign_id":"` + id + `"` + more + `}` }
	if got := do("update_campaign", arg(`,"name":"By tool","target_cpa":5,"default_bid":0.75`)); got["name"] != "By "+
		"tool" || got["default_bid"] != 0.75 {
		t.Errorf("got %v", got)
	}
	var in map[string]string
	if err := json.Unmarshal([]byte(upload("icon", pngOf(300, 300), "image/png")), &in); err != nil {
		t.Fatal(err)
	}
	icon := str(do("upload_image", string(must(json.Marshal(in))))["id"])
	made := do("create_creatives", arg(`,"creatives":[{`+anyText+`,"icon_id":"`+icon+`"}]`))
	cr := str(asMap(list(made["creatives"])[0])["id"])
	ofCreative := func(more string) string { return `{"creative_id":"` + cr + `"` + more + `}` }
	approve(t, s, cr)
	do("set_creative_status", ofCreative(`,"status":"paused"`))
	if got := do("update_creative", ofCreative(`,"title":"New"`)); asMap(got["pending_version"])["title"] != "New" {
		t.Errorf("got %v", got)
	}
	if got := do("clone_creative", ofCreative(`,"draft":true`)); got["status"] != "draft" {
		t.Errorf("got %v", got)
	}
	if got := do("list_creatives", arg(`,"status":["draft"]`)); len(list(got["creatives"])) != 1 {
		t.Errorf("got %v", got)
	}
	if got := do("get_creative", ofCreative("")); got["id"] != cr {
		t.Errorf("got %v", got)
	}
	good := `["` + strings.Join(s.GoodSources()[:2], `","`) + `"]`
	do("set_source_bids", arg(`,"source_ids":`+good+`,"bid":0.6`))
	do("block_sources", arg(`,"source_ids":`+good+`,"dry_run":true`))
	do("block_sources", arg(`,"source_ids":`+good))
	do("unblock_sources", arg(`,"source_ids":`+good))
	change(t, s,
		Change{Campaign: id, Sources: &SourceChange{Mode: "allow_list", Allow: s.GoodSources()[2:4]}})
	do("allow_sources", arg(`,"source_ids":`+good))
	do("disallow_sources", arg(`,"source_ids":`+good))
	if got := do("get_source_settings", arg("")); !slices.Equal(strs(got["allowed_source_ids"]), s.GoodSources()[2:4]) {
		t.Errorf("got %v", got)
	}
	if got := do("clone_campaign", arg(`,"name":"Copy"`)); len(list(got["cloned_creative_ids"])) != 1 {
		t.Errorf("got %v", got)
	}
	do("set_campaign_status", arg(`,"status":"archived"`))
	if got := do("get_campaign", arg("")); got["status"] != "archived" || got["name"] != "By tool" {
		t.Errorf("got %v", got)
	}
	if got := do("get_limits", `{}`); len(list(got["limits"])) != len(world.ChangeKinds) {
		t.Errorf("got %v", got)
	}
	for _, op := range advertiser.Operations() {
		if op.IsTool() && !called[op.Name] {
			t.Errorf("%s was not called", op.Name)
		}
	}
}

func TestMCP_TellsWhatRESTTellsInHeaders(t *testing.T) {
	s := sim(config.Config{RateLimit: 3, KeyExpiresAt: noon.Add(100 * time.Hour),
		ChangeBudgets: map[string]int{world.CampaignCreate: 0}})
	cs := session(t, s, config.DefaultWriteKey)
	got, _ := callTool(t, cs, "get_limits", `{}`)
	if !strings.Contains(str(got["key_expiry_warning"]), "5 days") || got["account_notice"] != nil {
		t.Errorf("got %v", got)
	}
	got, failed := callTool(t, cs, "create_campaign", plainCampaign)
	if e := asMap(got["error"]); !failed || e["code"] != "rate_limited" || e["retry_after_seconds"] != 14400.0 ||
		got["key_expiry_warning"] == nil {
		t.Errorf("the budget: %v", got)
	}
	s.World.Cfg.BalanceStatus = "depleted"
	if got, _ = callTool(t, cs, "get_api_key_info", `{}`); !strings.Contains(str(got["account_notice"]), "Add funds") {
		t.Errorf("got %v", got)
	}
	got, failed = callTool(t, cs, "get_api_key_info", `{}`)
	if e := asMap(got["error"]); !failed || e["retry_after_seconds"] != 60.0 {
		t.Errorf("the minute: %v", got)
	}
	s.Advance(time.Minute)
	s.Fail(wire.Fault{Kind: wire.Unavailable, RetryAfter: "9"})
	got, failed = callTool(t, cs, "get_api_key_info", `{}`)
	if e := asMap(got["error"]); !failed || e["code"] != "unavailable" || e["retry_after_seconds"] != 9.0 {
		t.Errorf("unavailable: %v", got)
	}
}
