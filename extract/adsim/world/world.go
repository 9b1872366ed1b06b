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

// World is the current state of one account: the generated account, the changes made to it, and the
// clock. Every change is written to the journal.
type World struct {
	Cfg       config.Config
	index     int // among the accounts of the service
	firstMade int // number of the first campaign that is created
	Zone      *time.Location
	Clock     *clock.Clock
	Time      *Timekeeper
	Account   *market.Account
	Access    *Access
	kept      *ledger.Caches
	Journal   *Journal // of all accounts
	requests  atomic.Uint64

	mu       sync.Mutex
	anchor   clock.Day // first day the service was asked on
	version  uint64
	overlays map[clock.Day]*ledger.Overlay
	changes  *ledger.Changes
	frozen   bool
	frozenAt time.Time
	budgets  *budgets
	busy     busy
	// fundsChecked is the instant until which the funds of a prepaid account were checked.
	fundsChecked time.Time
	// balanceRead is the time of the last request for a fresh balance.
	balanceRead time.Time
	reviews     []review
	images      map[string]*Image
	uploads     int
}

// New makes the index-th account of a service. cfg has its defaults.
func New(cfg config.Config, index int, c *clock.Clock, j *Journal) *World {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // time/tzdata is linked in
	}
	a := market.NewAccount(cfg, index, zone)
	return &World{
		Cfg: cfg, index: index, firstMade: firstMade + index*1_000_000, Zone: zone, Clock: c, Account: a,
		Time: &Timekeeper{
			c,
			zone,
			j,
		}, Access: newAccess(&cfg), kept: ledger.NewCaches(a), Journal: j, frozen: cfg.FreezeRestatements,
		busy: busy{}, images: map[string]*Image{},
	}
}

// Reset restores the account to its start, but for the clock.
func (s *World) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Numbers of states continue across resets: results are cached by number.
	next := &ledger.Changes{}
	if s.changes != nil {
		next.Seq = s.changes.Seq
	}
	s.changes, s.reviews, s.budgets, s.busy = next, nil, nil, busy{}
	s.images, s.uploads = map[string]*Image{}, 0
	s.overlays, s.frozen, s.anchor, s.fundsChecked = nil, s.Cfg.FreezeRestatements, 0, time.Time{}
	s.balanceRead = time.Time{}
	s.version++
	s.Access.reset(&s.Cfg)
}

// IsUser reports whether these are the credentials of the dashboard user.
func (s *World) IsUser(user, password string) bool {
	return Same(user, s.Cfg.ReportUser) && Same(password, s.Cfg.ReportPassword)
}

// RequestID differs in every reply that carries one.
func (s *World) RequestID() string {
	return fmt.Sprintf("req_%016x", chance.Hash(s.Account.Seed, s.requests.Add(1)))
}

// Same compares secrets in constant time.
func Same(x, y string) bool { return subtle.ConstantTimeCompare([]byte(x), []byte(y)) == 1 }

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
		Account: s.Account, Kept: s.kept, Cfg: &s.Cfg,
		Now: now, AsOf: asOf, Today: today, Balance: s.Cfg.BalanceStatus, Anchor: s.anchor, Used: s.budgets.at(now),
		Version: s.version, Frozen: s.frozen, FrozenAt: s.frozenAt, Overlays: s.overlays, Changes: s.changes,
	}
}
