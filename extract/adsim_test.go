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

// truth returns the measures of all rows of a day, by key.
func truth(s *adsim.Service, day schema.Date) map[string]string {
	rows := map[string]string{}
	for l := range s.Truth(day.String()) {
		rows[fmt.Sprintf("%s %s %s", l.CampaignID, l.CreativeID, l.SourceID)] =
			fmt.Sprintf("%v %d %d %d", schema.Money(l.Spend), l.Clicks, l.Impressions, l.Conversions)
	}
	return rows
}

// walked returns the measures of the rows of a walk, by key.
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
				fmt.Sprintf("%v %d %d %d", spend, number(l.Clicks), number(l.Impressions),
					number(l.Conversions))
		}
	}
	return rows
}

// advertiser is a client of a simulated service's advertiser API.
func advertiser(t *testing.T, s *adsim.Service) *Client {
	return newTestClient(t, s.Transport(), func(o *Options) {
		o.BaseURL += adsim.APIPrefix
		o.Authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey) }
	})
}
