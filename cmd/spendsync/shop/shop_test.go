package shop

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// TestShop_IsToldOnAnyDay plays the story on days in all seasons, with few and with more rows per day.
func TestShop_IsToldOnAnyDay(t *testing.T) {
	for i, day := range []string{"2026-11-24", "2027-03-15", "2027-06-30", "2028-02-29", "2029-11-05"} {
		now, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add([]time.Duration{17 * time.Hour, 5*time.Hour + time.Minute}[i%2]) // noon, and just after midnight
		s, err := New([]int{1500, 1, 300, 60, 2500}[i], now)
		if err != nil {
			t.Fatalf("%s: %v", day, err)
		}
		times := s.Times()
		for _, at := range times {
			if err := s.MoveTo(at); err != nil {
				t.Fatalf("%s at %s: %v", day, at, err)
			}
		}
		if len(times) != days+6 || !times[len(times)-1].Equal(now) {
			t.Errorf("%s: %d syncs, the last at %s", day, len(times), times[len(times)-1])
		}
		inDay := func(t time.Time) time.Duration { return t.Sub(schema.DateOf(t).Start()) }
		for _, at := range times[:days] {
			if inDay(at) > inDay(now) {
				t.Errorf("%s: the daily sync at %s is later in the day than the end %s", day, at, now)
			}
		}
		if n := len(s.roles); n < int(roleCount) || n > len(names) {
			t.Errorf("%s: %d campaigns", day, n)
		}
		if lines := strings.Count(s.Payouts(), "\n"); lines < len(s.roles)+1 {
			t.Errorf("%s: %d lines of payouts", day, lines)
		}
	}
}

// TestShop_HasNoAwkwardNames: awkward names are for tests only.
func TestShop_HasNoAwkwardNames(t *testing.T) {
	s, err := New(300, time.Date(2026, 11, 24, 17, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range s.Times() {
		if err := s.MoveTo(at); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range s.service.CampaignIDs() {
		settings, err := s.service.Settings(id)
		if err != nil {
			t.Fatal(err)
		}
		if country := cmp.Or(settings.Audience.Country, "worldwide"); slices.ContainsFunc(s.roles,
			func(c campaign) bool {
				return c.id == id
			}) && !strings.Contains(settings.Name, "| "+country) {
			t.Errorf("campaign %q is shown in %q", settings.Name, country)
		}
		texts := []string{settings.Name}
		for _, c := range settings.Creatives {
			texts = append(texts, c.Title, c.Message, c.Link)
		}
		for _, text := range texts {
			if strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) || strings.ContainsAny(text, `"\`) {
				t.Errorf("campaign %s has %q", id, text)
			}
		}
	}
}

// TestShop_PlaysItsEvents: the pixel is broken only on the planned days, and the campaign has conversions again
// afterwards. One creative of the winner, which is active at the end, loses clicks that the other ones keep.
func TestShop_PlaysItsEvents(t *testing.T) {
	now := time.Date(2026, 11, 24, 17, 0, 0, 0, time.UTC)
	s, err := New(1500, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range s.Times() {
		if err := s.MoveTo(at); err != nil {
			t.Fatal(err)
		}
	}
	conversions := func(day schema.Date) (n int64) {
		for l := range s.service.Truth(day.String()) {
			if l.CampaignID == s.roles[broken].id {
				n += l.Conversions
			}
		}
		return n
	}
	today := schema.DateOf(now)
	for day := today - brokenSince; day <= today-repaired; day++ {
		if n := conversions(day); n != 0 {
			t.Errorf("%s: %d conversions of the broken pixel", day, n)
		}
	}
	for _, day := range []schema.Date{today - brokenSince - 1, today - repaired + 1} {
		if conversions(day) == 0 {
			t.Errorf("%s: no conversions, though the pixel works", day)
		}
	}
	rate := func(first, last schema.Date, isTiring bool) float64 {
		var clicks, impressions int64
		for day := first; day <= last; day++ {
			for l := range s.service.Truth(day.String()) {
				if l.CampaignID == s.roles[winner].id && (l.CreativeID == s.tiring) == isTiring {
					clicks, impressions = clicks+l.Clicks, impressions+l.Impressions
				}
			}
		}
		return float64(clicks) / float64(impressions)
	}
	for isTiring, most := range map[bool]float64{true: 0.65, false: 1.2} {
		before, after := rate(today-days, today-tiredSince-1, isTiring), rate(today-tiredSince, today-1, isTiring)
		if !(after < most*before) || !isTiring && after < 0.8*before {
			t.Errorf("tiring %v: clicks per impression were %.5f and are %.5f", isTiring, before, after)
		}
	}
	settings, err := s.service.Settings(s.roles[winner].id)
	if err != nil || !slices.ContainsFunc(settings.Creatives, func(c adsim.CreativeSettings) bool {
		return c.CreativeID == s.tiring && c.Status == "active"
	}) {
		t.Errorf("the tiring creative %q is not active: %v", s.tiring, err)
	}
	if b := s.service.BalanceAsOf(now, true); b.IsZero() {
		t.Error("the account has no balance")
	}
}
