package job

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/load"
	"spendsync/schema"
)

func atWorldNow() time.Time { return worldNow }

// paths is an advertiser API by its paths: a body, or a status such as "404".
type paths map[string]string

func (p paths) RoundTrip(r *http.Request) (*http.Response, error) {
	body := p[strings.TrimPrefix(r.URL.Path, "/v1/")]
	if status, err := strconv.Atoi(body); err == nil {
		if status == http.StatusNotFound {
			return replyWith(r, status, notFoundReply), nil
		}
		return replyWith(r, status, `{"error":{"code":"x","message":"it fails"}}`), nil
	}
	return replyWith(r, http.StatusOK, body), nil
}

// readerOf is a reader of settings beside a store, whose service has nothing.
func readerOf(t *testing.T, dir string) (n *settingsReader, end func()) {
	t.Helper()
	client := clientOf(t, nil)
	j := Job{Account: "acme", DataDir: dir, RunID: "run9", API: client, Log: newTestLog(t), Now: atWorldNow,
		RequestsPerMinute: 100, Store: load.Options{KeepRaw: true}}
	s, err := j.begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	s.plan.Today = schema.DateOf(worldNow)
	return newSettingsReader(s), s.end
}
