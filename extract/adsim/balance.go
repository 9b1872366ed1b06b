package adsim

import (
	"fmt"
	"slices"
	"time"
)

// balanceMark is what the balance was made to be from an instant on.
type balanceMark struct {
	at      time.Time
	status  string
	emptied bool // by what was spent
}

// SetBalance makes the balance "low", "depleted" or "ok" from now on; "" lets it
// follow from the spend again. While it is depleted, campaigns that follow their
// settings are not delivered.
func (s *Service) SetBalance(status string) error {
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

// balanceAt is what the balance was made to be, "" where it follows from the spend.
func (st *state) balanceAt(t time.Time) string {
	status := st.balance
	if st.changes != nil {
		for _, m := range st.changes.balance {
			if !m.at.After(t) {
				status = m.status
			}
		}
	}
	return status
}
