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

// deposit is money that came by wire.
type deposit struct {
	at     time.Time
	amount int64
}

// maxFunds is what may be wired at once: a billion dollars.
const maxFunds = 1_000_000_000_000_000

// fundsCheck is how often a prepaid account is looked at. In between its campaigns
// may spend a little more than there is.
const fundsCheck = 5 * time.Minute

// AddFunds wires money to a prepaid account, in millionths of a US dollar. Nobody
// can do that through the API.
func (s *Service) AddFunds(amount int64) error {
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
func (s *Service) openFunds(now time.Time) {
	if s.cfg.Prepaid == 0 || s.changes != nil && s.changes.deposits != nil {
		return
	}
	begins := dayOf(now, s.zone).start(s.zone)
	next := s.changes.clone()
	next.deposits = []deposit{{begins, s.cfg.Prepaid}}
	s.changes, s.fundsChecked = next, begins
}

// settleFunds finds when a prepaid account was empty, until an instant. s.mu is held.
func (s *Service) settleFunds(until time.Time) {
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
func (s *Service) markEmpty(from, until time.Time) {
	st := s.stateLocked(until)
	empty := func(t time.Time) bool { return s.fundsLeft(&st, t) <= 0 }
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
func (s *Service) followAll(d day) {
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

// fundsLeft is what is left of the deposits at an instant; less than nothing, where
// clicks came in after the last look.
func (s *Service) fundsLeft(st *state, t time.Time) (left int64) {
	deposits := st.changes.deposits
	for _, d := range deposits {
		if !d.at.After(t) {
			left += d.amount
		}
	}
	for d := dayOf(deposits[0].at, s.zone); d <= dayOf(t, s.zone); d++ {
		left -= s.clicksCost(st, d, t)
	}
	return left
}

// costKey is what the clicks of a day depend on.
type costKey struct {
	day  day
	mark uint64
}

// clicksCost is what the clicks of a day have cost until an instant, before credits
// and restatements.
func (s *Service) clicksCost(st *state, d day, until time.Time) int64 {
	end := (d + 1).start(s.zone)
	if until.Before(end) {
		return s.account.clicksCost(st, d, until)
	}
	return s.kept.costs.get(costKey{d, st.changes.markOf(d)}, func() int64 { return s.account.clicksCost(st, d, end) })
}

func (a *account) clicksCost(st *state, d day, until time.Time) (sum int64) {
	at := *st
	at.now, at.asOf = until, until
	sd := &spendDay{day: d, sources: a.sources, began: d.start(a.zone).Unix(), known: until.Unix()}
	all, traffic := a.byItself(d)
	byItself := map[string][]entry{}
	for _, e := range all {
		id := e.creative.campaign.id
		byItself[id] = append(byItself[id], e)
	}
	for _, id := range at.followed(d, a.zone) {
		sum += a.followDay(&at, sd, at.changes.history[id], byItself[id], traffic).spent()
	}
	return sum
}
