package adsim

import (
	"maps"
	"math"
	"slices"
	"time"
)

// write is one change asked for through the API.
type write struct {
	busy  []string       // what must not be in change already: a campaign, a creative, or creating
	cost  map[string]int // what it takes of the day's budgets
	free  bool           // pausing is never limited
	trial bool           // dry_run: nothing changes
	line  journalLine    // to do it again
}

// creating is what all creates have in common: one at a time.
const creating = "create"

// edit works a write in, whole or not at all, and returns the state in which it has happened.
func (s *world) edit(w write, do func(e *editor) error) (state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	st := s.stateLocked(now)
	checked := !w.free && !s.journal.replaying()
	if checked {
		if err := s.busy.check(now, w.busy); err != nil {
			return st, err
		}
	}
	e := s.editorOf(&st)
	e.api = true
	if err := do(e); err != nil {
		return st, err
	}
	if checked && !w.trial {
		if err := s.budgets.over(s.access, now, w.cost); err != nil {
			return st, err
		}
	}
	if w.trial {
		return st, nil
	}
	if !w.free {
		s.budgets = s.budgets.with(now, w.cost)
		s.busy.mark(now, s.cfg.ChangeTakes, w.busy)
	}
	e.commit()
	w.line.At = now
	s.record(w.line)
	return s.stateLocked(now), nil
}

// editorOf begins an edit of what was asked before. What is read from the state is
// what the edit has made of it.
func (s *world) editorOf(st *state) *editor {
	e := &editor{world: s, st: st, next: s.changes.clone(), touched: map[string]bool{}}
	st.changes = e.next
	return e
}

// commit makes the edit what is there now. From its first change through the API
// on, a campaign keeps the history that its spending follows.
func (e *editor) commit() {
	for _, id := range sortedKeys(e.touched) {
		if e.api || e.next.history[id] != nil {
			e.keepHistory(id)
		}
	}
	for _, r := range e.submitted { // what waited of the creative before is gone
		e.reviews = append(slices.DeleteFunc(e.reviews, func(o review) bool {
			return o.creative == r.creative &&
				o.version == r.version
		}), r)
	}
	e.world.changes = e.next
}

// keepHistory adds what the campaign is from now on. A clock that was set back has
// nothing ahead of it.
func (e *editor) keepHistory(id string) {
	old := e.next.history[id]
	now := e.st.now
	if old == nil {
		old = []version{{byItself: true, of: &noCampaignChanges}}
	}
	for len(old) > 1 && !old[len(old)-1].at.Before(now) {
		old = old[:len(old)-1]
	}
	e.next.history[id] = append(slices.Clip(old), e.next.versionOf(e.st.campaign(id), now))
	e.next.noteDay(dayOf(now, e.zone))
}

// busy is the changes in progress, by campaign or creative, and when each ends.
type busy map[string]time.Time

// check reports whether another change is still in progress.
func (b busy) check(now time.Time, names []string) error {
	for _, what := range names {
		until, is := b[what]
		if !is || !now.Before(until) {
			continue
		}
		wait := max(1, int(math.Ceil(until.Sub(now).Seconds())))
		if what == creating {
			return &limited{wait, "Another create is still in progress."}
		}
		return &limited{wait, "Another change to " + what + " is still in progress."}
	}
	return nil
}

func (b busy) mark(now time.Time, takes time.Duration, names []string) {
	maps.DeleteFunc(b, func(_ string, until time.Time) bool {
		return !now.Before(until) || until.Sub(now) > takes
	})
	if takes <= 0 {
		return
	}
	for _, what := range names {
		b[what] = now.Add(takes)
	}
}
