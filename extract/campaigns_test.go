package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/adsim"
)

// apiShapes are forms of the advertiser API's bodies, as quirks joined by blanks.
func apiShapes() (shapes []string) {
	for _, envelope := range []string{"", "envelope-bare", "envelope-data", "envelope-items"} {
		for _, more := range []string{"", " ids-long", " list-no-totals",
			" ids-long bids-map limits-map list-no-totals"} {
			shapes = append(shapes, envelope+more)
		}
	}
	return shapes
}

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

func TestSettings_AreReadInEveryShape(t *testing.T) {
	for i, shape := range apiShapes() {
		t.Run(shape, func(t *testing.T) {
			quirks := strings.Fields(shape)
			if i%2 == 0 {
				quirks = append(quirks, "ascii")
			}
			s := newAdvertiser(adsim.Config{Quirks: quirks, Campaigns: 12, CreativesPerCampaign: 3})
			c := advertiser(t, s)
			listing, err := c.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "complete", listing.Complete, true)
			if got, want := idsOf(listing), s.CampaignIDs(); !slices.Equal(got, want) {
				t.Errorf("campaigns %v, want %v", got, want)
			}
			for _, listed := range listing.Entities {
				want, err := s.Settings(listed.ID)
				if err != nil {
					t.Fatal(err)
				}
				detail, err := c.Campaign(t.Context(), listed.ID)
				wantEntity(t, detail, err, listed.ID, "audience")
				for _, e := range []Entity{listed, detail} {
					name, _ := e.Fields["name"].Text()
					check(t, "name", name, want.Name)
				}
				sources, err := c.Sources(t.Context(), listed.ID)
				wantEntity(t, sources, err, listed.ID, "bid_overrides")
				creatives, err := c.Creatives(t.Context(), listed.ID)
				if err != nil || !creatives.Complete {
					t.Fatalf("creatives: %v, why %q", err, creatives.Why)
				}
				var ids []string
				for _, cr := range want.Creatives {
					ids = append(ids, cr.CreativeID)
				}
				if got := idsOf(creatives); !slices.Equal(got, ids) {
					t.Errorf("creatives %v, want %v", got, ids)
				}
			}
			me, err := c.Me(t.Context())
			wantEntity(t, me, err, "", "advertiser_id")
			limits, err := c.Limits(t.Context())
			wantEntity(t, limits, err, "", "limits")
			balance, err := c.Balance(t.Context())
			wantEntity(t, balance, err, "", "available_balance")
		})
	}
}

// wantEntity requires a whole entity with a field.
func wantEntity(t *testing.T, e Entity, err error, id, field string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "id", e.ID, id)
	if !json.Valid(e.Raw) || e.Raw[0] != '{' || e.Fields[field] == nil {
		t.Errorf("entity %s without %s", e.Raw, field)
	}
}

// Whatever goes wrong with one page, once or for ever: a listing that calls itself
// complete is the whole account.
func TestCampaigns_MeetsEveryFault(t *testing.T) {
	const once, never, refused, incomplete = "complete", "complete", "error", "incomplete"
	for name, tc := range map[string]struct {
		fault      adsim.Fault
		once, ever string
	}{
		"status/500":   {adsim.Fault{Kind: adsim.Status, Status: 500}, once, refused},
		"status/429":   {adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "7"}, once, refused},
		"status/403":   {adsim.Fault{Kind: adsim.Status, Status: 403}, once, refused},
		"html":         {adsim.Fault{Kind: adsim.HTML}, once, refused},
		"empty":        {adsim.Fault{Kind: adsim.Empty}, once, refused},
		"null":         {adsim.Fault{Kind: adsim.Null}, once, refused},
		"object":       {adsim.Fault{Kind: adsim.Body, Value: "{}"}, refused, refused},
		"cut":          {adsim.Fault{Kind: adsim.Cut}, once, refused},
		"reset":        {adsim.Fault{Kind: adsim.Reset}, once, refused},
		"trailing":     {adsim.Fault{Kind: adsim.Trailing}, refused, refused},
		"shift/down":   {adsim.Fault{Kind: adsim.Shift, Rows: 3}, once, never},
		"shift/up":     {adsim.Fault{Kind: adsim.Shift, Rows: -3}, once, incomplete},
		"total/more":   {adsim.Fault{Kind: adsim.Total, Delta: 2}, once, incomplete}, // one page promises more for ever
		"total/less":   {adsim.Fault{Kind: adsim.Total, Delta: -2}, once, never},
		"drop":         {adsim.Fault{Kind: adsim.Drop, Row: 3, Rows: 2}, once, incomplete},
		"duplicate":    {adsim.Fault{Kind: adsim.Duplicate, Row: 3, Rows: 2}, once, never},
		"over-another": {adsim.Fault{Kind: adsim.Duplicate, Row: 3, InPlace: true}, once, incomplete},
		"extra-key":    {adsim.Fault{Kind: adsim.ExtraKey, Row: 3}, once, never},
		"repeated-key": {adsim.Fault{Kind: adsim.RepeatKey, Row: 3, Column: "name", Value: `"x"`}, refused, refused},
		"id/number":    {adsim.Fault{Kind: adsim.WrongType, Row: 3, Column: "id", Value: "5"}, once, incomplete},
		"id/missing":   {adsim.Fault{Kind: adsim.MissingKey, Row: 3, Column: "id"}, once, incomplete},
		"no-total":     {adsim.Fault{Kind: adsim.NoPagination}, once, never},
		"endless":      {adsim.Fault{Kind: adsim.Endless}, incomplete, incomplete}, // its total promises more
	} {
		for times, want := range map[int]string{1: tc.once, 0: tc.ever} {
			t.Run(fmt.Sprintf("%s/times-%d", name, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newAdvertiser(adsim.Config{Campaigns: 110, CreativesPerCampaign: 1})
					f := tc.fault
					// The second page of a walk, which begins with entry 100.
					f.Path, f.Query, f.Times = "/v1/campaigns", "offset=99", times
					s.Fail(f)
					l, err := advertiser(t, s).Campaigns(t.Context())
					switch {
					case want == refused:
						if err == nil {
							t.Error("no error")
						}
						return
					case err != nil:
						t.Fatal(err)
					}
					check(t, "complete", l.Complete, want == "complete")
					if ids := idsOf(l); l.Complete && !sameSet(ids, s.CampaignIDs()) {
						t.Errorf("%d of %d campaigns in a complete listing", len(ids), len(s.CampaignIDs()))
					}
				})
			})
		}
	}
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

func TestClient_SpeaksOfTheKeysEnd(t *testing.T) {
	s := newAdvertiser(adsim.Config{KeyExpiresAt: adsimNow.Add(10 * 24 * time.Hour)})
	c := advertiser(t, s)
	if _, _, ok := c.KeyNotice(); ok {
		t.Error("a notice before any reply")
	}
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	expires, warning, ok := c.KeyNotice()
	check(t, "ok", ok, true)
	check(t, "expires", expires, adsimNow.Add(10*24*time.Hour))
	if !strings.Contains(warning, "expires in 10 days") {
		t.Errorf("warning %q", warning)
	}
}
