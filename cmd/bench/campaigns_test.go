package main

import (
	"strings"
	"testing"
)

func TestRequests_AreCountedByWhatTheyAskFor(t *testing.T) {
	var got requests
	for _, path := range []string{
		"/v1/me", "/v1/limits", "/v1/balance", "/v1/campaigns", "/v1/campaigns", "/v1/campaigns/C1234567",
		"/v1/campaigns/C1234567/creatives", "/v1/campaigns/C1234567/creatives", "/v1/campaigns/C1234567/sources",
	} {
		got.add(path)
	}
	if want := (requests{account: 3, lists: 2, details: 1, creatives: 2, sources: 1}); got != want || got.sum() != 9 {
		t.Errorf("got %+v of %d, want %+v", got, got.sum(), want)
	}
}

func TestNaive_IsThreeRequestsACampaignAndTheList(t *testing.T) {
	// The first snapshot may ask for more pages of the list: each begins with the last
	// campaign of the page before.
	for _, c := range []struct {
		campaigns int
		first     requests
		want      int64
	}{
		{1000, requests{lists: 11, details: 1000, creatives: 1000, sources: 1000, account: 3}, 3013},
		{50, requests{lists: 1, details: 50, creatives: 52, sources: 50, account: 3}, 156},
		{101, requests{lists: 4, details: 101, creatives: 101, sources: 101, account: 3}, 308},
	} {
		if got, err := c.first.naive(c.campaigns); err != nil || got != c.want {
			t.Errorf("%d campaigns: got %d, %v, want %d", c.campaigns, got, err, c.want)
		}
	}
	for _, first := range []requests{
		{lists: 1, details: 49, creatives: 50, sources: 50},
		{lists: 1, details: 50, creatives: 49, sources: 50},
		{lists: 1, details: 50, creatives: 50, sources: 51},
	} {
		if got, err := first.naive(50); err == nil || !strings.Contains(err.Error(), "did not read all campaigns") {
			t.Errorf("%+v: got %d, %v", first, got, err)
		}
	}
}
