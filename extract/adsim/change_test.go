package adsim

import (
	"encoding/json"
	"maps"
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
