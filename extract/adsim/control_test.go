package adsim

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/market"
)

// order gives an order and returns the status and the lines of the answer.
func order(t *testing.T, s *Service, method, path, body string) (int, []map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, "http://sim/_sim/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out []map[string]any
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, lines.Bytes())
		}
		out = append(out, m)
	}
	return resp.StatusCode, out
}

func TestControl_IsOffUnlessAskedFor(t *testing.T) {
	if status, _ := order(t, sim(config.Config{}), "GET", "truth", ""); status != 404 {
		t.Errorf("got %d", status)
	}
}

func TestControl_SetsTheClock(t *testing.T) {
	s := sim(config.Config{Control: true})
	for _, c := range []struct {
		body     string
		now      time.Time
		standing bool
	}{
		{`{"advance":"24h"}`, noon.Add(24 * time.Hour), true},
		{`{"now":"2026-03-08T12:00:00-06:00"}`, time.Date(2026, 3, 8, 18, 0, 0, 0, time.UTC), true},
		{`{"now":"2026-03-08T18:00:00Z","advance":"-1h"}`, time.Date(2026, 3, 8, 17, 0, 0, 0, time.UTC), true},
		{`{"standing":false}`, time.Date(2026, 3, 8, 17, 0, 0, 0, time.UTC), false},
	} {
		status, got := order(t, s, "POST", "clock", c.body)
		if status != 200 || got[0]["standing"] != c.standing || got[0]["today"] != s.Today() {
			t.Errorf("%s: %d %v", c.body, status, got)
		}
		if now := s.Now(); now.Sub(c.now) < 0 || now.Sub(c.now) > time.Minute || c.standing && !now.Equal(c.now) {
			t.Errorf("%s: it is %v, want %v", c.body, now, c.now)
		}
	}
}

func TestClock_RunsFast(t *testing.T) {
	base := noon
	s := New(config.Config{Now: func() time.Time { return base }, Control: true})
	if status, got := order(t, s, "POST", "clock", `{"now":"2026-11-21T00:00:00Z","speed":3600}`); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	base = base.Add(2 * time.Second)
	s.Advance(time.Minute)
	if want := time.Date(2026, 11, 21, 2, 1, 0, 0, time.UTC); !s.Now().Equal(want) {
		t.Errorf("it is %v, want %v", s.Now(), want)
	}
	order(t, s, "POST", "clock", `{"standing":false}`)
	base = base.Add(time.Second)
	if want := time.Date(2026, 11, 21, 2, 1, 1, 0, time.UTC); !s.Now().Equal(want) {
		t.Errorf("at its plain pace it is %v, want %v", s.Now(), want)
	}
	if status, _ := order(t, s, "POST", "clock", `{"speed":-1}`); status != 400 {
		t.Errorf("a clock runs backwards: %d", status)
	}
}

func TestControl_SetsFaultsAndTellsRequests(t *testing.T) {
	s := sim(config.Config{Control: true})
	if status, got := order(t, s, "POST", "fault", `{"kind":"status","status":503,"path":"/ads/spend-report",`+
		`"page":2,"times":1,"for":"2s"}`); status != 200 {
		t.Errorf("%d %v", status, got)
	}
	for page, want := range []int{1: 200, 2: 503, 3: 200} {
		if page > 0 {
			if status, _, _ := ask(t, s, pageOf(page)); status != want {
				t.Errorf("page %d: %d, want %d", page, status, want)
			}
		}
	}
	_, got := order(t, s, "GET", "requests", "")
	if len(got) != 3 || got[1]["fault"] != "status" || got[1]["status"] != 503.0 || got[1]["query"] != pageOf(2) {
		t.Errorf("got %v", got)
	}
	order(t, s, "DELETE", "requests", "")
	if _, got := order(t, s, "GET", "requests", ""); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	order(t, s, "POST", "fault", `{"kind":"null"}`)
	order(t, s, "DELETE", "fault", "")
	if _, _, body := ask(t, s, pageOf(1)); string(body) == "null" {
		t.Error("the fault is still there")
	}
}

func TestControl_TellsTheTruth(t *testing.T) {
	s := sim(config.Config{Control: true})
	_, got := order(t, s, "GET", "truth?day="+yesterday, "")
	want := truth(s, yesterday)
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, l := range want {
		m := got[i]
		if m["date"] != l.Date || m["campaign_name"] != l.CampaignName || m["creative_id"] != l.CreativeID ||
			m["source_id"] != l.SourceID ||
			m["spend"] != l.Exact() || m["clicks"] != float64(l.Clicks) || m["conversions"] != float64(l.Conversions) {
			t.Fatalf("line %d: got %v, want %+v", i, m, l)
		}
	}
	sum := total(want)
	_, got = order(t, s, "GET", "truth?sum=1&day="+yesterday, "")
	if len(got) != 1 || got[0]["rows"] != float64(sum.Rows) || got[0]["spend"] != sum.Exact() ||
		got[0]["impressions"] != float64(sum.Impressions) {
		t.Errorf("got %v, want %+v", got, sum)
	}
	_, got = order(t, s, "GET", "truth?sum=1", "")
	if len(got) != 33 || got[0]["date"] != "2026-10-20" || got[32]["date"] != s.Today() {
		t.Errorf("the reach is %v", got)
	}
	_, got = order(t, s, "GET", "sources", "")
	if bad := got[0]["bad"].([]any); len(bad) != len(s.BadSources()) || bad[0] != s.BadSources()[0] {
		t.Errorf("got %v", got)
	}
}

func TestControl_Restates(t *testing.T) {
	s := sim(config.Config{Control: true})
	before := truth(s, yesterday)
	status, got := order(t, s, "POST", "restate", `{"day":"`+yesterday+`","kind":"change","row":5,`+
		`"measures":{"spend":1000001,"clicks":2,"impressions":3,"conversions":1}}`)
	if status != 200 || got[0]["spend"] != "1.000001" {
		t.Errorf("%d %v", status, got)
	}
	order(t, s, "POST", "restate", `{"day":"`+yesterday+`","kind":"delete","row":70}`)
	if after := truth(s, yesterday); len(after) != len(before)-1 {
		t.Errorf("%d lines, before %d", len(after), len(before))
	}
	order(t, s, "POST", "restate", `{"kind":"freeze"}`)
	frozen := truth(s, yesterday)
	s.Advance(5 * 24 * time.Hour)
	if !slices.Equal(truth(s, yesterday), frozen) {
		t.Error("not frozen")
	}
	order(t, s, "POST", "restate", `{"kind":"thaw"}`)
	if slices.Equal(truth(s, yesterday), frozen) {
		t.Error("not thawed")
	}
}

func TestControl_RefusesWhatItDoesNotKnow(t *testing.T) {
	s := sim(config.Config{Control: true})
	for _, c := range [][3]string{
		{"POST", "clock", `{"now":"yesterday"}`},
		{"POST", "clock", `{"advance":"1 day"}`},
		{"POST", "fault", `{"kind":"cutt"}`},
		{"POST", "fault", `{"kind":"cut","pag":2}`},
		{"POST", "fault", `{"kind":"cut","for":"x"}`},
		{"POST", "restate", `{"kind":"delete"}`},
		{"POST", "restate", ``},
		{"GET", "truth?day=x", ``},
		{"GET", "nothing", ``},
	} {
		status, got := order(t, s, c[0], c[1], c[2])
		if status < 400 || status > 404 || got[0]["error"] == "" {
			t.Errorf("%v: %d %v", c, status, got)
		}
	}
}

func TestJSON_TextsComeThrough(t *testing.T) {
	for _, want := range append(market.AwkwardNames(), "", "\x00\x01\x1f\x7f\b\f", "tab\tline\nreturn\r", `\"/`,
		"😀\U0010FFFF", "\u2028") {
		var got string
		raw := jsontext.AppendString(nil, want)
		if err := json.Unmarshal(raw, &got); err != nil || got != want {
			t.Errorf("%q: got %q from %s, %v", want, got, raw, err)
		}
	}
	if got := string(jsontext.AppendString(nil, "a\xffb")); got != `"a\ufffdb"` {
		t.Errorf("broken text becomes %s", got)
	}
}

func TestJSON_AmountsAreExact(t *testing.T) {
	for v, want := range map[int64][2]string{
		0: {"0", "0.000000"}, 1: {"0.000001", "0.000001"}, 12_500_000: {"12.5", "12.500000"},
		3_000_000: {"3", "3.000000"},
		-1:        {"-0.000001", "-0.000001"}, -1 << 63: {"-9223372036854.775808", "-9223372036854.775808"},
		1_000_010: {"1.00001", "1.000010"},
	} {
		if got := string(jsontext.AppendMillionths(nil, v)); got != want[0] {
			t.Errorf("%d: got %s, want %s", v, got, want[0])
		}
		if got := string(jsontext.AppendFixed(nil, v)); got != want[1] {
			t.Errorf("%d: got %s, want %s", v, got, want[1])
		}
	}
}
