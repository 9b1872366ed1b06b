package world

import (
	"maps"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Edit works a change in, whole or not at all, and returns the state in which it has happened.
func (s *World) Edit(do func(e *Editor) error) (ledger.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.openFunds(now)
	st := s.stateLocked(now)
	// Reads of the state see the edit.
	e := &Editor{World: s, St: &st, Next: s.changes.Clone(), touched: map[string]bool{}}
	st.Changes = e.Next
	if err := do(e); err != nil {
		return st, err
	}
	if e.Next.Deposits != nil { // in a prepaid account spending follows the settings
		for _, id := range slices.Sorted(maps.Keys(e.touched)) {
			e.keepHistory(id)
		}
	}
	s.changes = e.Next
	return s.stateLocked(now), nil
}

// keepHistory adds what the campaign is from now on. A clock that was set back has
// nothing ahead of it.
func (e *Editor) keepHistory(id string) {
	old := e.Next.History[id]
	now := e.St.Now
	if old == nil {
		old = []ledger.Version{{ByItself: true, Of: &ledger.NoCampaignChanges}}
	}
	for len(old) > 1 && !old[len(old)-1].At.Before(now) {
		old = old[:len(old)-1]
	}
	e.Next.History[id] = append(slices.Clip(old), e.Next.VersionOf(e.St.Campaign(id), now))
	e.Next.NoteDay(clock.DayOf(now, e.Zone))
}
