package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
)

// whoamI lets the service answer /v1/me with a body.
func (w *world) whoami(body string) {
	w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/v1/me") {
			out.Header().Set("Date", w.service.Now().UTC().Format(http.TimeFormat))
			fmt.Fprint(out, body)
			return
		}
		w.service.ServeHTTP(out, r)
	})
}

// TestFalseNumbers_UnnamedAccount: a service that names no account is known by its campaigns, and no variable is
// needed. The run says so once.
func TestFalseNumbers_UnnamedAccount(t *testing.T) {
	for name, body := range map[string]string{
		"no name": `{"scope":"read"}`, "a bare id": `{"id":"k-17"}`, "an unknown envelope": `{"who":{"uid":"A17"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withoutMarts()
			w.whoami(body)
			w.env["LOG_LEVEL"] = "warn"
			if got := w.must("check"); !strings.Contains(got, "known by its campaigns") {
				t.Errorf("check: %s", got)
			}
			w.env["ACCEPT_UNPINNED"] = "true"
			code, says := w.stderr("sync")
			if code != exit.OK || strings.Count(says, "the service does not name the account") != 1 ||
				!strings.Contains(says, "SPENDSYNC_ACCEPT_UNPINNED") || !strings.Contains(says, "was removed") {
				t.Errorf("sync: exit %d: %s", code, says)
			}
			if code, says = w.stderr("sync"); code != exit.OK || strings.Contains(says, "does not name the account") {
				t.Errorf("the second sync: exit %d: %s", code, says)
			}
			w.must("verify")
		})
	}
}

// rewrites lets the service's replies under a path go through a function.
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

var (
	aSource    = regexp.MustCompile(`"source_id":\s*"S(\d+)"`)
	anAudience = regexp.MustCompile(`"audience":\s*\{[^{}]*\}`)
)

// TestFalseNumbers_NoFalseAlarm: IDs of the description's own form and an empty audience written as a list end no run
// in 4. What does end a sync in 4 ends a check in 4.
func TestFalseNumbers_NoFalseAlarm(t *testing.T) {
	w := newWorld(t).withoutMarts()
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

// ofCampaigns edits each object with an ID in a JSON value.
func ofCampaigns(value any, edit func(campaign map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			ofCampaigns(inner, edit)
		}
	case map[string]any:
		if v["id"] != nil {
			edit(v)
		}
		for _, inner := range v {
			ofCampaigns(inner, edit)
		}
	}
}

// TestFalseNumbers_UnsetFields: a field that no entity has any more was renamed or lost, and its known values stand and
// are named. One that others have is unset where it is missing, and so is a null.
func TestFalseNumbers_UnsetFields(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	const targets = "SELECT campaign_id, target_cpa FROM campaign WHERE target_cpa IS NOT NULL AND status = 'active' " +
		"ORDER BY ALL"
	known := w.ask(targets)
	first, _, _ := strings.Cut(known, "|")
	_, others, more := strings.Cut(known, "\n")
	if !more {
		t.Fatalf("too few campaigns have a target: %s", known)
	}
	plain := w.server.Config.Handler
	for name, c := range map[string]struct {
		edit func(campaign map[string]any)
		want string
		says string
	}{
		"renamed everywhere": {func(c map[string]any) {
			c["cpa_goal"] = c["target_cpa"]
			delete(c, "target_cpa")
		}, known, "target_cpa"},
		"missing in one": {func(c map[string]any) {
			if c["id"] == first {
				delete(c, "target_cpa")
			}
		}, others, ""},
		"null in one": {func(c map[string]any) {
			if c["id"] == first {
				c["target_cpa"] = nil
			}
		}, others, ""},
	} {
		w.rewrites("/v1/campaigns", func(body string) string {
			var reply any
			if err := json.Unmarshal([]byte(body), &reply); err != nil {
				return body
			}
			ofCampaigns(reply, c.edit)
			text, _ := json.Marshal(reply)
			return string(text)
		})
		_, _, last := w.run("sync")
		if got := w.ask(targets); got != c.want || !strings.Contains(last, c.says) {
			t.Errorf("%s: %s, want %s; %s", name, got, c.want, last)
		}
		w.server.Config.Handler = plain
		w.run("sync")
		if got := w.ask(targets); got != known {
			t.Errorf("after %s: %s", name, got)
		}
	}
}
