package adsim

import (
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
)

// TestKeys_End: replies warn within 14 days of the key's expiry.
func TestKeys_End(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, KeyExpiresAt: noon.Add(90 * 24 * time.Hour)})
	me := func() answerOf { return callWith(t, s, config.DefaultKey, "GET", "/v1/me", "") }
	if got := me().header; got.Get("Service-Api-Key-Expires-At") != "2027-02-19T20:00:00Z" ||
		got.Get("Service-Api-Key-Expiry-Warning") != "" {
		t.Errorf("%v", got)
	}
	s.Advance(80 * 24 * time.Hour)
	if got := me().header; !strings.Contains(got.Get("Service-Api-Key-Expiry-Warning"), "10 days") {
		t.Errorf("%v", got)
	}
	s.Advance(10 * 24 * time.Hour)
	refusedAs(t, "expired", me(), 401, "unauthorized", "")
}
