package adsim

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

// noon is 14:00 in Chicago on a November day without a clock change.
var noon = time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC)

const (
	yesterday = "2026-11-20"
	allDay    = "date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions"
)

// sim returns a small service whose clock stands at noon.
func sim(cfg config.Config) *Service {
	if cfg.RowsPerDay == 0 {
		cfg.RowsPerDay = 600
	}
	s := New(cfg)
	s.SetNow(noon)
	return s
}

// ask sends a request to the report with valid credentials.
func ask(t testing.TB, s *Service, query string) (int, http.Header, []byte) {
	t.Helper()
	return do(t, s, "GET", "http://sim"+wire.ReportPrefix+"/ads/spend-report?"+query, func(r *http.Request) {
		r.SetBasicAuth(config.DefaultUser, config.DefaultPassword)
	})
}

func do(t testing.TB, s *Service, method, target string, edit func(*http.Request)) (int, http.Header, []byte) {
	t.Helper()
	return doWith(t, s, method, target, "", edit)
}

func doWith(t testing.TB, s *Service, method, target, sent string, edit func(*http.Request)) (int, http.Header,
	[]byte) {
	t.Helper()
	req, err := http.NewRequest(method, target, strings.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(req)
	}
	resp, err := s.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}

type reportReply struct {
	Columns    []string                     `json:"columns"`
	Data       []map[string]json.RawMessage `json:"data"`
	Pagination map[string]int               `json:"pagination"`
}

// reportOf returns the decoded reply to a request to the report, which must succeed.
func reportOf(t testing.TB, s *Service, query string) reportReply {
	t.Helper()
	status, _, body := ask(t, s, query)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", query, status, body)
	}
	var r reportReply
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("%s: %v in %s", query, err, head(body))
	}
	return r
}

// allPages returns the rows of all pages.
func allPages(t testing.TB, s *Service, query string) []map[string]json.RawMessage {
	t.Helper()
	var rows []map[string]json.RawMessage
	for page := 1; ; page++ {
		r := reportOf(t, s, query+"&page="+itoa(page))
		rows = append(rows, r.Data...)
		if page >= r.Pagination["total_pages"] {
			return rows
		}
	}
}

func oneDay(date string) string { return "start_date=" + date + "&end_date=" + date }

func finest(date string) string {
	return oneDay(date) + "&include_creatives=true&columns=" + allDay
}

func text(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	if raw == nil || string(raw) == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s is not a text: %v", raw, err)
	}
	return s
}

// millionths parses an exact decimal of at most six places.
func millionths(t testing.TB, s string) int64 {
	t.Helper()
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 6 || strings.ContainsAny(s, "eE") {
		t.Fatalf("%s is not an exact decimal of six places", s)
	}
	frac += strings.Repeat("0", 6-len(frac))
	var n int64
	for _, c := range strings.TrimPrefix(whole, "-") + frac {
		if c < '0' || c > '9' {
			t.Fatalf("%s is not a decimal", s)
		}
		n = n*10 + int64(c-'0')
	}
	if strings.HasPrefix(s, "-") {
		n = -n
	}
	return n
}

func number(t testing.TB, raw json.RawMessage) int64 {
	t.Helper()
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil {
		t.Fatalf("%s is not a count: %v", raw, err)
	}
	return n
}

func lineOf(t testing.TB, m map[string]json.RawMessage) ledger.Line {
	t.Helper()
	return ledger.Line{
		Date: text(t, m["date"]), CampaignID: text(t, m["campaign_id"]), CampaignName: text(t, m["campaign_name"]),
		CreativeID: text(t, m["creative_id"]), SourceID: text(t, m["source_id"]),
		Measures: ledger.Measures{
			Spend: millionths(t, string(m["total_spend"])), Clicks: number(t, m["clicks"]),
			Impressions: number(t, m["impressions"]), Conversions: number(t, m["conversions"]),
		},
	}
}

func lines(t testing.TB, rows []map[string]json.RawMessage) []ledger.Line {
	t.Helper()
	out := make([]ledger.Line, len(rows))
	for i, m := range rows {
		out[i] = lineOf(t, m)
	}
	return out
}

func truth(s *Service, date string) []ledger.Line { return slices.Collect(s.Truth(date)) }

func total(list []ledger.Line) (sum ledger.Sum) {
	for _, l := range list {
		sum.Rows++
		sum.Add(l.Measures)
	}
	return sum
}

func diff(t testing.TB, got, want []ledger.Line) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d lines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func itoa(n int) string { return string(json.RawMessage(must(json.Marshal(n)))) }

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func head(b []byte) string { return string(b[:min(len(b), 300)]) }

func str(v any) string { s, _ := v.(string); return s }

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
