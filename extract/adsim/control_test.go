package adsim

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
)

// order sends a command under /_sim/, and returns the lines of the reply.
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

// TestControl_TakesItsOrders sends each command once, and commands that are refused.
func TestControl_TakesItsOrders(t *testing.T) {
	if status, _ := order(t, sim(config.Config{}), "POST", "clock", "{}"); status != 404 {
		t.Errorf("without Config.Control: %d", status)
	}
	s := sim(config.Config{Control: true, RowsPerDay: 300, Campaigns: 6})
	for _, c := range []struct {
		method, path, body string
		status, lines      int
	}{
		{"POST", "clock", `{}`, 200, 1},
		{"POST", "clock", `{"now":"2026-11-21T20:00:00Z","standing":true}`, 200, 1},
		{"POST", "clock", `{"now":"soon"}`, 400, 1},
		{"POST", "clock", `{"nov":"2026-11-21T20:00:00Z"}`, 400, 1},
		{"POST", "restate", `{"day":"2026-11-20","kind":"multiply","percent":150}`, 200, 0},
		{"POST", "restate", `{"day":"2026-11-20","kind":"change"}`, 200, 0},
		{"POST", "restate", `{"day":"2026-11-20","kind":"shrink"}`, 400, 1},
		{"GET", "nosuch", "", 400, 1},
	} {
		status, lines := order(t, s, c.method, c.path, c.body)
		if status != c.status || len(lines) != c.lines {
			t.Errorf("%s %s %s: %d and %d lines %.200v, want %d and %d", c.method, c.path, c.body, status, len(lines),
				lines, c.status, c.lines)
		}
	}
}
