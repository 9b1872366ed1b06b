package world

import (
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
)

// Image is one that was uploaded.
type Image struct {
	ID, Kind, ContentType string
	Width, Height, Size   int
}

func (s *World) addImage(up *Image) {
	s.uploads++
	up.ID = jsontext.Hex24(chance.Hash(s.Account.Seed, chance.AboutUpload, uint64(s.uploads)))
	s.images[up.ID] = up
}

// imageEntry is what is kept of an image.
type imageEntry struct {
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Size        int    `json:"size"`
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
	if err := s.budgets.over(s.Access, now, cost); err != nil {
		return ledger.State{}, err
	}
	s.budgets = s.budgets.with(now, cost)
	s.addImage(up)
	s.Record(Entry{Op: "image", At: now, What: What(imageEntry{up.Kind, up.ContentType, up.Width, up.Height,
		up.Size})})
	return s.stateLocked(now), nil
}

// MayUpload returns an error if the day's budget has no room for another image.
func (s *World) MayUpload(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budgets.over(s.Access, now, map[string]int{ImageUpload: 1})
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
