package world

import (
	"maps"
	"math"
	"slices"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Write is one change asked for through the API.
type Write struct {
	Busy []string       // must have no change in progress: a campaign, a creative, or creating
	Cost map[string]int // the part of the day's budgets that it uses
	Free bool           // pausing is never limited
	// Ordered is a change made on command: spending follows it only if the campaign was also changed through the API,
	// or in a prepaid account.
	Ordered bool
	Trial   bool // dry_run: nothing changes
}

// Creating is what all creates have in common: one at a time.
const Creating = "create"

// Edit works a write in, whole or not at all, and returns the state in which it has happened.
func (s *World) Edit(w Write, do func(e *Editor) error) (ledger.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	st := s.stateLocked(now)
	if !w.Free {
		if err := s.busy.check(now, w.Busy); err != nil {
			return st, err
		}
	}
	e := s.editorOf(&st)
	e.api = !w.Ordered
	if err := do(e); err != nil {
		return st, err
	}
	if !w.Free && !w.Trial {
		if err := s.budgets.over(s, now, w.Cost); err != nil {
			return st, err
		}
	}
	if w.Trial {
		return st, nil
	}
	if !w.Free {
		s.budgets = s.budgets.with(now, w.Cost)
		s.busy.mark(now, s.Cfg.ChangeTakes, w.Busy)
	}
	e.commit()
	return s.stateLocked(now), nil
}

// editorOf starts an edit on top of the earlier changes. Reads of the state see the edit.
func (s *World) editorOf(st *ledger.State) *Editor {
	e := &Editor{World: s, St: st, Next: s.changes.Clone(), touched: map[string]bool{}}
	st.Changes = e.Next
	return e
}

// commit makes the edit the current state. From its first change through the API on, in a prepaid account from any
// change on, a campaign keeps the history that its spending follows.
func (e *Editor) commit() {
	for _, id := range slices.Sorted(maps.Keys(e.touched)) {
		if e.api || e.Next.Deposits != nil || e.Next.History[id] != nil {
			e.keepHistory(id)
		}
	}
	for _, r := range e.submitted { // drop the creative's earlier submission
		e.reviews = append(slices.DeleteFunc(e.reviews, func(o review) bool {
			return o.creative == r.creative &&
				o.version == r.version
		}), r)
	}
	e.World.changes = e.Next
}

// keepHistory adds what the campaign is from now on. A clock that was set back has
// nothing ahead of it.
func (e *Editor) keepHistory(id string) {
	old := e.Next.History[id]
	now := e.St.Now
	if old == nil {
		old = []ledger.Version{{ByItself: true, Of: &ledger.NoCampaignChanges}}
	}
	for len(old) > 1 && !old[len(old)-1].At.Before(now) {
		old = old[:len(old)-1]
	}
	e.Next.History[id] = append(slices.Clip(old), e.Next.VersionOf(e.St.Campaign(id), now))
	e.Next.NoteDay(clock.DayOf(now, e.Zone))
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
		if what == Creating {
			return &Limited{wait, "Another create is still in progress."}
		}
		return &Limited{wait, "Another change to " + what + " is still in progress."}
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

// Image is one that was uploaded.
type Image struct {
	ID          string `json:"id,omitempty"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Size        int    `json:"size_bytes"`
}

func (s *World) addImage(up *Image) {
	s.uploads++
	up.ID = chance.Hex24(chance.Hash(s.Account.Seed, chance.AboutUpload, uint64(s.uploads)))
	s.images[up.ID] = up
}

// The kinds of images.
const (
	KindIcon  = "icon"
	KindImage = "image"
)

// KeepImage gives an image its ID and keeps it, if the budget allows.
func (s *World) KeepImage(up *Image) (ledger.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	cost := map[string]int{ImageUpload: 1}
	if err := s.budgets.over(s, now, cost); err != nil {
		return ledger.State{}, err
	}
	s.budgets = s.budgets.with(now, cost)
	s.addImage(up)
	return s.stateLocked(now), nil
}

// MayUpload returns an error if the day's budget has no room for another image.
func (s *World) MayUpload(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budgets.over(s, now, map[string]int{ImageUpload: 1})
}

// ImageKind is the kind of an image of the account, "" for one that there is not.
func (e *Editor) ImageKind(id string) string {
	if up := e.images[id]; up != nil {
		return up.Kind
	}
	for _, cp := range e.St.Campaigns() {
		for _, cr := range e.St.Creatives(cp) {
			switch now := e.St.CreativeNow(cr); id {
			case now.IconID:
				return KindIcon
			case now.ImageID:
				return KindImage
			}
		}
	}
	return ""
}
