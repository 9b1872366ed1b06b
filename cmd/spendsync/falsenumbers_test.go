package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
)

// rewrites changes the service's replies to requests under a path by a function.
func (w *world) rewrites(path string, edit func(body string) string) {
	next := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, path) {
			next.ServeHTTP(out, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		for key, values := range rec.Header() {
			if key != "Content-Length" && key != "Etag" {
				out.Header()[key] = values
			}
		}
		out.WriteHeader(rec.Code)
		fmt.Fprint(out, edit(rec.Body.String()))
	})
}

// TestSync_OneAdvertiserUnderTwoNames: one advertiser is stored as two accounts, so that sums over both accounts count
// the advertiser twice. The first sync of the second account and every status warn about this.
func TestSync_OneAdvertiserUnderTwoNames(t *testing.T) {
	w := newWorld(t, small).synced()
	w.env["ACCOUNT"], w.env["LOG_LEVEL"] = "second", "warn"
	const twice = "under another name already"
	if code, text := w.stderr("sync"); code != exit.OK || !strings.Contains(text, twice) ||
		!strings.Contains(text, "acme") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := w.stderr("sync"); code != exit.OK || strings.Contains(text, twice) {
		t.Errorf("the second sync: exit %d: %s", code, text)
	}
	if out := w.must("status"); !strings.Contains(out, "which is here as second, too") {
		t.Errorf("status: %s", out)
	}
}

var (
	aSource    = regexp.MustCompile(`"source_id":\s*"S(\d+)"`)
	anAudience = regexp.MustCompile(`"audience":\s*\{[^{}]*\}`)
)

// TestFalseNumbers_NoFalseAlarm: no run ends with 4 because of IDs in the form that the description shows, or because
// of an empty audience that is written as a list. If a sync ends with 4, check ends with 4, too.
func TestFalseNumbers_NoFalseAlarm(t *testing.T) {
	w := newWorld(t)
	w.rewrites("spend-report", func(body string) string {
		return aSource.ReplaceAllString(body, `"source_id":"deleted_src-$1"`)
	})
	w.rewrites("/v1/campaigns", func(body string) string { return anAudience.ReplaceAllString(body, `"audience":[]`) })
	w.must("check")
	w.must("sync")
	if got := w.ask("SELECT count(*) FROM spend_daily WHERE source_id LIKE 'deleted_src-%'"); got == "0" {
		t.Error("no such source is stored")
	}
	const everyone = "SELECT count(*) FROM campaign WHERE country IS NOT NULL OR states IS NOT NULL"
	if got := w.ask(everyone); got != "0" {
		t.Errorf("%s campaigns have an audience", got)
	}
	if got := w.ask("SELECT count(*) FROM ops.entity_read"); got != "0" {
		t.Errorf("%s fields are unread", got)
	}
	w.rewrites("/v1/balance", func(string) string { return `{"x":1}` })
	for _, command := range []string{"check", "sync"} {
		if code, _, last := w.run(command); code != exit.Partial || !strings.Contains(last, "balance") {
			t.Errorf("%s: exit %d: %s", command, code, last)
		}
	}
}
