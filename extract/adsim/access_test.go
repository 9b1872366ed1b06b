package adsim

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/wire"
)

func TestBalance_IsNeverOlderThanTheLastFreshOne(t *testing.T) {
	s := sim(config.Config{})
	at := func(query string) string {
		_, _, body := do(t, s, "GET", "http://sim"+wire.APIPrefix+"/v1/balance"+query, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+config.DefaultKey)
		})
		var b struct {
			At string `json:"refreshed_at"`
		}
		if err := json.Unmarshal(body, &b); err != nil {
			t.Fatalf("%s, %v", body, err)
		}
		return b.At
	}
	s.SetNow(noon.Add(3 * time.Minute))
	for _, step := range []struct{ query, want string }{
		{"", "2026-11-21T20:00:00Z"}, {"?fresh=true", "2026-11-21T20:03:00Z"}, {"", "2026-11-21T20:03:00Z"},
	} {
		if got := at(step.query); got != step.want {
			t.Errorf("%q: %s, want %s", step.query, got, step.want)
		}
	}
	s.SetNow(noon.Add(12 * time.Minute))
	if got := at(""); got != "2026-11-21T20:10:00Z" {
		t.Errorf("later: %s", got)
	}
	s.SetNow(noon)
	if got := at(""); got != "2026-11-21T20:00:00Z" {
		t.Errorf("with the clock set back: %s", got)
	}
}
