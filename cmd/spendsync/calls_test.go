package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// TestCalls_AreWhatTheServiceTakes sends the requests that query prints for its advice. The service accepts each
// request, the next sync sees the sources as blocked, and query no longer advises to block them.
func TestCalls_AreWhatTheServiceTakes(t *testing.T) {
	schematest.Long(t) // the tests of package queries cover the advice, the tests of adsim the requests
	w := newWorld(t, func(c *adsim.Config) {
		*c = adsim.Config{RowsPerDay: 2500, RateLimit: -1}
	}).withMarts()
	w.env["REQUESTS_PER_MINUTE"] = "120"
	w.must("sync")
	w.service.Advance(24 * time.Hour) // conversions can only be predicted after days have been read twice
	w.must("sync")
	ids := w.must("query", "sources_to_block", "--param", "rows=10000", "--format", "ids")
	var pasted []string
	for line := range strings.Lines(ids) {
		if list, isComment := strings.TrimSpace(line), strings.HasPrefix(line, "#"); !isComment {
			pasted = append(pasted, strings.Split(list, ",")...)
		}
	}
	sent := 0
	all := w.must("query", "sources_to_block", "--param", "rows=10000", "--format", "request")
	for line := range strings.Lines(all) {
		var c struct {
			Method, Path string
			Body         struct {
				SourceIDs []string `json:"source_ids"`
			}
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		_, body, _ := strings.Cut(strings.TrimSpace(line), `"body":`)
		r, err := http.NewRequestWithContext(t.Context(), c.Method, w.env["ADVERTISER_URL"]+c.Path,
			strings.NewReader(strings.TrimSuffix(body, "}")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+adsim.DefaultWriteKey)
		res, err := w.service.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", line, res.StatusCode, said, err)
		}
		res.Body.Close()
		if len(c.Body.SourceIDs) == 0 || len(c.Body.SourceIDs) > 50 {
			t.Errorf("%d sources in a call", len(c.Body.SourceIDs))
		}
		sent += len(c.Body.SourceIDs)
	}
	if sent < 5 || sent != len(pasted) {
		t.Fatalf("%d sources were sent, %d pasted", sent, len(pasted))
	}
	w.service.Advance(time.Hour) // still the same day, so that the advice does not change by itself
	w.must("sync")
	if got := w.must("query", "sources_to_block", "--param", "rows=10000", "--format",
		"ids"); got != "# no source is to be blocked\n" {
		t.Errorf("after all were sent there are still\n%s", got)
	}
	if code, _, last := w.run("query", "last_week", "--format", "request"); code != exit.Usage ||
		!strings.Contains(last, "sources_to_block") {
		t.Errorf("exit %d: %s", code, last)
	}
}
