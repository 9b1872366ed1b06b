package world

import (
	"crypto/subtle"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// World holds one account: the generated account, the changes made to it, and the clock.
type World struct {
	Cfg       config.Config
	firstMade int // lowest number in the IDs of campaigns created by changes
	Zone      *time.Location
	Clock     *clock.Clock
	Account   *market.Account
	caches    *ledger.Caches
	requests  atomic.Uint64

	mu          sync.Mutex
	anchor      clock.Day // day of the first request: see [market.Account.Listing]
	version     uint64    // number of restatements
	overlays    map[clock.Day]*ledger.Overlay
	changes     *ledger.Changes
	balanceRead time.Time // when a fresh balance was last requested
}

// New makes the index-th account of a service. The caller must have called SetDefaults on cfg.
func New(cfg config.Config, index int, c *clock.Clock) *World {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // time/tzdata is linked in
	}
	a := market.NewAccount(cfg, index, zone)
	return &World{
		Cfg: cfg, firstMade: firstMade + index*1_000_000, Zone: zone, Clock: c, Account: a,
		caches: ledger.NewCaches(a), overlays: map[clock.Day]*ledger.Overlay{},
	}
}

// IsUser reports whether these are the credentials of the dashboard user.
func (s *World) IsUser(user, password string) bool {
	return Same(user, s.Cfg.ReportUser) && Same(password, s.Cfg.ReportPassword)
}

// Today returns the Chicago day of the service's clock, as YYYY-MM-DD. The report reaches back to 32 days before this
// day.
func (s *World) Today() string { return clock.DayOf(s.Clock.Now(), s.Zone).String() }

// RequestID returns a request ID that is unique in the account.
func (s *World) RequestID() string {
	return fmt.Sprintf("req_%016x", chance.Hash(s.Account.Seed, s.requests.Add(1)))
}

// Same reports whether two secrets are equal, in constant time.
func Same(x, y string) bool { return subtle.ConstantTimeCompare([]byte(x), []byte(y)) == 1 }

// Snapshot returns the state as of now. It reads the clock once.
func (s *World) Snapshot() ledger.State { return s.StateAt(s.Clock.Now()) }

// StateAt returns the state of the account at the instant now, which must be the present time of the clock.
func (s *World) StateAt(now time.Time) ledger.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openFunds(now)
	return s.stateLocked(now)
}

// stateLocked is StateAt for a caller that holds s.mu.
func (s *World) stateLocked(now time.Time) ledger.State {
	asOf := now.Truncate(ledger.Refresh)
	today := clock.DayOf(now, s.Zone)
	if s.anchor == 0 || today < s.anchor {
		s.anchor = today
	}
	return ledger.State{
		Account: s.Account, Caches: s.caches, Cfg: &s.Cfg,
		Now: now, AsOf: asOf, Today: today, Anchor: s.anchor,
		Version: s.version, Frozen: s.Cfg.FreezeRestatements, Overlays: s.overlays, Changes: s.changes,
	}
}
