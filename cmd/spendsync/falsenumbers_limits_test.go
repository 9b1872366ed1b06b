package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/schema/schematest"
)

// limits are refusals that pass, at any status.
var limits = map[string]struct {
	status int
	header http.Header
	body   string
}{
	"403 in words": {403, nil,
		`{"error":{"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}],"code":403}}`},
	"403 with a wait": {403, http.Header{"Retry-After": {"0"}}, "forbidden"},
	"400 in words":    {400, nil, `{"error":{"message":"(#17) User request limit reached","code":17}}`},
	"200 of a code":   {200, nil, `{"code":40100,"message":"Too many requests","request_id":"2026"}`},
	"200 of a page": {200, http.Header{"Content-Type": {"text/html"}},
		"<html><title>We'll be right back</title></html>"},
}

// limited lets the service refuse the requests that a function names by their number, from 1.
func (w *world) limited(name string, refuses func(n int64, r *http.Request) bool) (asked *atomic.Int64) {
	asked = new(atomic.Int64)
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if !refuses(asked.Add(1), r) {
			return http.DefaultTransport.RoundTrip(r)
		}
		l := limits[name]
		header := l.header.Clone()
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: l.status, Header: header, Body: io.NopCloser(strings.NewReader(l.body)),
			ContentLength: int64(len(l.body)), Request: r}, nil
	})
	return asked
}

// TestFalseNumbers_ALimitPasses: a limit that some requests of a first load meet, wherever, costs nothing.
func TestFalseNumbers_ALimitPasses(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(limits)) {
		t.Run(name, func(t *testing.T) {
			if i > 1 {
				schematest.Long(t)
			}
			w := newWorld(t, small).withoutMarts()
			w.env["RETRY_BUDGET"] = "1m"
			w.limited(name, func(n int64, _ *http.Request) bool { return n%13 == 1 || n >= 40 && n < 46 })
			if code, _, last := w.run("sync"); code != exit.OK {
				t.Fatalf("a limit that passes: exit %d: %s", code, last)
			}
			w.transport = nil
			w.checkTruth()
			const lacking = "SELECT count(*) FROM spend_daily WHERE clicks IS NULL OR impressions IS NULL"
			if got := w.ask(lacking); got != "0" {
				t.Errorf("%s rows without clicks or impressions", got)
			}
			w.must("sync")
			if got := w.ask(`SELECT count(*) FROM spend_change`); got != "0" {
				t.Errorf("%s false restatements", got)
			}
			w.must("verify")
		})
	}
}

// TestFalseNumbers_ALimitThatLasts is no refusal of the credentials, no mistake of the operator, and no breach of the
// contract: the run ends in 5 if nothing is published, and in 4 if the other interface or other days are.
func TestFalseNumbers_ALimitThatLasts(t *testing.T) {
	isReport := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/ads/spend-report") }
	for i, name := range slices.Sorted(maps.Keys(limits)) {
		for k, tc := range []struct {
			of      string
			refuses func(n int64, r *http.Request) bool
			want    []int
		}{
			{"all", func(int64, *http.Request) bool { return true }, []int{exit.Unreachable}},
			{"the report", func(_ int64, r *http.Request) bool { return isReport(r) },
				[]int{exit.Unreachable, exit.Partial}},
			{"the API", func(_ int64, r *http.Request) bool { return !isReport(r) },
				[]int{exit.Unreachable, exit.Partial}},
			{"all but the first requests", func(n int64, r *http.Request) bool { return n > 20 },
				[]int{exit.Unreachable, exit.Partial}},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, tc.of), func(t *testing.T) {
				if i%4 != k { // each limit once, at each place one
					schematest.Long(t)
				}
				w := newWorld(t, small).withoutMarts()
				w.limited(name, tc.refuses)
				code, _, last := w.run("sync")
				if !slices.Contains(tc.want, code) {
					t.Errorf("exit %d, want one of %v: %s", code, tc.want, last)
				}
				w.transport = nil
				w.must("sync") // the hour after mends it
				w.checkTruth()
				w.must("verify")
			})
		}
	}
}
