package adsim

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// A prepaid account has what was wired to it, less what its clicks cost. All its
// campaigns follow their settings from the Chicago day on which it is first asked,
// and none is delivered while nothing is left.

// maxFunds is what may be wired at once: a billion dollars.
const maxFunds = 1_000_000_000_000_000

// fundsCheck is how often a prepaid account is looked at. In between its campaigns
// may spend a little more than there is.
const fundsCheck = 5 * time.Minute

// AddFunds wires money to a prepaid account, in millionths of a US dollar. Nobody
// can do that through the API.
func (s *world) AddFunds(amount int64) error {
	switch {
	case s.cfg.Prepaid == 0:
		return errors.New("funds: the account pays by card")
	case amount <= 0 || amount > maxFunds:
		return fmt.Errorf("funds: %s is not more than 0 and at most %s", exact(amount), exact(maxFunds))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	s.openFunds(now)
	next := s.changes.clone()
	next.deposits = append(slices.Clip(next.deposits), deposit{now, amount})
	if n := len(next.balance); n > 0 && next.balance[n-1].emptied {
		next.balance = append(slices.Clip(next.balance), balanceMark{at: now})
		next.noteDay(dayOf(now, s.zone))
	}
	s.changes = next
	s.record(journalLine{Op: "funds", At: now, Amount: amount})
	return nil
}

// openFunds begins the account with the Chicago day on which it is first asked.
func (s *world) openFunds(now time.Time) {
	if s.cfg.Prepaid == 0 || s.changes != nil && s.changes.deposits != nil {
		return
	}
	begins := dayOf(now, s.zone).start(s.zone)
	next := s.changes.clone()
	next.deposits = []deposit{{begins, s.cfg.Prepaid}}
	s.changes, s.fundsChecked = next, begins
}

// settleFunds finds when a prepaid account was empty, until an instant. s.mu is held.
func (s *world) settleFunds(until time.Time) {
	if s.cfg.Prepaid == 0 {
		return
	}
	s.openFunds(until)
	until = until.Truncate(fundsCheck)
	for s.fundsChecked.Before(until) {
		d := dayOf(s.fundsChecked, s.zone)
		s.followAll(d)
		end := (d + 1).start(s.zone)
		if until.Before(end) {
			end = until
		}
		s.markEmpty(s.fundsChecked, end)
		s.fundsChecked = end
	}
}

// markEmpty notes when, after one instant and until another of the same day, nothing
// was left.
func (s *world) markEmpty(from, until time.Time) {
	st := s.stateLocked(until)
	empty := func(t time.Time) bool { return st.fundsLeft(t) <= 0 }
	if st.balanceAt(until) != "" || !empty(until) {
		return
	}
	steps := int((until.Sub(from) + fundsCheck - 1) / fundsCheck)
	n := sort.Search(steps-1, func(i int) bool { return empty(from.Add(time.Duration(i+1) * fundsCheck)) }) + 1
	at := from.Add(time.Duration(n) * fundsCheck)
	if at.After(until) {
		at = until
	}
	next := s.changes.clone()
	next.balance = append(slices.Clip(next.balance), balanceMark{at: at, status: "depleted", emptied: true})
	next.noteDay(dayOf(at, s.zone))
	s.changes = next
}

// followAll lets all campaigns of a day follow their settings from its beginning.
func (s *world) followAll(d day) {
	var next *changes
	for _, c := range s.account.existingOn(d) {
		if s.changes.history[c.id] != nil {
			continue
		}
		if next == nil {
			next = s.changes.clone()
		}
		next.history[c.id] = []version{{byItself: true, of: &noCampaignChanges}, next.versionOf(c, d.start(s.zone))}
	}
	if next != nil {
		next.noteDay(d)
		s.changes = next
	}
}

// balanceAsOf is the instant that a reply of the balance is about: a fresh one of now,
// another of the last ten minutes, though never older than the last fresh one.
func (s *world) balanceAsOf(now time.Time, fresh bool) time.Time {
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
