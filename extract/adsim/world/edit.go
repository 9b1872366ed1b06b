package world

import (
	"maps"
	"slices"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Write is how a change is made.
type Write struct {
	Free bool // pausing is never limited
	// Ordered is a change made on command: spending follows it only if the campaign was also changed through the API,
	// or in a prepaid account.
	Ordered bool
	Trial   bool // dry_run: nothing changes
}

// Edit works a write in, whole or not at all, and returns the state in which it has happened.
func (s *World) Edit(w Write, do func(e *Editor) error) (ledger.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	st := s.stateLocked(now)
	e := s.editorOf(&st)
	e.api = !w.Ordered
	if err := do(e); err != nil || w.Trial {
		return st, err
	}
	if !w.Free && !w.Ordered {
		if err := s.take(now, e.Cost); err != nil {
			return st, err
		}
	}
	e.commit()
	return s.stateLocked(now), nil
}

// editorOf starts an edit on top of the earlier changes. Reads of the state see the edit.
func (s *World) editorOf(st *ledger.State) *Editor {
	e := &Editor{World: s, St: st, Next: s.changes.Clone(), touched: map[string]bool{},
		Cost: map[string]int{}}
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
		e.reviews = append(slices.DeleteFunc(e.reviews, func(o review) bool { return o.creative == r.creative }), r)
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

// Image is one that was uploaded.
type Image struct {
	ID          string `json:"id,omitempty"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Size        int    `json:"size_bytes"`
}

// AddImage gives an image its ID and keeps it.
func (e *Editor) AddImage(up *Image) {
	e.Cost[ImageUpload]++
	e.uploads++
	up.ID = chance.Hex24(chance.Hash(e.Account.Seed, chance.AboutUpload, uint64(e.uploads)))
	e.images[up.ID] = up
}

// The kinds of images.
const (
	KindIcon  = "icon"
	KindImage = "image"
)

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
