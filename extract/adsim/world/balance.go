package world

import (
	"fmt"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// SetBalance makes the balance "low", "depleted" or "ok" from now on; "" lets it
// follow from the spend again. While it is depleted, campaigns that follow their
// settings are not delivered.
func (s *World) SetBalance(status string) error {
	if !slices.Contains([]string{"", "ok", "low", "depleted"}, status) {
		return fmt.Errorf("balance: %q is none of ok, low, depleted", status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	next := s.changes.Clone()
	for len(next.Balance) > 0 && !next.Balance[len(next.Balance)-1].At.Before(now) {
		next.Balance = next.Balance[:len(next.Balance)-1]
	}
	next.Balance = append(slices.Clip(next.Balance), ledger.BalanceMark{At: now, Status: status})
	next.NoteDay(clock.DayOf(now, s.Zone))
	s.changes = next
	s.Record(Entry{Op: "balance", At: now, Name: status})
	return nil
}
