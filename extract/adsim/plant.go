package adsim

import (
	"fmt"
	"slices"
)

// Plant lets an effect happen from its first day on. Several on one day multiply.
func (s *world) Plant(planted Effect) error {
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
	s.record(journalLine{Op: "plant", At: now, What: what(&planted)})
	return nil
}
