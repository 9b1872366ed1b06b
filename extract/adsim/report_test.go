package adsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

func TestReport_RefusesWithTheTextsOfTheDescription(t *testing.T) {
	s := sim(config.Config{})
	ok := oneDay(yesterday)
	for _, c := range []struct {
		name, query string
		status      int
		text        string
	}{
		{"dates/none", "", 400, "Missing required parameters: start_date, end_date"},
		{"dates/one", "start_date=2026-11-20", 400, "Missing required parameters: start_date, end_date"},
		{"dates/format", "start_date=20-11-2026&end_date=2026-11-20", 400, "Invalid date format (expected YYYY-MM-DD)"},
		{"dates/no such day", "start_date=2026-11-20&end_date=2026-11-31", 400, "Invalid date format (expected " +
			"YYYY-MM-DD)"},
		{"dates/short", "start_date=2026-11-2&end_date=2026-11-20", 400, "Invalid date format (expected YYYY-MM-DD)"},
		{"dates/order", "start_date=2026-11-20&end_date=2026-11-19", 400, "start_date must be <= end_date"},
		{"dates/too far", "start_date=2026-10-19&end_date=2026-11-19", 400, "start_date cannot be more than 32 days " +
			"before today"},
		{"dates/the last one", "start_date=2026-10-20&end_date=2026-10-20", 200, ""},
		{"dates/to come", "start_date=2026-11-20&end_date=2030-01-01", 200, ""},
		{"columns/unknown", ok + "&columns=date,colour", 400, "Unknown column: colour"},
		{"columns/twice", ok + "&columns=date,date", 400, "Duplicate column: date"},
		{"columns/of creatives", ok + "&columns=date,impressions", 400, "Column needs include_creatives=true: " +
			"impressions"},
		{"page/0", ok + "&page=0", 400, "Invalid page (expected an integer of 1 or more)"},
		{"page/text", ok + "&page=x", 400, "Invalid page (expected an integer of 1 or more)"},
		{"page/beyond", ok + "&page=99999999999", 200, ""},
		{"page_size/largest", ok + "&page_size=10000", 200, ""},
		{"page_size/larger", ok + "&page_size=10001", 400, "page_size cannot be more than 10000"},
		{"include_creatives/no boolean", ok + "&include_creatives=maybe", 400, "Invalid include_creatives (expected " +
			"true or false)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := ask(t, s, c.query)
			if status != c.status {
				t.Errorf("status: got %d, want %d: %s", status, c.status, head(body))
			}
			if got, want := string(body), fmt.Sprintf("{\"error\":%s}", must(json.Marshal(c.text))); c.text != "" &&
				unescape(got) != unescape(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func unescape(s string) string { return strings.ReplaceAll(s, `\u003c`, "<") }

func TestReport_WantsTheRightCredentials(t *testing.T) {
	target := "http://sim" + wire.ReportPrefix + "/ads/spend-report?" + oneDay(yesterday)
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	for _, c := range []struct {
		name   string
		edit   func(*http.Request)
		status int
		text   string
	}{
		{"none", nil, 401, "Authentication required. Use Basic Auth or Bearer the service."},
		{"bearer", func(r *http.Request) {
			r.Header.Set("Authorization",
				"Bearer "+config.DefaultKey)
		}, 401,
			"Authentication required. Use Basic Auth or Bearer the service."},
		{"wrong password", basic(config.DefaultUser, "x"), 401, "Incorrect username or password"},
		{"wrong user", basic("x", config.DefaultPassword), 401, "Incorrect username or password"},
		{"right", basic(config.DefaultUser, config.DefaultPassword), 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := do(t, sim(config.Config{}), "GET", target, c.edit)
			if status != c.status || !bytes.Contains(body, []byte(c.text)) {
				t.Errorf("got %d %s, want %d %s", status, head(body), c.status, c.text)
			}
		})
	}
}

func TestReport_DefaultColumns(t *testing.T) {
	s := sim(config.Config{})
	r := reportOf(t, s, oneDay(yesterday))
	if got, want := strings.Join(r.Columns, ","),
		"date,campaign_id,campaign_name,creative_id,source_id,total_spend"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = reportOf(t, s, oneDay(yesterday)+"&include_creatives=true")
	want := "date,campaign_id,campaign_name,creative_id,creative_title,creative_message,creative_image_url," +
		"creative_icon_url,creative_status,source_id,total_spend,impressions,conversions,ctr,cpc,cpa"
	if got := strings.Join(r.Columns, ","); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, row := range r.Data {
		if len(row) != 16 {
			t.Fatalf("a row has %d keys, want 16: %v", len(row), row)
		}
	}
}

func TestReport_Filters(t *testing.T) {
	s := sim(config.Config{})
	all := truth(s, yesterday)
	some := all[len(all)/2]
	for _, c := range []struct {
		query string
		keep  func(ledger.Line) bool
	}{
		{"campaign_id=" + some.CampaignID, func(l ledger.Line) bool { return l.CampaignID == some.CampaignID }},
		{"creative_id=" + some.CreativeID, func(l ledger.Line) bool { return l.CreativeID == some.CreativeID }},
		{"campaign_id=" + some.CampaignID + "&creative_id=" + some.CreativeID, func(l ledger.Line) bool {
			return l.CreativeID == some.CreativeID
		}},
		{"campaign_id=C99", func(ledger.Line) bool { return false }},
		{"campaign_id=", func(ledger.Line) bool { return true }},
	} {
		var want []ledger.Line
		for _, l := range all {
			if c.keep(l) {
				want = append(want, l)
			}
		}
		diff(t, lines(t, allPages(t, s, finest(yesterday)+"&page_size=50&"+c.query)), want)
	}
}

func TestReport_PageBeyondTheEndIsEmpty(t *testing.T) {
	s := sim(config.Config{})
	r := reportOf(t, s, finest(yesterday)+"&page=50")
	if n := int(total(truth(s, yesterday)).Rows); len(r.Data) != 0 || r.Pagination["total_rows"] != n ||
		r.Pagination["page"] != 50 || r.Pagination["page_size"] != 1000 {
		t.Errorf("got %d rows and %v, want 0 and %d in all", len(r.Data), r.Pagination, n)
	}
	r = reportOf(t, s, "start_date=2026-11-22&end_date=2026-11-30")
	if len(r.Data) != 0 || r.Pagination["total_pages"] != 0 {
		t.Errorf("days to come: got %d rows and %v", len(r.Data), r.Pagination)
	}
}
