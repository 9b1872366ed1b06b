package job

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/schema/schematest"
)

// editing changes the replies about single campaigns.
type editing struct {
	of   http.RoundTripper
	edit func(campaign, body string) string
}

func (e *editing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.of.RoundTrip(r)
	at := strings.Split(r.URL.Path, "/campaigns/")
	if err != nil || e.edit == nil || len(at) != 2 || strings.Contains(at[1], "/") {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	body = []byte(e.edit(at[1], string(body)))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// with is a campaign with one more key.
func with(key, value string) func(campaign, body string) string {
	return func(_, body string) string {
		return strings.Replace(body, `"name":`, fmt.Sprintf(`%q:%s,"name":`, key, value), 1)
	}
}

// TestBeyond_EveryChangeIsSeen: a key that no column shows is recorded when it comes, which
// is no change, and each change of its value afterwards makes a version.
func TestBeyond_EveryChangeIsSeen(t *testing.T) {
	w := newWorld(t)
	e := &editing{of: w.service.Transport()}
	w.transport = e
	first := w.service.CampaignIDs()[0]
	run := func(versions int64, edit func(campaign, body string) string) {
		t.Helper()
		w.service.Advance(time.Hour)
		e.edit = edit
		if got := w.sync(exit.OK).Run.SettingsVersions; got != versions {
			t.Errorf("%d new versions, want %d", got, versions)
		}
	}
	w.sync(exit.OK)
	before := w.ask("SELECT count(*) FROM campaign_history")
	run(0, with("labels", `["a", "b"]`))
	const recorded = "SELECT path, sample_type FROM ops.unknown_field WHERE stream = 'campaign' AND path = 'labels'"
	if got := w.ask(recorded); got != "labels|array" {
		t.Errorf("recorded as unknown: %q", got)
	}
	run(0, with("labels", `["a","b"]`)) // spelled otherwise
	run(1, func(campaign, body string) string {
		if campaign == first {
			return with("labels", `["c"]`)(campaign, body)
		}
		return with("labels", `["a","b"]`)(campaign, body)
	})
	run(0, func(campaign, body string) string {
		if campaign == first {
			return with("labels", `["c"]`)(campaign, body)
		}
		return with("labels", `["a","b"]`)(campaign, body)
	})
	const versions = "SELECT campaign_id, version_no, change_type, changed_columns, contains(raw, '[\"c\"]') " +
		"FROM campaign_history WHERE version_no > 1"
	if got, want := w.ask(versions), first+"|2|undescribed|NULL|true"; got != want {
		t.Errorf("versions %q, want %q", got, want)
	}
	run(1, with("labels", `["a","b"]`)) // back again
	if got := w.ask("SELECT count(*) FROM campaign_history WHERE change_type <> 'undescribed'"); got != before {
		t.Errorf("%s versions in columns, there were %s", got, before)
	}
	w.wantVerified()
}

// TestBeyond_WhatFlickersIsNoChange: a key that is another one in every reply would bury all
// changes. It is known by its name, or after a few reads by what it did.
func TestBeyond_WhatFlickersIsNoChange(t *testing.T) {
	schematest.Long(t)
	for key, most := range map[string]string{"updated_at": "0", "nonce": "4"} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t)
			e := &editing{of: w.service.Transport()}
			w.transport = e
			for i := range 6 {
				w.service.Advance(time.Hour)
				e.edit = func(campaign, body string) string {
					return with(key, fmt.Sprintf(`"%s %d"`, campaign, i))(campaign, body)
				}
				w.sync(exit.OK)
			}
			if got := w.ask("SELECT count(*) FROM campaign_history WHERE change_type = 'undescribed'"); got > most {
				t.Errorf("%s versions, want at most %s", got, most)
			}
			if got := w.account().ExtraKeys["campaign_history"][key]; got.Compared < 9 || got.Compared != got.Changed {
				t.Errorf("%+v of the key is counted", got)
			}
			w.wantVerified()
		})
	}
}
