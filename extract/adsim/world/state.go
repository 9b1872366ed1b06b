package world

import (
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Snapshot takes the state of this instant. The clock is asked once.
func (s *World) Snapshot() ledger.State { return s.StateAt(s.Clock.Now()) }

func (s *World) StateAt(now time.Time) ledger.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	return s.stateLocked(now)
}

// stateLocked takes the state of an instant; s.mu is held.
func (s *World) stateLocked(now time.Time) ledger.State {
	asOf := now.Truncate(s.Cfg.Refresh)
	today := clock.DayOf(now, s.Zone)
	if s.anchor == 0 || today < s.anchor {
		s.anchor = today
	}
	return ledger.State{
		Account: s.Account, Kept: s.Kept, Cfg: &s.Cfg,
		Now: now, AsOf: asOf, Today: today, Balance: s.Cfg.BalanceStatus, Anchor: s.anchor, Used: s.budgets.at(now),
		Version: s.version, Frozen: s.frozen, FrozenAt: s.frozenAt, Overlays: s.overlays, Changes: s.changes,
	}
}
