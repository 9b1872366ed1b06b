package world

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// Restate changes rows of a day as of now.
func (s *World) Restate(date string, change ledger.Restatement) error {
	d, ok := clock.ParseDay(date)
	if !ok {
		return fmt.Errorf("restate: %q is not a day", date)
	}
	st := s.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Overlays, st.Version = s.overlays, s.version

	next, err := st.Restate(d, change)
	if err != nil {
		return fmt.Errorf("restate %s: %w", date, err)
	}
	overlays := maps.Clone(s.overlays)
	overlays[d] = next
	s.overlays = overlays
	s.version++
	return nil
}

// Plant adds an effect. If several effects apply on one day, their factors are multiplied.
func (s *World) Plant(planted ledger.Effect) error {
	e := ledger.Planted{Effect: planted, Last: market.Never}
	var ok bool
	if e.First, ok = clock.ParseDay(e.From); !ok {
		return fmt.Errorf("plant: from %q is not a day", e.From)
	}
	if e.To != "" {
		if e.Last, ok = clock.ParseDay(e.To); !ok || e.Last < e.First {
			return fmt.Errorf("plant: to %q is not a day from %s on", e.To, e.From)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.openFunds(now)
	next := s.changes.Clone()
	next.Effects = append(slices.Clip(next.Effects), e)
	next.NoteDay(e.First)
	s.changes = next
	return nil
}
