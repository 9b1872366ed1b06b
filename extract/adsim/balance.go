package adsim

import (
	"fmt"
	"slices"
)

// SetBalance makes the balance "low", "depleted" or "ok" from now on; "" lets it
// follow from the spend again. While it is depleted, campaigns that follow their
// settings are not delivered.
func (s *world) SetBalance(status string) error {
	if !slices.Contains([]string{"", "ok", "low", "depleted"}, status) {
		return fmt.Errorf("balance: %q is none of ok, low, depleted", status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	next := s.changes.clone()
	for len(next.balance) > 0 && !next.balance[len(next.balance)-1].at.Before(now) {
		next.balance = next.balance[:len(next.balance)-1]
	}
	next.balance = append(slices.Clip(next.balance), balanceMark{at: now, status: status})
	next.noteDay(dayOf(now, s.zone))
	s.changes = next
	s.record(journalLine{Op: "balance", At: now, Name: status})
	return nil
}
