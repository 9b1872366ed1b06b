package adsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
)

// callAPI sends a GET request to the advertiser API with the read-only key.
func callAPI(t testing.TB, s *Service, path string) (int, http.Header, []byte) {
	t.Helper()
	return do(t, s, "GET", "http://sim"+wire.APIPrefix+path, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+config.DefaultKey)
	})
}

// fetchJSON returns the JSON of a GET request to the advertiser API, which must succeed.
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

// answerOf is a decoded reply of the advertiser API.
type answerOf struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answerOf) code() string { return str(asMap(a.body["error"])["code"]) }

// field returns the field of the first detail of an error.
func (a answerOf) field() string {
	details := list(asMap(a.body["error"])["details"])
	if len(details) == 0 {
		return ""
	}
	return str(asMap(details[0])["field"])
}

func (a answerOf) message() string { return str(asMap(a.body["error"])["message"]) }

// callWith sends a request to the advertiser API with a key.
func callWith(t testing.TB, s *Service, key, method, path, sent string) answerOf {
	t.Helper()
	status, h, raw := doWith(t, s, method, "http://sim"+wire.APIPrefix+path, sent, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		if sent != "" {
			r.Header.Set("Content-Type", "application/json")
		}
	})
	a := answerOf{status: status, header: h}
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, head(raw))
		}
	}
	return a
}

// refusedAs checks the status, the code and the field of an error.
func refusedAs(t testing.TB, what string, a answerOf, status int, code, field string) {
	t.Helper()
	if a.status != status || a.code() != code || a.field() != field || a.message() == "" ||
		!strings.HasPrefix(str(asMap(a.body["error"])["request_id"]), "req_") {
		t.Errorf("%s: got %d %v, want %d %s %q", what, a.status, a.body, status, code, field)
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
}

func list(v any) []any           { l, _ := v.([]any); return l }
func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }
