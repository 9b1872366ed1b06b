package adsim

import (
	"testing"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
)

// brought is what a creative, or all of a campaign, brought over ten days that have settled.
func brought(s *Service, from string, is func(ledger.Line) bool) (m ledger.Measures) {
	d, _ := clock.ParseDay(from)
	for i := range clock.Day(10) {
		for l := range s.Truth((d + i).String()) {
			if is(l) {
				m.Add(l.Measures)
			}
		}
	}
	return m
}

// TestPlant_ChangesWhatCreativesBring plants both effects, in a campaign that follows its
// settings too, and holds days before, other campaigns, Rates and the journal to them.
func TestPlant_ChangesWhatCreativesBring(t *testing.T) {
	t.Run("by itself", func(t *testing.T) { plantAndCompare(t, config.Config{Control: true}) })
	t.Run("following", func(t *testing.T) { plantAndCompare(t, config.Config{Control: true, Prepaid: 1e13}) })
}

func plantAndCompare(t *testing.T, cfg config.Config) {
	s, plain := sim(cfg), sim(cfg)
	const before, from = "2026-10-20", "2026-11-21" // today, and days to come
	spent := map[string]int64{}
	creative := map[string]string{}
	for l := range s.Truth(from) {
		if spent[l.CampaignID] += l.Clicks; l.SourceID != "" {
			creative[l.CampaignID] = l.CreativeID
		}
	}
	if _, err := plain.TruthSum(from); err != nil { // a prepaid account begins when it is first asked
		t.Fatal(err)
	}
	var most, next string
	for id, n := range spent {
		if n > spent[most] {
			most, next = id, most
		} else if n > spent[next] {
			next = id
		}
	}
	if err := s.Plant(ledger.Effect{CampaignID: most, From: from, Conversions: -100}); err != nil {
		t.Fatal(err)
	}
	if err := s.Plant(ledger.Effect{CreativeID: creative[next], From: from, To: "2026-12-05",
		Clicks: -50}); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"later"} {
		s.SetNow(noon.Add(40 * 24 * time.Hour))
		plain.SetNow(noon.Add(40 * 24 * time.Hour))
		campaign := func(l ledger.Line) bool { return l.CampaignID == most }
		one := func(l ledger.Line) bool { return l.CreativeID == creative[next] }
		others := func(l ledger.Line) bool { return !campaign(l) && !one(l) }
		if got, want := brought(s, from, campaign), brought(plain, from, campaign); got.Conversions != 0 ||
			want.Conversions < 20 || got.Clicks != want.Clicks {
			t.Errorf("%s: the campaign without conversions brings %+v, else %+v", when, got, want)
		}
		if got, want := brought(s, from, one), brought(plain, from, one); got.Impressions != want.Impressions ||
			want.Clicks < 100 || got.Clicks*10 < 4*want.Clicks || got.Clicks*10 > 6*want.Clicks {
			t.Errorf("%s: the creative with half of the clicks brings %+v, else %+v", when, got, want)
		}
		all := func(ledger.Line) bool { return true }
		if brought(s, from, others) != brought(plain, from, others) || brought(s, before, all) != brought(plain, before,
			all) {
			t.Errorf("%s: other creatives or days before are others", when)
		}
	}
}

// TestRates_AreWhatTheReportTendsTo compares them with what came of many days.
func TestRates_AreWhatTheReportTendsTo(t *testing.T) {
	s := sim(config.Config{})
	s.SetNow(noon.Add(60 * 24 * time.Hour))
	var clicks, conversions, wantClicks, wantConversions float64
	d, _ := clock.ParseDay("2026-11-01")
	for i := range clock.Day(20) {
		for l := range s.Truth((d + i).String()) {
			if l.SourceID == "" {
				continue
			}
			click, convert, err := s.Rates(l.Date, l.CreativeID, l.SourceID)
			if err != nil {
				t.Fatal(err)
			}
			clicks, wantClicks = clicks+float64(l.Clicks), wantClicks+float64(l.Impressions)*click
			conversions, wantConversions = conversions+float64(l.Conversions), wantConversions+float64(l.Clicks)*convert
		}
	}
	if clicks/wantClicks < 0.99 || clicks/wantClicks > 1.01 || conversions/wantConversions < 0.97 ||
		conversions/wantConversions > 1.03 {
		t.Errorf("%g clicks, want %g; %g conversions, want %g", clicks, wantClicks, conversions, wantConversions)
	}
	for _, bad := range [][3]string{{"x", "C1", "S1"}, {"2026-11-01", "C1", "S1"}} {
		if _, _, err := s.Rates(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%v has rates", bad)
		}
	}
}
