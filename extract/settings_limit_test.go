package extract

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/adsim"
)

// TestSettings_AThousandCampaignsKeepTheLimit reads a large account on a fast
// clock, with the service's own limit of 120 a minute in force: not one request
// is refused, and it takes what the arithmetic says.
func TestSettings_AThousandCampaignsKeepTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := adsim.New(adsim.Config{Campaigns: 1000, CreativesPerCampaign: 3, Now: time.Now})
		c, err := NewClient(Options{
			BaseURL: "http://127.0.0.1" + adsim.APIPrefix, Authorize: func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey)
			},
			Timeout: time.Minute, RetryBudget: 10 * time.Minute, PerMinute: 100, Transport: service.Transport(),
		})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		listing, err := c.Campaigns(t.Context())
		if err != nil || !listing.Complete || len(listing.Entities) < 1000 {
			t.Fatalf("%d campaigns, complete %v (%s), %v", len(listing.Entities), listing.Complete, listing.Why, err)
		}
		var readers sync.WaitGroup
		due := make(chan string)
		for range 4 {
			readers.Go(func() {
				for id := range due {
					_, err1 := c.Campaign(t.Context(), id)
					_, err2 := c.Creatives(t.Context(), id)
					_, err3 := c.Sources(t.Context(), id)
					if err1 != nil || err2 != nil || err3 != nil {
						t.Errorf("%s: %v %v %v", id, err1, err2, err3)
					}
				}
			})
		}
		for _, e := range listing.Entities {
			due <- e.ID
		}
		close(due)
		readers.Wait()
		took := time.Since(begin)
		requests := c.Stats().Requests
		if least := time.Duration(requests/100-1) * time.Minute; took < least || took > least*11/10+2*time.Minute {
			t.Errorf("%d requests took %v, want about %v", requests, took, least)
		}
		sent := service.Requests()
		for i, r := range sent {
			if r.Status != http.StatusOK {
				t.Fatalf("request %d: status %d", i, r.Status)
			}
			if i >= 100 && r.Time.Sub(sent[i-100].Time) < time.Minute {
				t.Fatalf("requests %d to %d lie within %v", i-100, i, r.Time.Sub(sent[i-100].Time))
			}
		}
		t.Logf("%d requests in %v", requests, took)
	})
}
