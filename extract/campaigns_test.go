package extract

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"spendsync/extract/adsim"
)

func advertiser(t *testing.T, s *adsim.Service, more ...func(*Options)) *Client {
	return newTestClient(t, s.Transport(), append([]func(*Options){func(o *Options) {
		o.BaseURL += adsim.APIPrefix
		o.Authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey) }
	}}, more...)...)
}

// newAdvertiser simulates an account without a limit of requests. Its clock stands.
func newAdvertiser(cfg adsim.Config) *adsim.Service {
	cfg.RateLimit, cfg.RowsPerDay, cfg.Sources = -1, 100, 300
	return newAdsim(cfg)
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// An account that changes while it is listed, at any request.
func TestCampaigns_IsWholeWhileTheAccountChanges(t *testing.T) {
	for _, hide := range []adsim.Action{adsim.Hide, adsim.Unlist} {
		for _, page := range []string{"99", "198"} {
			s := newAdvertiser(adsim.Config{Campaigns: 220, CreativesPerCampaign: 1})
			ids := s.CampaignIDs()
			changed := false
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("offset") == page && !changed {
					changed = true
					if err := s.Change(adsim.Change{Campaign: ids[5], Do: hide}); err != nil {
						t.Error(err)
					}
				}
				return s.Transport().RoundTrip(r)
			}), func(o *Options) {
				o.BaseURL += adsim.APIPrefix
				o.Authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey) }
			})
			l, err := c.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "complete", l.Complete, true)
			if want := slices.Delete(slices.Clone(ids), 5, 6); !sameSet(idsOf(l), want) {
				t.Errorf("page from %s: %d campaigns, want %d", page, len(l.Entities), len(want))
			}
			_, err = c.Campaign(t.Context(), ids[5])
			check(t, string(hide), errors.Is(err, ErrNotFound), hide == adsim.Hide)
		}
	}
}
