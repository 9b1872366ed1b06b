package world

import (
	"errors"
	"slices"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// AddFunds wires an amount in millionths of a US dollar to a prepaid account. The API has no such operation.
func (s *World) AddFunds(amount int64) error {
	if s.Cfg.Prepaid == 0 {
		return errors.New("funds: the account pays by card")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.openFunds(now)
	next := s.changes.Clone()
	next.Deposits = append(slices.Clip(next.Deposits), ledger.Deposit{At: now, Amount: amount})
	next.NoteDay(clock.DayOf(now, s.Zone))
	s.changes = next
	return nil
}

// openFunds makes the initial deposit of a prepaid account unless it was made before. The deposit takes effect at the
// start of the present Chicago day.
func (s *World) openFunds(now time.Time) {
	if s.Cfg.Prepaid == 0 || s.changes != nil && s.changes.Deposits != nil {
		return
	}
	begins := clock.DayOf(now, s.Zone).Start(s.Zone)
	next := s.changes.Clone()
	next.Deposits = []ledger.Deposit{{At: begins, Amount: s.Cfg.Prepaid}}
	s.changes = next
}

// BalanceAsOf returns the time to which the balance in a reply refers. For a fresh reply this is now. For any other
// reply it may be up to ten minutes ago, but never before the last fresh reply.
func (s *World) BalanceAsOf(now time.Time, fresh bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.balanceRead.After(now) {
		s.balanceRead = time.Time{} // the clock was set back
	}
	if fresh {
		s.balanceRead = now
		return now
	}
	if at := now.Truncate(10 * time.Minute); at.After(s.balanceRead) {
		return at
	}
	return s.balanceRead
}
