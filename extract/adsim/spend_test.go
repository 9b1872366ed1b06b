package adsim

import (
	"slices"
	"testing"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
)

func TestClock_StandsRunsAndAdvances(t *testing.T) {
	real := noon
	s := New(config.Config{Now: func() time.Time { return real }})
	if got := s.Now(); !got.Equal(noon) {
		t.Errorf("got %v, want the clock of the config", got)
	}
	s.Advance(time.Hour)
	real = real.Add(time.Minute)
	if got, want := s.Now(), noon.Add(time.Hour+time.Minute); !got.Equal(want) {
		t.Errorf("running: got %v, want %v", got, want)
	}
	s.SetNow(noon)
	real = real.Add(time.Minute)
	s.Advance(time.Second)
	if got, want := s.Now(), noon.Add(time.Second); !got.Equal(want) {
		t.Errorf("standing: got %v, want %v", got, want)
	}
	s.RunFrom(noon)
	real = real.Add(time.Minute)
	if got, want := s.Now(), noon.Add(time.Minute); !got.Equal(want) {
		t.Errorf("running again: got %v, want %v", got, want)
	}
}

func TestSpend_TodayGrowsWithTheClock(t *testing.T) {
	for _, date := range []string{"2026-11-21", "2026-03-08", "2026-11-01", "2013-11-03", "2037-03-08"} {
		s := New(config.Config{RowsPerDay: 400})
		d, _ := clock.ParseDay(date)
		end := (d + 1).Start(s.World.Zone)
		var before []ledger.Line
		for at := d.Start(s.World.Zone); !at.After(end); at = at.Add(30 * time.Minute) {
			s.SetNow(at)
			now := truth(s, date)
			old := map[string]ledger.Line{}
			for _, l := range before {
				old[l.CreativeID+" "+l.SourceID] = l
			}
			for _, l := range now {
				was := old[l.CreativeID+" "+l.SourceID]
				delete(old, l.CreativeID+" "+l.SourceID)
				if l.Clicks < was.Clicks || l.Impressions < was.Impressions || l.Conversions < was.Conversions {
					t.Fatalf("%v: %+v was %+v", at, l, was)
				}
			}
			for key, was := range old {
				if was.SourceID != "" {
					t.Fatalf("%v: %s is gone", at, key)
				}
			}
			before = now
		}
		s.SetNow(end.Add(40 * 24 * time.Hour))
		if got, want := total(before), total(truth(s, date)); got.Rows != want.Rows ||
			got.Impressions != want.Impressions {
			t.Errorf("%s: at its end %+v, for good %+v", date, got, want)
		}
		s.SetNow(d.Start(s.World.Zone))
		if got := total(truth(s, date)); got.Spend != 0 {
			t.Errorf("%s: at its first instant %+v", date, got)
		}
	}
}

func TestSpend_DaysOf23And25HoursFillWhole(t *testing.T) {
	s := New(config.Config{})
	for date, hours := range map[string]int{"2026-03-08": 23, "2026-11-01": 25, "2026-11-20": 24} {
		d, _ := clock.ParseDay(date)
		start := d.Start(s.World.Zone)
		last := uint32(0)
		for h := range hours {
			share := clock.ArrivedShare(d, start.Add(time.Duration(h)*time.Hour), s.World.Zone)
			if h > 0 && share <= last || share >= 1<<16 {
				t.Errorf("%s: after %d hours %d, before that %d", date, h, share, last)
			}
			last = share
		}
		if got := clock.ArrivedShare(d, start.Add(time.Duration(hours)*time.Hour), s.World.Zone); got != 1<<16 {
			t.Errorf("%s: after %d hours %d, want all", date, hours, got)
		}
	}
}

func TestSpend_ConversionsKeepArriving(t *testing.T) {
	s := sim(config.Config{RowsPerDay: 2500})
	first := total(truth(s, yesterday))
	var seen []int64
	for range 25 {
		s.Advance(24 * time.Hour)
		seen = append(seen, total(truth(s, yesterday)).Conversions)
	}
	if !slices.IsSorted(seen) || seen[0] <= first.Conversions || seen[24] < first.Conversions*5/4 {
		t.Errorf("conversions of a day, day after day: %d %v", first.Conversions, seen)
	}
	if seen[24] != seen[23] {
		t.Errorf("conversions still arrive after 24 days: %v", seen)
	}
	last := total(truth(s, yesterday))
	if last.Rows != first.Rows || last.Spend >= first.Spend || last.Spend < first.Spend*99/100 {
		t.Errorf("got %+v, want some credits after %+v", last, first)
	}
}

func TestSpend_FrozenDaysStay(t *testing.T) {
	s := sim(config.Config{FreezeRestatements: true})
	before := truth(s, yesterday)
	s.Advance(20 * 24 * time.Hour)
	diff(t, truth(s, yesterday), before)
}

func TestAccount_CampaignsComeAndNeverVanish(t *testing.T) {
	s := sim(config.Config{})
	st := s.Snapshot()
	was := s.World.Account.Listing(st.Anchor, st.Today).List
	for d := st.Today; d < st.Today+120; d++ {
		now := s.World.Account.Listing(st.Anchor, d).List
		for _, c := range was {
			if !slices.Contains(now, c) {
				t.Fatalf("%v: %s is gone", d, c.ID)
			}
		}
		// Every campaign that can have rows is listed.
		for _, c := range s.World.Account.ExistingOn(d) {
			if !slices.Contains(now, c) {
				t.Fatalf("%v: %s is in the report only", d, c.ID)
			}
		}
		was = now
	}
	if len(was) <= 36 {
		t.Errorf("no campaign was created in 120 days")
	}
}
