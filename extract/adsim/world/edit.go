package world

import (
	"maps"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Edit makes the change that the given function describes, and returns the state after it. If the function returns an
// error, nothing is changed.
func (s *World) Edit(do func(e *Editor) error) (ledger.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.openFunds(now)
	st := s.stateLocked(now)
	// e.St refers to e.Next, so that reads through e.St see the changes that do(e) makes.
	e := &Editor{World: s, St: &st, Next: s.changes.Clone(), touched: map[string]bool{}}
	st.Changes = e.Next
	if err := do(e); err != nil {
		return st, err
	}
	if e.Next.Deposits != nil { // the account is prepaid, so that spending depends on the settings over time
		for _, id := range slices.Sorted(maps.Keys(e.touched)) {
			e.addVersion(id)
		}
	}
	s.changes = e.Next
	return s.stateLocked(now), nil
}

// addVersion adds a version of a campaign's settings, which begins now. Versions that begin later are dropped; they
// exist only if the clock was set back.
func (e *Editor) addVersion(id string) {
	old := e.Next.History[id]
	now := e.St.Now
	if old == nil {
		old = []ledger.Version{{Generated: true, Changes: &ledger.NoCampaignChanges}}
	}
	for len(old) > 1 && !old[len(old)-1].At.Before(now) {
		old = old[:len(old)-1]
	}
	e.Next.History[id] = append(slices.Clip(old), e.Next.VersionOf(e.St.Campaign(id), now))
	e.Next.NoteDay(clock.DayOf(now, e.Zone))
}
