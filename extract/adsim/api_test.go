package adsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
)

// call calls the advertiser API with the right key.
func callAPI(t testing.TB, s *Service, path string) (int, http.Header, []byte) {
	t.Helper()
	return do(t, s, "GET", "http://sim"+wire.APIPrefix+path, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+config.DefaultKey)
	})
}

// fetchJSON calls the API for something that must be there.
func fetchJSON(t testing.TB, s *Service, path string) any {
	t.Helper()
	status, _, body := callAPI(t, s, path)
	if status != 200 {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, head(body))
	}
	return v
}

// unwrap finds the list or object in an envelope.
func unwrap(v any, keys ...string) any {
	m, ok := v.(map[string]any)
	for _, k := range keys {
		if inner, has := m[k]; ok && has {
			return inner
		}
	}
	return v
}

func objects(v any) []map[string]any {
	var out []map[string]any
	for _, e := range v.([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

func campaignsOf(t testing.TB, s *Service, query string) []map[string]any {
	t.Helper()
	return objects(unwrap(fetchJSON(t, s, "/v1/campaigns"+query), "campaigns"))
}

const everyStatus = "?status=active,paused,archived,rejected&limit=100"

func TestAPI_ListsCampaignsNewestFirst(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	all := campaignsOf(t, s, everyStatus)
	if len(all) != 36 {
		t.Errorf("%d campaigns, want 36", len(all))
	}
	if !slices.IsSortedFunc(all, func(x, y map[string]any) int {
		return strings.Compare(y["created_at"].(string), x["created_at"].(string))
	}) {
		t.Error("not newest first")
	}
	id := regexp.MustCompile(`^C\d{7,10}$`)
	creativeID := regexp.MustCompile(`^C\d{7,10}-\d{3,6}$`)
	byStatus := map[string]int{}
	for _, c := range all {
		byStatus[c["status"].(string)]++
		if !id.MatchString(c["id"].(string)) {
			t.Errorf("ID %v", c["id"])
		}
		if bid := c["default_bid"].(float64); bid < 0.10 || bid > 25 {
			t.Errorf("default_bid %v", bid)
		}
		if limit := c["daily_spend_limit"].(float64); limit < 100 || limit > 1_000_000 {
			t.Errorf("daily_spend_limit %v", limit)
		}
		one := unwrap(fetchJSON(t, s, "/v1/campaigns/"+c["id"].(string)), "campaign").(map[string]any)
		for k, v := range c {
			if one[k] != v {
				t.Errorf("%v: %s is %v, and %v in the list", c["id"], k, one[k], v)
			}
		}
		for _, cr := range objects(unwrap(fetchJSON(t, s, "/v1/campaigns/"+c["id"].(string)+"/creatives?limit=100"),
			"creatives")) {
			if cr["status"] == "archived" || !creativeID.MatchString(cr["id"].(string)) ||
				cr["campaign_id"] != c["id"] {
				t.Errorf("creative %v", cr)
			}
			if _, has := cr["rejection_reasons"]; has != (cr["status"] == "rejected") {
				t.Errorf("creative %v", cr)
			}
			same := unwrap(fetchJSON(t, s, "/v1/creatives/"+cr["id"].(string)), "creative").(map[string]any)
			if same["message"] != cr["message"] {
				t.Errorf("creative %v, alone %v", cr, same)
			}
		}
	}
	if got, want := len(campaignsOf(t, s, "?limit=100")), byStatus["active"]+byStatus["paused"]; got != want {
		t.Errorf("by default %d campaigns, want the %d active and paused", got, want)
	}
	if got := len(campaignsOf(t, s, "")); got != min(25, byStatus["active"]+byStatus["paused"]) {
		t.Errorf("by default %d campaigns on a page", got)
	}
	if got := campaignsOf(t, s, "?status=rejected"); len(got) != byStatus["rejected"] || len(got) == 0 {
		t.Errorf("%d rejected campaigns, want %d", len(got), byStatus["rejected"])
	}
	var paged []any
	for offset := 0; offset < 40; offset += 7 {
		for _, c := range campaignsOf(t, s, fmt.Sprintf("?status=active,paused,archived,rejected&limit=7&offset=%d",
			offset)) {
			paged = append(paged, c["id"])
		}
	}
	if len(paged) != 36 || paged[0] != all[0]["id"] || paged[35] != all[35]["id"] {
		t.Errorf("pages hold %d campaigns", len(paged))
	}
	if got := campaignsOf(t, s, everyStatus+"&search=lONG+tail"); len(got) == 0 || len(got) == 36 {
		t.Errorf("search by name finds %d", len(got))
	}
	if got := campaignsOf(t, s, everyStatus+"&search="+all[7]["id"].(string)); len(got) != 1 {
		t.Errorf("search by ID finds %d", len(got))
	}
}

func TestAPI_Allows120RequestsInAnyMinute(t *testing.T) {
	s := sim(config.Config{})
	for i := range 120 {
		if i == 60 {
			s.Advance(20 * time.Second)
		}
		if status, _, _ := callAPI(t, s, "/v1/me"); status != 200 {
			t.Fatalf("request %d: %d", i+1, status)
		}
	}
	status, h, body := callAPI(t, s, "/v1/me")
	if status != 429 || h.Get("Retry-After") != "40" || !strings.Contains(string(body), `"rate_limited"`) {
		t.Errorf("request 121: %d %v %s", status, h, body)
	}
	if status, _, _ := ask(t, s, oneDay(yesterday)); status != 200 {
		t.Errorf("the report is limited too: %d", status)
	}
	s.Advance(40*time.Second - 1)
	if status, h, _ := callAPI(t, s, "/v1/me"); status != 429 || h.Get("Retry-After") != "1" {
		t.Errorf("a moment early: %d %v", status, h)
	}
	s.Advance(1)
	for i := range 60 {
		if status, _, _ := callAPI(t, s, "/v1/me"); status != 200 {
			t.Fatalf("request %d of the next window: %d", i+1, status)
		}
	}
	if status, _, _ := callAPI(t, s, "/v1/me"); status != 429 {
		t.Errorf("after that: %d", status)
	}
	s = sim(config.Config{RateLimit: -1})
	for range 200 {
		if status, _, _ := callAPI(t, s, "/v1/me"); status != 200 {
			t.Fatal("limited without a limit")
		}
	}
}

func TestAPI_BalanceFollowsTheSpend(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	get := func(query string) map[string]any { return fetchJSON(t, s, "/v1/balance"+query).(map[string]any) }
	first := get("")
	if first["status"] != "ok" || first["payment_mode"] != "card" || first["average_daily_spend"].(float64) < 100 {
		t.Errorf("got %v", first)
	}
	s.Advance(9 * time.Minute)
	if got := get(""); got["refreshed_at"] != first["refreshed_at"] {
		t.Errorf("refreshed after 9 minutes: %v", got)
	}
	if got := get("?fresh=true"); got["refreshed_at"] == first["refreshed_at"] {
		t.Errorf("not fresh: %v", got)
	}
	s.Advance(3 * time.Hour)
	if got := get(""); got["available_balance"].(float64) >= first["available_balance"].(float64) {
		t.Errorf("three hours cost nothing: %v", got)
	}
	for _, status := range []string{"low", "depleted"} {
		s = sim(config.Config{BalanceStatus: status})
		if got := get(""); got["status"] != status || got["message"] == "" {
			t.Errorf("want %s, got %v", status, got)
		}
	}
}

func list(v any) []any           { l, _ := v.([]any); return l }
func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }
