package adsim

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// write is one change asked for through the API.
type write struct {
	busy  []string       // what must not be in change already: a campaign, a creative, or creating
	cost  map[string]int // what it takes of the day's budgets
	free  bool           // pausing is never limited
	trial bool           // dry_run: nothing changes
}

// creating is what all creates have in common: one at a time.
const creating = "create"

// edit works a write in, whole or not at all, and moves the call's state to where
// it has happened.
func (s *Service) edit(c *call, w write, do func(e *editor) *problem) *problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	st := s.stateLocked(now)
	if !w.free {
		if p := s.stillBusy(now, w.busy); p != nil && !s.replaying() {
			return p
		}
	}
	e := s.editorOf(&st)
	e.api = true
	if p := do(e); p != nil {
		return p
	}
	if p := s.overBudget(s.budgets, now, w.cost); p != nil && !w.free && !w.trial && !s.replaying() {
		return p
	}
	if w.trial {
		*c.st = st
		return nil
	}
	if !w.free {
		s.budgets = s.budgets.with(now, w.cost)
		s.markBusy(now, w.busy)
	}
	e.commit()
	s.recordCall(c, now)
	*c.st = s.stateLocked(now)
	return nil
}

// editorOf begins an edit of what was asked before. What is read from the state is
// what the edit has made of it.
func (s *Service) editorOf(st *state) *editor {
	e := &editor{Service: s, st: st, next: s.changes.clone(), touched: map[string]bool{}}
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
	e.Service.changes = e.next
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
	e.next.history[id] = append(slices.Clip(old), e.next.versionOf(e.campaign(e.st, id), now))
	e.next.noteDay(dayOf(now, e.zone))
}

// versionOf is what was asked of a campaign and its creatives until now.
func (ch *changes) versionOf(cp *campaign, at time.Time) version {
	v := version{at: at, campaign: cp, of: ch.campaign(cp.id), creatives: map[string]*creativeChanges{}}
	for cr, of := range ch.creatives {
		if strings.HasPrefix(cr, cp.id+"-") {
			v.creatives[cr] = of
		}
	}
	return v
}

// version is what was asked of a campaign and its creatives from an instant on.
type version struct {
	at        time.Time
	campaign  *campaign
	byItself  bool // before the first change through the API
	of        *campaignChanges
	creatives map[string]*creativeChanges
}

// creative is what was asked of a creative, never nil.
func (v *version) creative(id string) *creativeChanges {
	if of := v.creatives[id]; of != nil {
		return of
	}
	return &noCreativeChanges
}

// dayMark is the number of the last change of spending on a day.
type dayMark struct {
	day day
	seq uint64
}

// noteDay marks a day, and all after it, as changed.
func (ch *changes) noteDay(d day) {
	ch.seq++
	keep := ch.marks
	for len(keep) > 0 && keep[len(keep)-1].day >= d {
		keep = keep[:len(keep)-1]
	}
	ch.marks = append(slices.Clip(keep), dayMark{d, ch.seq})
}

// last is the number of the last change.
func (ch *changes) last() uint64 {
	if ch == nil {
		return 0
	}
	return ch.seq
}

// markOf is what the spending of a day depends on, as far as it was changed.
func (ch *changes) markOf(d day) uint64 {
	if ch == nil {
		return 0
	}
	for i := len(ch.marks) - 1; i >= 0; i-- {
		if ch.marks[i].day <= d {
			return ch.marks[i].seq
		}
	}
	return 0
}

// stillBusy says whether another change is still in progress.
func (s *Service) stillBusy(now time.Time, busy []string) *problem {
	for _, what := range busy {
		until, is := s.busy[what]
		if !is || !now.Before(until) {
			continue
		}
		wait := max(1, int(math.Ceil(until.Sub(now).Seconds())))
		if what == creating {
			return tooMany(wait, "Another create is still in progress.")
		}
		return tooMany(wait, "Another change to %s is still in progress.", what)
	}
	return nil
}

func (s *Service) markBusy(now time.Time, busy []string) {
	maps.DeleteFunc(s.busy, func(_ string, until time.Time) bool {
		return !now.Before(until) || until.Sub(now) > s.cfg.ChangeTakes
	})
	if s.cfg.ChangeTakes <= 0 {
		return
	}
	for _, what := range busy {
		s.busy[what] = now.Add(s.cfg.ChangeTakes)
	}
}
