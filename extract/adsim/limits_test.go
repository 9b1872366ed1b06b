package adsim

import (
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

func limitsOf(t testing.TB, s *Service) []map[string]any {
	t.Helper()
	return objects(tell(t, s, "GET", "/v1/limits", "").body["limits"])
}

func TestBudget_IsUsedUpAndResetsAtMidnightUTC(t *testing.T) {
	s := sim(
		config.Config{
			RateLimit:   -1,
			ReviewTakes: -1,
			ChangeBudgets: map[string]int{world.CampaignCreate: 2, world.CampaignUpdate: 1,
				world.CreativeCreate: 2, world.CreativeUpdate: 1, world.SourceUpdate: 3, world.ImageUpload: 1},
		},
	)
	id := newCampaign(t, s)
	icon := iconID(t, s)
	cr := objects(tell(t, s, "POST", "/v1/campaigns/"+id+"/creatives", `{"creatives":[{`+anyText+`,"icon_id":"`+icon+
		`"}]}`).body["creatives"])[0]["id"].(string)
	approve(t, s, cr)
	good := s.GoodSources()
	newCampaign(t, s)
	mustTell(t, s, "POST", "/v1/creatives/"+cr+"/clone", `{"draft":true}`)
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"name":"x"}`)
	mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"x"}`)
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/sources/block", idsBody(good[:2], ""))
	over := map[string]func() answerOf{
		"create": func() answerOf { return tell(t, s, "POST", "/v1/campaigns", plainCampaign) },
		"clone":  func() answerOf { return tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"x"}`) },
		"update": func() answerOf { return tell(t, s, "PATCH", "/v1/campaigns/"+id, `{"name":"y"}`) },
		"archive": func() answerOf {
			return tell(t, s, "POST", "/v1/campaigns/"+id+"/status",
				`{"status":"archived"}`)
		},
		"creatives": func() answerOf {
			return tell(t, s, "POST", "/v1/campaigns/"+id+"/creatives", `{"draft":true,"creatives":[{"title":"x"}]}`)
		},
		"clone creative":  func() answerOf { return tell(t, s, "POST", "/v1/creatives/"+cr+"/clone", ``) },
		"update creative": func() answerOf { return tell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"x"}`) },
		"bids": func() answerOf {
			return tell(t, s, "POST", "/v1/campaigns/"+id+"/sources/bids", idsBody(good[:2], `,"bid":0.5`))
		},
		"image": func() answerOf {
			return tell(t, s, "POST", "/v1/images", upload("icon", pngOf(10, 10),
				"image/png"))
		},
	}
	for what, f := range over {
		a := f()
		refusedAs(t, what, a, 429, "rate_limited", "")
		if a.header.Get("Retry-After") != "14400" { // noon is 20:00 UTC
			t.Errorf("%s: wait %s", what, a.header.Get("Retry-After"))
		}
	}
	// Pausing is never limited.
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"paused"}`)
	mustTell(t, s, "POST", "/v1/creatives/"+cr+"/status", `{"status":"paused"}`)
	for _, b := range limitsOf(t, s) {
		want := float64(s.BudgetOf(str(b["kind"])))
		if b["kind"] == world.SourceUpdate {
			want = 2
		}
		if b["used"] != want || b["resets_at"] != "2026-11-22T00:00:00Z" {
			t.Errorf("got %v, want %v used", b, want)
		}
	}
	s.Advance(4*time.Hour - 1)
	if a := over["update"](); a.status != 429 || a.header.Get("Retry-After") != "1" {
		t.Errorf("a moment early: %d", a.status)
	}
	s.Advance(1)
	for _, b := range limitsOf(t, s) {
		if b["used"] != 0.0 || b["resets_at"] != "2026-11-23T00:00:00Z" {
			t.Errorf("the next day: %v", b)
		}
	}
	for _, what := range []string{"create", "update", "creatives", "update creative", "bids", "image"} {
		if a := over[what](); a.status/100 != 2 {
			t.Errorf("%s the next day: %d %v", what, a.status, a.body)
		}
	}
}

func TestUnavailable_PausingStillWorks(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id := newCampaign(t, s)
	s.Fail(wire.Fault{Kind: wire.Unavailable, RetryAfter: "7"})
	for _, a := range []answerOf{tell(t, s, "GET", "/v1/me", ""), tell(t, s, "PATCH", "/v1/campaigns/"+id,
		`{"name":"x"}`), tell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"active"}`)} {
		refusedAs(t, "unavailable", a, 503, "unavailable", "")
		if a.header.Get("Retry-After") != "7" {
			t.Errorf("wait %s", a.header.Get("Retry-After"))
		}
	}
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"paused"}`)
}

func TestUpstreamError_MayHaveGoneThrough(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id := newCampaign(t, s)
	for name, through := range map[string]bool{"Yes": true, "No": false} {
		s.Fail(wire.Fault{Kind: wire.Upstream, Other: through})
		refusedAs(t, name, tell(t, s, "PATCH", "/v1/campaigns/"+id, `{"name":"`+name+`"}`), 502, "upstream_error", "")
		s.ClearFaults()
		if got := settingsOf(t, s, id).Name == name; got != through {
			t.Errorf("%s: changed is %v", name, got)
		}
	}
	s.Fail(wire.Fault{Kind: wire.Status, Status: 500})
	refusedAs(t, "unexpected", tell(t, s, "GET", "/v1/me", ""), 500, "internal_error", "")
}

func TestAccounts_SeeOnlyTheirOwn(t *testing.T) {
	s := sim(
		config.Config{
			RateLimit: -1,
			Accounts: []config.Config{{}, {APIKey: "adv_third", ReportUser: "third@example.com",
				ReportPassword: "p"}},
		},
	)
	second := s.Account(1)
	id, theirs := newCampaign(t, s), str(
		callWith(t, s, config.DefaultWriteKey+"2", "POST", "/v1/campaigns", plainCampaign).
			one()["id"],
	)
	if id == theirs || theirs == "" {
		t.Fatalf("%q and %q", id, theirs)
	}
	if _, err := s.Settings(theirs); err == nil {
		t.Error("one account has the other's campaign")
	}
	cr := settingsOf(t, second, running(t, second)[1]).Creatives[0].CreativeID
	for _, op := range advertiser.Operations() {
		if op.InPath() == "" {
			continue
		}
		path := strings.ReplaceAll(strings.ReplaceAll(op.Path, "{campaign_id}", theirs), "{creative_id}", cr)
		body := map[string]string{"update_campaign": `{"name":"x"}`, "set_campaign_status": `{"status":"paused"}`,
			"clone_campaign": `{"name":"x"}`, "create_creatives": `{"draft":true,"creatives":[{"title":"x"}]}`,
			"update_creative": `{"title":"x"}`, "set_creative_status": `{"status":"paused"}`, "clone_creative": `{}`,
			"set_source_bids": idsBody(s.GoodSources()[:1], `,"bid":0.5`)}[op.Name]
		if body == "" && op.Write() {
			body = idsBody(s.GoodSources()[:1], "")
		}
		refusedAs(t, op.Name, tell(t, s, op.Method, path, body), 404, "not_found", "")
	}
	seen := map[string]bool{}
	for i := range 3 {
		for _, id := range s.Account(i).CampaignIDs() {
			if seen[id] {
				t.Errorf("%s is in two accounts", id)
			}
			seen[id] = true
		}
	}
	ids := map[any]bool{}
	for _, key := range []string{config.DefaultKey, config.DefaultKey + "2", "adv_third"} {
		ids[callWith(t, s, key, "GET", "/v1/me", "").body["advertiser_id"]] = true
	}
	if len(ids) != 3 {
		t.Errorf("advertisers %v", ids)
	}
}

// TestKeys_End: within 14 days of its end each reply warns.
func TestKeys_End(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, KeyExpiresAt: noon.Add(90 * 24 * time.Hour)})
	me := func() answerOf { return callWith(t, s, config.DefaultKey, "GET", "/v1/me", "") }
	if got := me().header; got.Get("Service-Api-Key-Expires-At") != "2027-02-19T20:00:00Z" ||
		got.Get("Service-Api-Key-Expiry-Warning") != "" {
		t.Errorf("%v", got)
	}
	s.Advance(80 * 24 * time.Hour)
	if got := me().header; !strings.Contains(got.Get("Service-Api-Key-Expiry-Warning"), "10 days") {
		t.Errorf("%v", got)
	}
	s.Advance(10 * 24 * time.Hour)
	refusedAs(t, "expired", me(), 401, "unauthorized", "")
}
