package adsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
)

// running finds campaigns that are active, newest first.
func running(t testing.TB, s *Service) []string {
	t.Helper()
	var ids []string
	for _, id := range s.CampaignIDs() {
		if settingsOf(t, s, id).Status == "active" {
			ids = append(ids, id)
		}
	}
	return ids
}

func settingsOf(t testing.TB, s *Service, id string) ledger.Settings {
	t.Helper()
	out, err := s.Settings(id)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func change(t testing.TB, s *Service, c Change) {
	t.Helper()
	if err := s.Change(c); err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, s *Service, c Change) string {
	t.Helper()
	id, err := s.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// flat is settings by name, those of the audience with a dot.
func flat(t testing.TB, v any) map[string]string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(must(json.Marshal(v)), &m); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, raw := range m {
		if k == "audience" {
			for name, v := range flat(t, raw) {
				out["audience."+name] = v
			}
			continue
		}
		out[k] = strings.Trim(string(raw), `"`)
	}
	return out
}

// differing is what of two settings is not the same, with what it is in the second.
func differing(t testing.TB, was, is any) map[string]string {
	t.Helper()
	a, out := flat(t, was), flat(t, is)
	maps.DeleteFunc(out, func(k, v string) bool { return a[k] == v })
	return out
}

func TestChange_OfACampaignChangesWhatItNamesAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]any
		want map[string]string
	}{
		{"name", map[string]any{"name": "Winter \"1\" <&> ❄"},
			map[string]string{"name": `Winter \"1\" \u003c\u0026\u003e ❄`}},
		{"status/paused", map[string]any{"status": "paused"}, map[string]string{"status": "paused",
			"delivery_status": "paused"}},
		{"status/archived", map[string]any{"status": "archived"}, map[string]string{"status": "archived",
			"delivery_status": "archived"}},
		{"default_bid/text", map[string]any{"default_bid": "1.234567"}, map[string]string{"default_bid": "1.234567"}},
		{"default_bid/number", map[string]any{"default_bid": json.Number("24.99")},
			map[string]string{"default_bid": "24.990000"}},
		{"default_bid/float", map[string]any{"default_bid": 2.3}, map[string]string{"default_bid": "2.300000"}},
		{"daily_spend_limit", map[string]any{"daily_spend_limit": 1_000_000},
			map[string]string{"daily_spend_limit": "1000000.000000"}},
		{"daily_spend_limit/none", map[string]any{"daily_spend_limit": nil},
			map[string]string{"daily_spend_limit": ""}},
		{"target_cpa", map[string]any{"target_cpa": "77.7"}, map[string]string{"target_cpa": "77.700000"}},
		{"start_date", map[string]any{"start_date": "2027-01-02T03:04:05.5+01:00"},
			map[string]string{"start_date": "2027-01-02T02:04:05.5Z", "delivery_status": "scheduled"}},
		{"end_date", map[string]any{"end_date": time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
			map[string]string{"end_date": "2028-02-29T00:00:00Z"}},
		{"delivery_status", map[string]any{"delivery_status": "waiting_for_funds"},
			map[string]string{"delivery_status": "waiting_for_funds"}},
		{"several", map[string]any{"name": "Both", "default_bid": "3"}, map[string]string{"name": "Both",
			"default_bid": "3.000000"}},
		{"the same", map[string]any{"status": "active"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sim(config.Config{RateLimit: -1})
			id, other := running(t, s)[0], running(t, s)[1]
			change(t, s, Change{Campaign: id, Set: map[string]any{"target_cpa": nil, "delivery_status": nil}})
			was, wasOther := settingsOf(t, s, id), settingsOf(t, s, other)
			change(t, s, Change{Campaign: id, Set: c.set})
			if got := differing(t, was, settingsOf(t, s, id)); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := differing(t, wasOther, settingsOf(t, s, other)); len(got) > 0 {
				t.Errorf("another campaign: %v", got)
			}
			asServed(t, s, id)
		})
	}
}

func TestChange_OfACreativeChangesWhatItNamesAndNothingElse(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id := running(t, s)[0]
	creative := func(creativeID string) ledger.CreativeSettings {
		list := settingsOf(t, s, id).Creatives
		return list[slices.IndexFunc(list, func(c ledger.CreativeSettings) bool { return c.CreativeID == creativeID })]
	}
	cr := settingsOf(t, s, id).Creatives[len(settingsOf(t, s, id).Creatives)-1].CreativeID
	change(t, s, Change{Creative: cr, Set: map[string]any{"status": "active", "button1": "One", "button2": "Two",
		"image_id": strings.Repeat("a", 24)}})
	for _, c := range []struct {
		set  map[string]any
		want map[string]string
	}{
		{map[string]any{"title": "T"}, map[string]string{"title": "T"}},
		{map[string]any{"message": "M ✓"}, map[string]string{"message": "M ✓"}},
		{map[string]any{"link": "http://x"}, map[string]string{"link": "http://x"}},
		{map[string]any{"image_id": nil}, map[string]string{"image_id": ""}},
		{map[string]any{"icon_id": strings.Repeat("0f", 12)}, map[string]string{"icon_id": strings.Repeat("0f", 12)}},
		{map[string]any{"button1": nil, "button2": "2"}, map[string]string{"button1": "", "button2": "2"}},
		{map[string]any{"status": "rejected", "rejection_reasons": []string{"b", "a"}, "rejection_comment": "No."},
			map[string]string{"status": "rejected", "rejection_reasons": `["b","a"]`, "rejection_comment": "No."}},
		{map[string]any{"rejection_comment": ""}, map[string]string{"rejection_comment": ""}},
		{map[string]any{"status": "paused"}, map[string]string{"status": "paused", "rejection_reasons": "null"}},
	} {
		was := creative(cr)
		change(t, s, Change{Creative: cr, Set: c.set})
		if got := differing(t, was, creative(cr)); !maps.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.set, got, c.want)
		}
		asServed(t, s, id)
	}
	change(t, s, Change{Creative: cr, Set: map[string]any{"status": "archived"}})
	if len(objects(unwrap(fetchJSON(t, s, "/v1/campaigns/"+id+"/creatives?status=archived&limit=100"),
		"creatives"))) == 0 {
		t.Error("the archived creative is not among the archived")
	}
}

func TestChange_OfSources(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id := create(t, s, Change{})
	good, bad := s.GoodSources(), s.BadSources()
	for _, c := range []struct {
		change SourceChange
		want   map[string]string
	}{
		{SourceChange{Block: []string{bad[1], bad[0]}},
			map[string]string{"blocked_source_ids": fmt.Sprintf(`["%s","%s"]`, bad[0], bad[1])}},
		{SourceChange{Unblock: bad[:1], Block: bad[2:3]},
			map[string]string{"blocked_source_ids": fmt.Sprintf(`["%s","%s"]`, bad[1], bad[2])}},
		{SourceChange{Bids: map[string]any{good[0]: "0.75", good[1]: 0.1}},
			map[string]string{"bid_overrides": bidsText(good[0], "0.750000", good[1], "0.100000")}},
		{SourceChange{Bids: map[string]any{good[0]: nil, good[1]: "25"}},
			map[string]string{"bid_overrides": bidsText(good[1], "25.000000")}},
		{SourceChange{Mode: "allow_list", Allow: good[:2]},
			map[string]string{"source_targeting_mode": "allow_list",
				"blocked_source_ids": "[]", "allowed_source_ids": fmt.Sprintf(`["%s","%s"]`, good[0], good[1])}},
		{SourceChange{Disallow: good[:1]}, map[string]string{"allowed_source_ids": `["` + good[1] + `"]`}},
		{SourceChange{Mode: "block_list"}, map[string]string{"source_targeting_mode": "block_list",
			"allowed_source_ids": "[]", "blocked_source_ids": fmt.Sprintf(`["%s","%s"]`, bad[1], bad[2])}},
		{SourceChange{Unblock: bad[1:3]}, map[string]string{"blocked_source_ids": "[]"}},
	} {
		was := settingsOf(t, s, id)
		change(t, s, Change{Campaign: id, Sources: &c.change})
		if got := differing(t, was, settingsOf(t, s, id)); !maps.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.change, got, c.want)
		}
		asServed(t, s, id)
	}
}

func bidsText(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return string(must(json.Marshal(m)))
}

func TestChange_HidesAndShows(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	for _, id := range []string{running(t, s)[0], create(t, s, Change{Set: map[string]any{"name": "Made"}})} {
		listed := func() (yes bool) {
			return slices.ContainsFunc(campaignsOf(t, s, everyStatus), func(c map[string]any) bool {
				return c["id"] == id
			})
		}
		cr := create(t, s, Change{Campaign: id})
		was := settingsOf(t, s, id)
		reads := []string{"/v1/campaigns/" + id, "/v1/campaigns/" + id + "/creatives", "/v1/campaigns/" + id +
			"/sources", "/v1/creatives/" + cr}
		for _, c := range []struct {
			do     ledger.Action
			listed bool
			status int
		}{{ledger.Hide, false, 404}, {ledger.Show, true, 200}, {ledger.Unlist, false, 200}, {ledger.Hide, false, 404},
			{ledger.Show, true, 200}} {
			change(t, s, Change{Campaign: id, Do: c.do})
			if listed() != c.listed {
				t.Errorf("%s: listed is %v", c.do, listed())
			}
			for _, path := range reads {
				if status, _, body := callAPI(t, s, path); status != c.status {
					t.Errorf("%s: %s is %d %s", c.do, path, status, body)
				}
			}
			want := c.do
			if want == ledger.Show {
				want = ""
			}
			if got := settingsOf(t, s, id); got.Hidden != want || got.Name != was.Name {
				t.Errorf("%s: %+v", c.do, got)
			}
		}
		if got := settingsOf(t, s, id); !reflect.DeepEqual(got, was) {
			t.Errorf("shown again: %v", differing(t, was, got))
		}
		for do, status := range map[ledger.Action]int{ledger.Hide: 404, ledger.Unlist: 200} {
			change(t, s, Change{Creative: cr, Do: do})
			if got, _, _ := callAPI(t, s, "/v1/creatives/"+cr); got != status {
				t.Errorf("%s: %d", do, got)
			}
			_, _, body := callAPI(t, s, "/v1/campaigns/"+id+"/creatives?limit=100")
			if strings.Contains(string(body), cr) {
				t.Errorf("%s: listed", do)
			}
		}
	}
}

func TestChange_LeavesTheReportAlone(t *testing.T) {
	s := sim(config.Config{})
	lines := truth(s, yesterday)
	_, _, page := ask(t, s, oneDay(yesterday)+"&include_creatives=true")
	l := lines[len(lines)/2]
	change(t, s, Change{Campaign: l.CampaignID, Set: map[string]any{"name": "Other", "status": "paused",
		"default_bid": "5"}, Force: true})
	change(t, s,
		Change{Creative: l.CreativeID, Set: map[string]any{"title": "Other", "status": "paused"}, Force: true})
	change(t, s, Change{Campaign: l.CampaignID, Do: ledger.Hide})
	create(t, s, Change{})
	if !slices.Equal(truth(s, yesterday), lines) {
		t.Error("the truth has changed")
	}
	if _, _, now := ask(t, s, oneDay(yesterday)+"&include_creatives=true"); string(now) != string(page) {
		t.Error("the report has changed")
	}
}
