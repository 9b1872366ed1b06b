package adsim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

const cfgPause = 5 * time.Second

func creativeNowOf(t testing.TB, s *Service, id string) map[string]any {
	t.Helper()
	return mustTell(t, s, "GET", "/v1/creatives/"+id, "")
}

func TestReview_RejectsBadTexts(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, ReviewTakes: time.Minute})
	id := newCampaign(t, s)
	cr := newCreative(t, s, id)
	mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"Guaranteed miracle"}`)
	s.Advance(time.Minute)
	got := creativeNowOf(t, s, cr)
	if got["status"] != "rejected" || len(list(got["rejection_reasons"])) != 1 ||
		!strings.Contains(str(got["rejection_comment"]), "miracle") {
		t.Errorf("got %v", got)
	}
	if got := settingsOf(t, s, id).DeliveryStatus; got != "all_creatives_rejected" {
		t.Errorf("the campaign is %s", got)
	}
	refusedAs(t, "activate", tell(t, s, "POST", "/v1/creatives/"+cr+"/status", `{"status":"active"}`), 409,
		"conflict", "")
	mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"Good"}`)
	if got := creativeNowOf(t, s, cr); got["status"] != "pending_review" || got["title"] != "Good" {
		t.Errorf("resubmitted: %v", got)
	}
	s.Advance(time.Minute)
	if got := creativeNowOf(t, s, cr); got["status"] != "active" || got["rejection_reasons"] != nil {
		t.Errorf("got %v", got)
	}
}

func TestReview_OnCommand(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, ReviewTakes: -1, Control: true})
	cr := newCreative(t, s, newCampaign(t, s))
	s.Advance(1000 * time.Hour)
	if got := creativeNowOf(t, s, cr)["status"]; got != "pending_review" {
		t.Errorf("nobody said so: %v", got)
	}
	for _, bad := range []world.Verdict{{Creative: "C1234567-001", Approve: true}, {Creative: cr}, {Creative: "x"}} {
		if err := s.Review(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if status, got := order(t, s, "POST", "review", `{"creative":"`+cr+`","approve":false,"reasons":["nudity"],`+
		`"comment":"No."}`); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	if got := creativeNowOf(t, s, cr); got["status"] != "rejected" || got["rejection_comment"] != "No." ||
		strs(got["rejection_reasons"])[0] != "nudity" {
		t.Errorf("got %v", got)
	}
	if err := s.Review(world.Verdict{Creative: cr, Approve: true}); err == nil {
		t.Error("what does not wait is reviewed")
	}
	// A creative that came by itself can be reviewed on command too.
	for _, id := range s.CampaignIDs() {
		for _, c := range settingsOf(t, s, id).Creatives {
			if c.Status == "pending_review" && c.CreativeID != cr {
				approve(t, s, c.CreativeID)
				if got := creativeNowOf(t, s, c.CreativeID)["status"]; got != "active" {
					t.Errorf("got %v", got)
				}
			}
		}
	}
}

func TestUpdateCreative_OfARunningOneIsAVersion(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, ReviewTakes: -1})
	id := newCampaign(t, s)
	cr := newCreative(t, s, id)
	approve(t, s, cr)
	for _, status := range []string{"active", "paused"} {
		mustTell(t, s, "POST", "/v1/creatives/"+cr+"/status", `{"status":"`+status+`"}`)
		was := creativeNowOf(t, s, cr)
		got := mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"New `+status+`"}`)
		pending := asMap(got["pending_version"])
		if got["title"] != was["title"] || got["status"] != status || pending["title"] != "New "+status ||
			pending["status"] != "pending_review" {
			t.Errorf("%s: got %v", status, got)
		}
		got = mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"message":"Also"}`)
		if p := asMap(got["pending_version"]); p["title"] != "New "+status || p["message"] != "Also" {
			t.Errorf("%s: the second change forgets the first: %v", status, p)
		}
		if err := s.Review(world.Verdict{Creative: cr, Reasons: []string{"x"}, Comment: "No"}); err != nil {
			t.Fatal(err)
		}
		got = creativeNowOf(t, s, cr)
		if p := asMap(got["pending_version"]); got["title"] != was["title"] || got["status"] != status ||
			p["status"] != "rejected" || p["rejection_comment"] != "No" {
			t.Errorf("%s: a rejected version: %v", status, got)
		}
		mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"Newer `+status+`"}`)
		approve(t, s, cr)
		if got = creativeNowOf(t, s, cr); got["title"] != "Newer "+status || got["status"] != status ||
			got["pending_version"] != nil {
			t.Errorf("%s: an approved version: %v", status, got)
		}
	}
	asServed(t, s, id)
}

func TestCloneCampaign_CopiesSettingsAndNewestCreatives(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, CreativesPerCampaign: 30, ReviewTakes: -1,
		ChangeBudgets: map[string]int{world.CreativeCreate: 1000}})
	for _, id := range running(t, s)[:4] {
		was := settingsOf(t, s, id)
		var wanted []string
		for _, c := range was.Creatives {
			if (c.Status == "active" || c.Status == "paused" || c.Status == "pending_review") && len(wanted) < 20 {
				wanted = append(wanted, c.Title+"|"+c.Message+"|"+c.IconID)
			}
		}
		a := tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"Copy"}`)
		got := settingsOf(t, s, a.id())
		if a.status != 201 || got.Status != "paused" || got.Name != "Copy" ||
			len(list(a.one()["cloned_creative_ids"])) != len(wanted) {
			t.Errorf("%d %v", a.status, a.body)
		}
		var copies []string
		for _, c := range got.Creatives {
			copies = append(copies, c.Title+"|"+c.Message+"|"+c.IconID)
			if c.Status != "pending_review" {
				t.Errorf("a copy is %s", c.Status)
			}
		}
		if !slices.Equal(copies, wanted) {
			t.Errorf("%s: got %v, want %v", id, copies, wanted)
		}
		got.CampaignID, got.Name, got.Status, got.DeliveryStatus, got.CreatedAt, got.Creatives = was.CampaignID,
			was.Name, was.Status, was.DeliveryStatus, was.CreatedAt, was.Creatives
		if d := differing(t, was, got); len(d) > 0 {
			t.Errorf("%s: %v", id, d)
		}
		asServed(t, s, a.id())
	}
	id := running(t, s)[0]
	a := tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"Bare","include_creatives":false,`+
		`"status":"active","daily_spend_limit":123}`)
	if got := settingsOf(t, s, a.id()); len(got.Creatives) > 0 || got.Status != "active" ||
		got.DailySpendLimit != "123.000000" {
		t.Errorf("got %+v", got)
	}
	change(t, s, Change{Campaign: id, Set: map[string]any{"daily_spend_limit": nil}})
	refusedAs(t, "no limit", tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"x"}`), 400, "validation_failed",
		"daily_spend_limit")
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"x","include_creatives":false,`+
		`"daily_spend_limit":100}`)
	refusedAs(t, "archived", tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"x","status":"archived"}`), 400,
		"validation_failed", "status")
	refusedAs(t, "no name", tell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{}`), 400, "validation_failed", "name")
}
