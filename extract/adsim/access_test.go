package adsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// sendBroadcast posts to the broadcast API.
func sendBroadcast(t *testing.T, s *Service, body string) int {
	t.Helper()
	status, _, _ := doWith(
		t,
		s,
		"POST",
		"http://sim"+wire.PushPrefix+"/api/push/v2/campaign",
		body,
		func(r *http.Request) {
			r.Header.Set("Authorization", config.DefaultPushToken)
			r.Header.Set("Content-Type", "application/json")
		},
	)
	return status
}

func TestPush_FieldNamesAreCaseSensitive(t *testing.T) {
	s := sim(config.Config{})
	const sub = `"subwaterfall":{"interval":1,"enabled":true,"title":"t","Message":"m",` +
		`"destinationLink":"https://a.example"}}`
	const plain = `{"website":"https://news.example","title":"t","message":"m","link":"https://a.example"`
	for body, want := range map[string]int{
		plain + `}`: 200,
		`{"website":"https://news.example","Title":"t","message":"m","link":"https://a.example"}`: 400,
		`{"WEBSITE":"https://news.example","title":"t","message":"m","link":"https://a.example"}`: 400,
		`{"website":"https://news.example","title":"t","Message":"m","link":"https://a.example"}`: 400,
		plain + `,"Link":"ftp://unknown"}`:                                      200,
		plain + "," + sub:                                                       200,
		plain + "," + strings.Replace(sub, "Message", "message", 1):             400,
		plain + `,"segment":[{"variable":"a","operator":"exists","value":""}]}`: 200,
		plain + `,"segment":[{"Variable":"a","operator":"exists","value":""}]}`: 400,
	} {
		if got := sendBroadcast(t, s, body); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

func TestUnicodeSpaces_AreBlank(t *testing.T) {
	s := sim(config.Config{})
	for name, want := range map[string]int{"\u00a0\u2003": 400, "\ufeff": 400, "\u3000\u3000": 400, "\u00a0x": 201,
		"é": 201} {
		body, err := json.Marshal(map[string]any{"name": name, "audience": map[string]any{}, "default_bid": 0.5,
			"daily_spend_limit": 100})
		if err != nil {
			t.Fatal(err)
		}
		status, _, reply := doWith(t, s, "POST", "http://sim"+wire.APIPrefix+"/v1/campaigns", string(body),
			func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+config.DefaultWriteKey)
				r.Header.Set("Content-Type", "application/json")
			})
		if status != want {
			t.Errorf("name %q: %d, want %d: %s", name, status, want, reply)
		}
	}
	if jsontext.IsWebURL("https://\u00a0") || jsontext.IsWebURL("https://a.example/\u3000") ||
		!jsontext.IsWebURL("https://a.example/é") {
		t.Error("a URL with a space of Unicode")
	}
}

func TestBalance_IsNeverOlderThanTheLastFreshOne(t *testing.T) {
	s := sim(config.Config{})
	at := func(query string) string {
		_, _, body := do(t, s, "GET", "http://sim"+wire.APIPrefix+"/v1/balance"+query, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+config.DefaultKey)
		})
		var b struct {
			At string `json:"refreshed_at"`
		}
		if err := json.Unmarshal(body, &b); err != nil {
			t.Fatalf("%s, %v", body, err)
		}
		return b.At
	}
	s.SetNow(noon.Add(3 * time.Minute))
	for _, step := range []struct{ query, want string }{
		{"", "2026-11-21T20:00:00Z"}, {"?fresh=true", "2026-11-21T20:03:00Z"}, {"", "2026-11-21T20:03:00Z"},
	} {
		if got := at(step.query); got != step.want {
			t.Errorf("%q: %s, want %s", step.query, got, step.want)
		}
	}
	s.SetNow(noon.Add(12 * time.Minute))
	if got := at(""); got != "2026-11-21T20:10:00Z" {
		t.Errorf("later: %s", got)
	}
	s.SetNow(noon)
	if got := at(""); got != "2026-11-21T20:00:00Z" {
		t.Errorf("with the clock set back: %s", got)
	}
}

func TestTargetCPA_NullEndsOptimization(t *testing.T) {
	s := sim(config.Config{})
	write := func(method, path, body string) {
		t.Helper()
		status, _, reply := doWith(t, s, method, "http://sim"+wire.APIPrefix+path, body, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+config.DefaultWriteKey)
			r.Header.Set("Content-Type", "application/json")
		})
		if status > 201 {
			t.Fatalf("%s %s: %d %s", method, path, status, reply)
		}
	}
	id := s.CampaignIDs()[0]
	for _, end := range []func(){
		func() { write("PATCH", "/v1/campaigns/"+id, `{"target_cpa":null}`) },
		func() {
			change(t, s, Change{Campaign: id, Set: map[string]any{"target_cpa": nil}})
		},
	} {
		write("PATCH", "/v1/campaigns/"+id, `{"target_cpa":20}`)
		write("POST", "/v1/campaigns/"+id+"/sources/bids", `{"source_ids":["`+s.GoodSources()[0]+`"],"optimize":true}`)
		if _, _, body := raw(t, s, wire.APIPrefix+"/v1/campaigns/"+id+"/sources"); !strings.Contains(string(body),
			"optimized_source_ids") {
			t.Fatalf("nothing is optimized: %s", body)
		}
		end()
		if _, _, body := raw(t, s, wire.APIPrefix+"/v1/campaigns/"+id+"/sources"); strings.Contains(string(body),
			"optimized_source_ids") {
			t.Errorf("still optimized: %s", body)
		}
	}
}

func TestAccess_IsSetPerAccount(t *testing.T) {
	s := sim(config.Config{Control: true, Accounts: []config.Config{{}}})
	if status, _ := order(t, s, "POST", "access?account=1", `{"report":"no-advertiser",`+
		`"budgets":{"campaign_create":1},"websites":["https://b.example"]}`); status != 200 {
		t.Fatalf("status %d", status)
	}
	report := func(user string) int {
		status, _, _ := do(t, s, "GET", "http://sim"+wire.ReportPrefix+"/ads/spend-report?"+oneDay(yesterday),
			func(r *http.Request) {
				r.SetBasicAuth(user, config.DefaultPassword)
			})
		return status
	}
	if first, second := report(config.DefaultUser), report("analyst2@example.com"); first != 200 || second != 403 {
		t.Errorf("the report answers %d and %d", first, second)
	}
	if first, second := s.BudgetOf(world.CampaignCreate), s.Account(1).BudgetOf(world.CampaignCreate); first != 50 ||
		second != 1 {
		t.Errorf("budgets %d and %d", first, second)
	}
	if got := s.Account(1).Websites(); len(got) != 1 || got[0] != "https://b.example" || len(s.Websites()) != 2 {
		t.Errorf("websites %v and %v", got, s.Websites())
	}
	for _, body := range []string{`{"report":"closed"}`, `{"budgets":{"nosuch":1}}`, `{"websites":["news"]}`,
		`{"websites":[]}`} {
		if status, _ := order(t, s, "POST", "access", body); status != 400 {
			t.Errorf("%s: %d", body, status)
		}
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if report("analyst2@example.com") != 200 || s.Account(1).BudgetOf(world.CampaignCreate) != 50 {
		t.Error("a reset leaves the second account as it was set")
	}
}
