package adsim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/variations"
	"spendsync/extract/adsim/wire"
)

// questions returns requests of each kind that quirks affect.
func questions(campaigns []string) []string {
	days := "start_date=2026-11-16&end_date=2026-11-16" // the fifth day before today
	reach := "start_date=2026-10-20&end_date=2026-11-20"
	report, api := wire.ReportPrefix+"/ads/spend-report?", wire.APIPrefix+"/v1/"
	list := []string{
		report + days + "&include_creatives=true&page_size=6000&columns=" + allDay,
		report + oneDay(yesterday) + "&include_creatives=true&page_size=25&columns=" + allDay,
		report + oneDay("2026-11-21") + "&include_creatives=true&columns=" + allDay,
		report + oneDay("2026-11-21") + "&include_creatives=true&page_size=10&page=2&columns=" + allDay,
		report + oneDay(yesterday) + "&include_creatives=true&columns=" + allDay + "&campaign_id=" + campaigns[0],
		report + days + "&columns=date,total_spend,clicks",
		report + reach + "&columns=date,total_spend,clicks",
		report + reach + "&include_creatives=true&columns=campaign_id,creative_id,creative_title,creative_message",
		report + oneDay("2026-10-20") + "&include_creatives=true&columns=" + allDay, // the last day of the reach
		api + "me", api + "limits", api + "balance",
		api + "campaigns?limit=100&status=active,paused,archived,rejected",
		api + "campaigns?limit=100&offset=3&status=active,paused,archived,rejected",
		report + oneDay("2026-11-22") + "&include_creatives=true&columns=" + allDay, // tomorrow has no rows
	}
	for _, id := range campaigns {
		list = append(list, api+"campaigns/"+id, api+"campaigns/"+id+"/creatives", api+"campaigns/"+id+"/sources")
	}
	return list
}

// raw sends a GET request with valid credentials.
func raw(t *testing.T, s *Service, target string) (status int, header http.Header, body []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://sim"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if req.Header.Set("Authorization", "Bearer "+config.DefaultKey); strings.HasPrefix(target, wire.ReportPrefix) {
		req.SetBasicAuth(config.DefaultUser, config.DefaultPassword)
	}
	resp, err := s.Transport().RoundTrip(req)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return resp.StatusCode, resp.Header, body
}

var creativeID = regexp.MustCompile(`C[0-9]+-[0-9]+`)

// everything returns the replies to all questions. There are enough campaigns for several pages of a list, and one
// campaign has an audience, creatives and sources.
func everything(t *testing.T, s *Service, campaigns []string) []string {
	t.Helper()
	var all []string
	asked := questions(campaigns)
	for _, id := range campaigns { // also ask for a single creative
		_, _, body := raw(t, s, wire.APIPrefix+"/v1/campaigns/"+id+"/creatives?limit=1")
		if m := creativeID.FindString(string(body)); m != "" {
			asked = append(asked, wire.APIPrefix+"/v1/creatives/"+m)
			break
		}
	}
	for _, q := range asked {
		status, header, body := raw(t, s, q)
		header.Del("Set-Cookie")
		all = append(all, fmt.Sprintf("%s\n%d %v\n%s", q, status, header, body))
	}
	return all
}

func quirkSim() *Service {
	return sim(config.Config{Campaigns: 9, CreativesPerCampaign: 6, Sources: 60, RowsPerDay: 60, RateLimit: -1})
}

// TestQuirks_EachChangesWhatItSays: each quirk changes at least one reply, only replies of its interface, and leaves
// valid JSON.
func TestQuirks_EachChangesWhatItSays(t *testing.T) {
	s := quirkSim()
	all := s.CampaignIDs()
	plain := everything(t, s, all)
	names := map[string]bool{}
	for _, q := range variations.Quirks() {
		if names[q.Name] || q.Doc == "" || strings.ToLower(q.Name) != q.Name || strings.ContainsAny(q.Name, ", ") {
			t.Errorf("%q is no name of its own, or has no line: %q", q.Name, q.Doc)
		}
		names[q.Name] = true
		if err := s.SetQuirks(q.Name); err != nil {
			t.Fatal(err)
		}
		changed := map[bool]bool{}
		for i, got := range everything(t, s, all) {
			if got == plain[i] {
				continue
			}
			onReport := strings.HasPrefix(got, wire.ReportPrefix)
			changed[onReport] = true
			// today-restated also changes the balance.
			if onReport && !q.Report || !onReport && !q.API && q.Name != "today-restated" {
				t.Errorf("%s changes %.100s", q.Name, got)
			}
			body := []byte(got[strings.Index(got, "]\n")+2:])
			if !json.Valid(body) && !slices.Contains([]string{"bom"}, q.Name) {
				t.Errorf("%s: not JSON: %.300s", q.Name, got)
			}
		}
		if len(changed) == 0 {
			t.Errorf("%s changes nothing", q.Name)
		}
		if err := s.Restate("2026-11-21", Restatement{Kind: "restore"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 35 {
		t.Errorf("%d quirks", len(names))
	}
	if err := s.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, s, all); !slices.Equal(got, plain) {
		t.Error("without quirks the replies are not as before")
	}
}
