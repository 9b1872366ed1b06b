package transform

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// What comes out of a walk over the simulated service is what a perfect copy
// holds, row for row, however the service spells it.
func TestSpend_IsTheTruthOfTheSimulatedService(t *testing.T) {
	now := time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)
	for name, cfg := range map[string]adsim.Config{
		"plain":     {},
		"floats":    {Quirks: []string{"spend-float"}},
		"escaped":   {Quirks: []string{"ascii"}},
		"idle/bare": {Quirks: []string{"source-date-missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Now, cfg.RowsPerDay = func() time.Time { return now }, 700
			s := adsim.New(cfg)
			c, err := extract.NewClient(extract.Options{
				BaseURL: "https://sim.test" + adsim.ReportPrefix, Transport: s.Transport(),
				Authorize: func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []schema.Date{day, schema.DateOf(now)} {
				run := SpendContext{Account: "acme", RunID: "01KRUN", Day: d, SeenAt: seenAt}
				intern := NewInterner()
				var got, want []schema.Spend
				noisy := 0
				for p, err := range c.Spend(t.Context(), d, 300, nil, nil) {
					if err != nil {
						t.Fatal(err)
					}
					rows, rounded, err := spendOf(p, run, intern)
					if err != nil {
						t.Fatal(err)
					}
					got, noisy = append(got, rows...), noisy+rounded
				}
				for l := range s.Truth(d.String()) {
					want = append(want, schema.Spend{
						AccountID: "acme", ReportDate: d, CampaignID: l.CampaignID, CreativeID: l.CreativeID,
						SourceID:     l.SourceID,
						CampaignName: l.CampaignName, Spend: schema.Money(l.Spend), Clicks: schema.Some(l.Clicks),
						Impressions: schema.Some(l.Impressions), Conversions: schema.Some(l.Conversions),
						FirstSeenAt: seenAt, ChangedAt: seenAt, RunID: "01KRUN",
					})
				}
				slices.SortFunc(got, byKey)
				slices.SortFunc(want, byKey)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%v (-want +got)\n%.3000s", d, diff)
				}
				if (name == "floats") != (noisy > 0) {
					t.Errorf("%v: %d rounded amounts", d, noisy)
				}
			}
		})
	}
}

func byKey(a, b schema.Spend) int {
	return slices.Compare([]string{a.CampaignID, a.CreativeID, a.SourceID}, []string{b.CampaignID, b.CreativeID,
		b.SourceID})
}
