package adsim

import "time"

// state is what an answer depends on besides the question. It is a value of one
// instant: a request takes it once and sees no change while it is answered.
type state struct {
	now      time.Time
	asOf     time.Time // the report's numbers are of this instant
	today    day
	anchor   day
	version  uint64 // of the restatements
	frozen   bool
	frozenAt time.Time
	overlays map[day]*overlay
	changes  *changes       // of the settings
	balance  string         // as configured
	used     map[string]int // of the day's change budgets
}

// snapshot takes the state of this instant. The clock is asked once.
func (s *Service) snapshot() state { return s.stateAt(s.clock.now()) }

func (s *Service) stateAt(now time.Time) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	return s.stateLocked(now)
}

// stateLocked takes the state of an instant; s.mu is held.
func (s *Service) stateLocked(now time.Time) state {
	asOf := now.Truncate(s.cfg.Refresh)
	today := dayOf(now, s.zone)
	if s.anchor == 0 || today < s.anchor {
		s.anchor = today
	}
	return state{
		now: now, asOf: asOf, today: today, balance: s.cfg.BalanceStatus, anchor: s.anchor, used: s.budgets.at(now),
		version: s.version, frozen: s.frozen, frozenAt: s.frozenAt, overlays: s.overlays, changes: s.changes,
	}
}
