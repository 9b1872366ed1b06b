package main

import (
	"fmt"
	"net/http"
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
