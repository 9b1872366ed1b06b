package adsim

import (
	"crypto/subtle"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// world is one account as it is now: the generated account, the changes made to it, and the clock. Every
// change goes into the journal.
type world struct {
	cfg       Config
	index     int // among the accounts of the service
	firstMade int // number of the first campaign that is created
	zone      *time.Location
	clock     *clock
	time      *timekeeper
	account   *account
	access    *access
	kept      *caches
	journal   *journal // of all accounts
	requests  atomic.Uint64

	mu       sync.Mutex
	anchor   day // first day the service was asked on
	version  uint64
	overlays map[day]*overlay
	changes  *changes
	frozen   bool
	frozenAt time.Time
	budgets  *budgets
	busy     busy
	// fundsChecked is the instant until which the funds of a prepaid account were checked.
	fundsChecked time.Time
	// balanceRead is when a fresh balance was last asked for.
	balanceRead time.Time
	reviews     []review
	images      map[string]*image
	uploads     int
}

// newWorld makes the index-th account of a service. cfg has its defaults.
func newWorld(cfg Config, index int, c *clock, j *journal) *world {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // time/tzdata is linked in
	}
	a := newAccount(cfg, index, zone)
	return &world{
		cfg: cfg, index: index, firstMade: firstMade + index*1_000_000, zone: zone, clock: c, account: a,
		time: &timekeeper{c, zone, j}, access: newAccess(&cfg), kept: newCaches(a), journal: j, frozen: cfg.FreezeRestatements,
		busy: busy{}, images: map[string]*image{},
	}
}

// reset restores the account to its start, but for the clock.
func (s *world) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Numbers of states go on: results are cached by number.
	next := &changes{}
	if s.changes != nil {
		next.seq = s.changes.seq
	}
	s.changes, s.reviews, s.budgets, s.busy = next, nil, nil, busy{}
	s.images, s.uploads = map[string]*image{}, 0
	s.overlays, s.frozen, s.anchor, s.fundsChecked = nil, s.cfg.FreezeRestatements, 0, time.Time{}
	s.balanceRead = time.Time{}
	s.version++
	s.access.reset(&s.cfg)
}

// isUser reports whether these are the credentials of the dashboard user.
func (s *world) isUser(user, password string) bool {
	return same(user, s.cfg.ReportUser) && same(password, s.cfg.ReportPassword)
}

// requestID differs in every reply that carries one.
func (s *world) requestID() string {
	return fmt.Sprintf("req_%016x", chance(s.account.seed, s.requests.Add(1)))
}

// imageCount returns the number of uploaded images.
func (s *world) imageCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.images)
}

// same compares secrets in a time that tells nothing about them.
func same(x, y string) bool { return subtle.ConstantTimeCompare([]byte(x), []byte(y)) == 1 }
