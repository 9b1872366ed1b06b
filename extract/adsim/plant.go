package adsim

import (
	"fmt"
	"slices"
)

// Effect is something that happens to what a campaign brings, or one of its creatives,
// on some days: what is to be found in the numbers of an account.
type Effect struct {
	CampaignID string `json:"campaign_id"` // or
	CreativeID string `json:"creative_id"`
	// From and To are Chicago days, YYYY-MM-DD, both included; without To it stays.
	From string `json:"from"`
	To   string `json:"to"`
	// Clicks and Conversions are how many percent more come of the same impressions, and
	// of the same clicks; less than 0: fewer. At -100 there are none.
	Clicks      int64 `json:"clicks"`
	Conversions int64 `json:"conversions"`
}

// effect is an Effect with its days.
type effect struct {
	Effect
	from, to day
}

// Plant lets an effect happen from its first day on. Several on one day multiply.
func (s *Service) Plant(planted Effect) error {
	e := effect{Effect: planted, to: never}
	var ok bool
	if e.from, ok = parseDay(e.From); !ok {
		return fmt.Errorf("plant: from %q is not a day", e.From)
	}
	if e.To != "" {
		if e.to, ok = parseDay(e.To); !ok || e.to < e.from {
			return fmt.Errorf("plant: to %q is not a day from %s on", e.To, e.From)
		}
	}
	if (e.CampaignID == "") == (e.CreativeID == "") {
		return fmt.Errorf("plant: expected a campaign or a creative")
	}
	for _, percent := range []int64{e.Clicks, e.Conversions} {
		if percent < -100 || percent > 1000 {
			return fmt.Errorf("plant: %d is not a percentage from -100 to 1000", percent)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	next := s.changes.clone()
	next.effects = append(slices.Clip(next.effects), e)
	next.noteDay(e.from)
	s.changes = next
	s.record(journalLine{Op: "plant", At: now, Effect: &planted})
	return nil
}

// plant changes the rates of a creative on a day as was asked.
func (ch *changes) plant(e *entry, d day) {
	if ch == nil {
		return
	}
	for _, p := range ch.effects {
		if d < p.from || d > p.to || p.CampaignID != e.creative.campaign.id && p.CreativeID != e.creative.id {
			continue
		}
		e.clickRate = min(e.clickRate*uint64(100+p.Clicks)/100, 1<<15)
		e.convertRate = min(e.convertRate*uint64(100+p.Conversions)/100, 1<<15)
	}
}

// Rates are what a creative brings by chance on a day, YYYY-MM-DD: clicks an impression,
// and conversions a click at a source once all of them have arrived. It says what is true
// of them, where the report says what came of it.
func (s *Service) Rates(date, creativeID, sourceID string) (clicks, conversions float64, err error) {
	st := s.snapshot()
	d, ok := parseDay(date)
	cr := s.account.creativeOn(d, creativeID)
	source, known := s.account.sources.index(sourceID)
	if !ok || cr == nil || !known {
		return 0, 0, fmt.Errorf("rates: no creative %q at source %q on %q", creativeID, sourceID, date)
	}
	e := entry{creative: cr}
	e.clickRate, e.convertRate = cr.rates()
	st.changes.plant(&e, d)
	worth := float64(s.account.sources.worth[source]) / 256
	return float64(e.clickRate) / (1 << 16), float64(e.convertRate) / (1 << 16) * worth, nil
}

// rates are a creative's own: clicks an impression, and conversions a click at a plain
// source, in 65536ths.
func (cr *creative) rates() (click, convert uint64) {
	c := cr.campaign
	return c.clickRate * (70 + cr.key%61) / 100, c.convertRate * (70 + cr.key>>8%61) / 100
}
