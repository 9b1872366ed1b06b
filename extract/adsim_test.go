package extract

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// adsimNow is the clock of the simulated service: noon in Chicago, five days
// after the clocks changed.
var adsimNow = time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)

func newAdsim(cfg adsim.Config) *adsim.Service {
	cfg.Now = func() time.Time { return adsimNow }
	if cfg.RowsPerDay == 0 {
		cfg.RowsPerDay = 700
	}
	return adsim.New(cfg)
}

func adsimClient(t *testing.T, s *adsim.Service) *Client {
	return newTestClient(t, s.Transport(), func(o *Options) {
		o.BaseURL += adsim.ReportPrefix
		o.Authorize = func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) }
	})
}

// truth is what a perfect copy of a day holds, by key.
func truth(s *adsim.Service, day schema.Date) map[string]string {
	rows := map[string]string{}
	for l := range s.Truth(day.String()) {
		rows[fmt.Sprintf("%s %s %s", l.CampaignID, l.CreativeID, l.SourceID)] =
			fmt.Sprintf("%s %v %d %d %d", l.CampaignName, schema.Money(l.Spend), l.Clicks, l.Impressions, l.Conversions)
	}
	return rows
}

// walked is what a walk brought, by key.
func walked(t *testing.T, pages []Page[SpendLine]) map[string]string {
	t.Helper()
	rows := map[string]string{}
	text := func(v Value) string { return string(v.appendText(nil)) }
	number := func(v Value) int64 {
		n, err := schema.ParseCount(v)
		if err != nil && v != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, p := range pages {
		for _, l := range p.Items {
			spend, _, err := schema.ParseMoney(l.TotalSpend)
			if err != nil {
				t.Fatal(err)
			}
			rows[fmt.Sprintf("%s %s %s", text(l.CampaignID), text(l.CreativeID), text(l.SourceID))] =
				fmt.Sprintf("%s %v %d %d %d", text(l.CampaignName), spend, number(l.Clicks), number(l.Impressions),
					number(l.Conversions))
		}
	}
	return rows
}

func compareRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	check(t, "rows", len(got), len(want))
	for key, w := range want {
		if g := got[key]; g != w {
			t.Fatalf("row %s = %s, want %s", key, g, w)
		}
	}
}

func TestSpend_IsTheTruthOfTheSimulatedService(t *testing.T) {
	for name, cfg := range map[string]adsim.Config{
		"plain":             {},
		"floats":            {Quirks: []string{"spend-float"}},
		"exponents":         {Quirks: []string{"spend-exponent"}},
		"escaped":           {Quirks: []string{"ascii"}, Seed: 7},
		"idle/empty-source": {Quirks: []string{"source-empty"}},
		"idle/no-source":    {Quirks: []string{"source-missing"}},
		"idle/bare":         {Quirks: []string{"source-date-missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAdsim(cfg)
			c := adsimClient(t, s)
			today := schema.DateOf(adsimNow)
			for _, day := range []schema.Date{today - 32, testDay, today - 1, today} {
				pages, err := walk(t, c.Spend(t.Context(), day, 250, nil, nil))
				if err != nil {
					t.Fatal(err)
				}
				if len(pages) < 2 && day != today {
					t.Errorf("%v has %d pages: too few to prove anything", day, len(pages))
				}
				compareRows(t, walked(t, pages), truth(s, day))
			}
			_, err := walk(t, c.Spend(t.Context(), today-33, 250, nil, nil))
			wantError(t, err, ErrUnreachable, "spend 2026-02-08 page 1: ", "status 400")
		})
	}
}

func TestControlTotals_AreTheSumsOfTheSimulatedService(t *testing.T) {
	for _, quirks := range [][]string{nil, {"spend-float"}} {
		s := newAdsim(adsim.Config{Quirks: quirks})
		today := schema.DateOf(adsimNow)
		totals, err := adsimClient(t, s).ControlTotals(t.Context(), today-32, today)
		if err != nil || !totals.Exists {
			t.Fatalf("totals exist: %v (%s), error %v", totals.Exists, totals.Why, err)
		}
		check(t, "days", len(totals.ByDay), 33)
		for day, total := range totals.ByDay {
			sum, err := s.TruthSum(day.String())
			if err != nil {
				t.Fatal(err)
			}
			if !total.Agrees(schema.Money(sum.Spend), schema.Some(sum.Clicks), 0) {
				t.Errorf("%v: total %+v, sum %+v", day, total, sum)
			}
			if total.Agrees(schema.Money(sum.Spend)+2, schema.Some(sum.Clicks), 0) {
				t.Errorf("%v: total %+v agrees with a sum that is off", day, total)
			}
		}
	}
}
