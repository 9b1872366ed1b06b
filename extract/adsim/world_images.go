package adsim

import "time"

// image is one that was uploaded.
type image struct {
	id, kind, contentType string
	width, height, size   int
}

func (s *world) addImage(up *image) {
	s.uploads++
	up.id = hex24(chance(s.account.seed, aboutUpload, uint64(s.uploads)))
	s.images[up.id] = up
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
	kindIcon  = "icon"
	kindImage = "image"
)

// keepImage gives an image its ID and keeps it, if the budget allows.
func (s *world) keepImage(up *image) (state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	cost := map[string]int{imageUpload: 1}
	if err := s.budgets.over(s.access, now, cost); err != nil {
		return state{}, err
	}
	s.budgets = s.budgets.with(now, cost)
	s.addImage(up)
	s.record(journalLine{Op: "image", At: now, What: what(imageEntry{up.kind, up.contentType, up.width, up.height,
		up.size})})
	return s.stateLocked(now), nil
}

// mayUpload returns an error if the day's budget has no room for another image.
func (s *world) mayUpload(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budgets.over(s.access, now, map[string]int{imageUpload: 1})
}

// imageKind is the kind of an image of the account, "" for one that there is not.
func (e *editor) imageKind(id string) string {
	if up := e.images[id]; up != nil {
		return up.kind
	}
	for _, cp := range e.st.campaigns() {
		for _, cr := range e.st.creatives(cp) {
			switch now := e.st.creativeNow(cr); id {
			case now.iconID:
				return kindIcon
			case now.imageID:
				return kindImage
			}
		}
	}
	return ""
}
