package adsim

import "time"

// snapshot takes the state of this instant. The clock is asked once.
func (s *world) snapshot() state { return s.stateAt(s.clock.now()) }

func (s *world) stateAt(now time.Time) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	return s.stateLocked(now)
}

// stateLocked takes the state of an instant; s.mu is held.
func (s *world) stateLocked(now time.Time) state {
	asOf := now.Truncate(s.cfg.Refresh)
	today := dayOf(now, s.zone)
	if s.anchor == 0 || today < s.anchor {
		s.anchor = today
	}
	return state{
		account: s.account, kept: s.kept, cfg: &s.cfg,
		now: now, asOf: asOf, today: today, balance: s.cfg.BalanceStatus, anchor: s.anchor, used: s.budgets.at(now),
		version: s.version, frozen: s.frozen, frozenAt: s.frozenAt, overlays: s.overlays, changes: s.changes,
	}
}
