package adsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// answerOf is a reply of the advertiser API, taken apart.
type answerOf struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answerOf) code() string { return str(asMap(a.body["error"])["code"]) }

// field is the field that the first detail of an error names.
func (a answerOf) field() string {
	details := list(asMap(a.body["error"])["details"])
	if len(details) == 0 {
		return ""
	}
	return str(asMap(details[0])["field"])
}

func (a answerOf) message() string { return str(asMap(a.body["error"])["message"]) }

// one is the object of the reply in its envelope.
func (a answerOf) one() map[string]any {
	for _, k := range []string{"campaign", "creative", "source_change", "image", "data", "api_key"} {
		if m := asMap(a.body[k]); m != nil {
			return m
		}
	}
	return a.body
}

// callWith calls the API with a key.
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

// tell calls the API with the key that may write.
func tell(t testing.TB, s *Service, method, path, sent string) answerOf {
	t.Helper()
	return callWith(t, s, s.Cfg.WriteKey, method, path, sent)
}

// must200 is tell for what must go well.
func mustTell(t testing.TB, s *Service, method, path, sent string) map[string]any {
	t.Helper()
	a := tell(t, s, method, path, sent)
	if a.status/100 != 2 {
		t.Fatalf("%s %s %s: %d %v", method, path, sent, a.status, a.body)
	}
	return a.one()
}

// refusedAs checks an error body: status, code, and the field it names.
func refusedAs(t testing.TB, what string, a answerOf, status int, code, field string) {
	t.Helper()
	if a.status != status || a.code() != code || a.field() != field || a.message() == "" ||
		!strings.HasPrefix(str(asMap(a.body["error"])["request_id"]), "req_") {
		t.Errorf("%s: got %d %v, want %d %s %q", what, a.status, a.body, status, code, field)
	}
}

const (
	plainCampaign = `{"name":"Fresh","audience":{},"default_bid":0.5,"daily_spend_limit":200}`
	anyText       = `"title":"T","message":"M","link":"https://x.example/?s=<<source_id>>"`
)

// newCampaign makes a campaign through the API and gives its ID.
func newCampaign(t testing.TB, s *Service) string {
	t.Helper()
	return str(mustTell(t, s, "POST", "/v1/campaigns", plainCampaign)["id"])
}

// iconID uploads an icon and gives its ID.
func iconID(t testing.TB, s *Service) string {
	t.Helper()
	return str(mustTell(t, s, "POST", "/v1/images", upload("icon", pngOf(300, 300), "image/png"))["id"])
}

// newCreative makes a creative in review through the API and gives its ID.
func newCreative(t testing.TB, s *Service, campaignID string) string {
	t.Helper()
	a := tell(t, s, "POST", "/v1/campaigns/"+campaignID+"/creatives", `{"creatives":[{`+anyText+`,"icon_id":"`+
		iconID(t, s)+`"}]}`)
	if a.status != 201 {
		t.Fatalf("creative: %d %v", a.status, a.body)
	}
	return str(asMap(list(a.body["creatives"])[0])["id"])
}

func approve(t testing.TB, s *Service, creativeID string) {
	t.Helper()
	if err := s.Review(world.Verdict{Creative: creativeID, Approve: true}); err != nil {
		t.Fatal(err)
	}
}
