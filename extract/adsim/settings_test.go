package adsim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
)

// asServed checks the settings of a campaign against what the API says of it.
func asServed(t testing.TB, s *Service, id string) {
	t.Helper()
	want := settingsOf(t, s, id)
	if got := served(t, s, id); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v\nwant %+v", id, got, want)
	}
}

// served puts settings together from single reads.
func served(t testing.TB, s *Service, id string) ledger.Settings {
	t.Helper()
	m := objectAt(t, s, "/v1/campaigns/"+id, "campaign", "data")
	src := objectAt(t, s, "/v1/campaigns/"+id+"/sources", "source_settings", "data")
	audience := m["audience"].(map[string]any)
	out := ledger.Settings{
		CampaignID: str(either(m, "id", "campaign_id")), Name: str(m["name"]), Status: str(m["status"]),
		DeliveryStatus: str(m["delivery_status"]),
		DefaultBid:     amount(t, m["default_bid"]), DailySpendLimit: amount(t, m["daily_spend_limit"]),
		TargetCPA: amount(t, m["target_cpa"]),
		StartDate: str(m["start_date"]), EndDate: str(m["end_date"]), CreatedAt: str(m["created_at"]),
		Audience: market.Audience{
			Country: str(audience["country"]), States: strs(audience["states"]), Platforms: strs(audience["platforms"]),
			SubscribedMoreThan: count(t, audience["subscribed_more_than_minutes_ago"]), SubscribedLessThan: count(t,
				audience["subscribed_less_than_minutes_ago"]),
			MinAge: count(t, audience["min_age"]), MaxAge: count(t, audience["max_age"]),
			Gender: str(audience["gender"]), UnsupportedTargeting: audience["unsupported_targeting"] == true,
		},
		SourceMode: str(src["mode"]), Allowed: append([]string{}, strs(src["allowed_source_ids"])...),
		Blocked: append([]string{}, strs(src["blocked_source_ids"])...),
		Bids:    map[string]string{},
	}
	if m["source_targeting_mode"] != src["mode"] {
		t.Errorf("%s: %v, and %v in the sources", id, m["source_targeting_mode"], src["mode"])
	}
	switch bids := src["bid_overrides"].(type) {
	case map[string]any:
		for k, v := range bids {
			out.Bids[k] = amount(t, v)
		}
	case []any:
		for _, b := range bids {
			out.Bids[str(b.(map[string]any)["source_id"])] = amount(t, b.(map[string]any)["bid"])
		}
	}
	const all = "status=active,paused,pending_review,rejected,draft,archived&limit=100"
	_, _, body := callAPI(t, s, "/v1/campaigns/"+id+"/creatives?"+all)
	for _, e := range unwrap(precise(t, body), "creatives", "data", "items").([]any) {
		c := e.(map[string]any)
		out.Creatives = append(out.Creatives, ledger.CreativeSettings{
			CreativeID: str(either(c, "id", "creative_id")), CampaignID: str(c["campaign_id"]),
			Title: str(c["title"]), Message: str(c["message"]), Link: str(c["link"]), ImageID: str(c["image_id"]),
			IconID:  str(c["icon_id"]),
			Button1: str(c["button1"]), Button2: str(c["button2"]), Status: str(c["status"]),
			RejectionReasons: strs(c["rejection_reasons"]), RejectionComment: str(c["rejection_comment"]),
			CreatedAt: str(c["created_at"]),
		})
	}
	return out
}

func objectAt(t testing.TB, s *Service, path string, envelopes ...string) map[string]any {
	t.Helper()
	status, _, body := callAPI(t, s, path)
	if status != 200 {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return unwrap(precise(t, body), envelopes...).(map[string]any)
}

// precise decodes without a float.
func precise(t testing.TB, body []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, head(body))
	}
	return v
}

// either is the member under the one key or the other.
func either(m map[string]any, one, other string) any {
	if v, has := m[one]; has {
		return v
	}
	return m[other]
}

func str(v any) string { s, _ := v.(string); return s }

func strs(v any) []string {
	var out []string
	for _, e := range list(v) {
		out = append(out, str(e))
	}
	return out
}

func amount(t testing.TB, v any) string {
	t.Helper()
	if v == nil {
		return ""
	}
	return string(money.AppendFixed(nil, millionths(t, string(v.(json.Number)))))
}

func count(t testing.TB, v any) int {
	t.Helper()
	if v == nil {
		return 0
	}
	n, err := v.(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func TestSettings_AreWhatTheAPIShows(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, Campaigns: 9})
	for _, id := range s.CampaignIDs() {
		asServed(t, s, id)
	}
}
