package world

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
)

// A prepaid account has the wired amounts less the cost of its clicks. All its campaigns follow
// their settings from the Chicago day of its first request, and none is delivered while the balance
// is zero.

// maxFunds is the largest single transfer: a billion dollars.
const maxFunds = 1_000_000_000_000_000

// fundsCheck is how often a prepaid account's balance is checked. Between checks its
// campaigns may overspend a little.
const fundsCheck = 5 * time.Minute

// ParseFunds parses an amount that may be wired: a number or exact decimal text.
func ParseFunds(amount any) (millionths int64, err error) {
	millionths, ok := jsontext.ParseMillionths(fmt.Sprint(amount))
	if !ok {
		return 0, fmt.Errorf("amount %v: expected a decimal of at most six places", amount)
	}
	return millionths, nil
}

// AddFunds wires money to a prepaid account, in millionths of a US dollar. Nobody
// can do that through the API.
func (s *World) AddFunds(amount int64) error {
	switch {
	case s.Cfg.Prepaid == 0:
		return errors.New("funds: the account pays by card")
	case amount <= 0 || amount > maxFunds:
		return fmt.Errorf("funds: %s is not more than 0 and at most %s", jsontext.Exact(amount),
			jsontext.Exact(maxFunds))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	s.openFunds(now)
	next := s.changes.Clone()
	next.Deposits = append(slices.Clip(next.Deposits), ledger.Deposit{At: now, Amount: amount})
	if n := len(next.Balance); n > 0 && next.Balance[n-1].Emptied {
		next.Balance = append(slices.Clip(next.Balance), ledger.BalanceMark{At: now})
		next.NoteDay(clock.DayOf(now, s.Zone))
	}
	s.changes = next
	s.Record(Entry{Op: "funds", At: now, Amount: amount})
	return nil
}

// openFunds opens the account on the Chicago day of its first request.
func (s *World) openFunds(now time.Time) {
	if s.Cfg.Prepaid == 0 || s.changes != nil && s.changes.Deposits != nil {
		return
	}
	begins := clock.DayOf(now, s.Zone).Start(s.Zone)
	next := s.changes.Clone()
	next.Deposits = []ledger.Deposit{{At: begins, Amount: s.Cfg.Prepaid}}
	s.changes, s.fundsChecked = next, begins
}

// settleFunds finds when a prepaid account was empty, until an instant. s.mu is held.
func (s *World) settleFunds(until time.Time) {
	if s.Cfg.Prepaid == 0 {
		return
	}
	s.openFunds(until)
	until = until.Truncate(fundsCheck)
	for s.fundsChecked.Before(until) {
		d := clock.DayOf(s.fundsChecked, s.Zone)
		s.followAll(d)
		end := (d + 1).Start(s.Zone)
		if until.Before(end) {
			end = until
		}
		s.markEmpty(s.fundsChecked, end)
		s.fundsChecked = end
	}
}

// markEmpty notes when, after one instant and until another of the same day, nothing
// was left.
func (s *World) markEmpty(from, until time.Time) {
	st := s.stateLocked(until)
	empty := func(t time.Time) bool { return st.FundsLeft(t) <= 0 }
	if st.BalanceAt(until) != "" || !empty(until) {
		return
	}
	steps := int((until.Sub(from) + fundsCheck - 1) / fundsCheck)
	n := sort.Search(steps-1, func(i int) bool { return empty(from.Add(time.Duration(i+1) * fundsCheck)) }) + 1
	at := from.Add(time.Duration(n) * fundsCheck)
	if at.After(until) {
		at = until
	}
	next := s.changes.Clone()
	next.Balance = append(slices.Clip(next.Balance), ledger.BalanceMark{At: at, Status: "depleted", Emptied: true})
	next.NoteDay(clock.DayOf(at, s.Zone))
	s.changes = next
}

// followAll lets all campaigns of a day follow their settings from its beginning.
func (s *World) followAll(d clock.Day) {
	var next *ledger.Changes
	for _, c := range s.Account.ExistingOn(d) {
		if s.changes.History[c.ID] != nil {
			continue
		}
		if next == nil {
			next = s.changes.Clone()
		}
		next.History[c.ID] = []ledger.Version{
			{ByItself: true, Of: &ledger.NoCampaignChanges},
			next.VersionOf(c, d.Start(s.Zone)),
		}
	}
	if next != nil {
		next.NoteDay(d)
		s.changes = next
	}
}

// BalanceAsOf is the instant that a reply of the balance is about: a fresh one of now,
// another of the last ten minutes, though never older than the last fresh one.
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

// SetBalance makes the balance "low", "depleted" or "ok" from now on; "" lets it
// follow from the spend again. While it is depleted, campaigns that follow their
// settings are not delivered.
func (s *World) SetBalance(status string) error {
	if !slices.Contains([]string{"", "ok", "low", "depleted"}, status) {
		return fmt.Errorf("balance: %q is none of ok, low, depleted", status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	next := s.changes.Clone()
	for len(next.Balance) > 0 && !next.Balance[len(next.Balance)-1].At.Before(now) {
		next.Balance = next.Balance[:len(next.Balance)-1]
	}
	next.Balance = append(slices.Clip(next.Balance), ledger.BalanceMark{At: now, Status: status})
	next.NoteDay(clock.DayOf(now, s.Zone))
	s.changes = next
	s.Record(Entry{Op: "balance", At: now, Name: status})
	return nil
}
