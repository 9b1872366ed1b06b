package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// review is a creative that waits for a person to look at it, or at its new version.
type review struct {
	creative string
	due      time.Time // zero: only on command
}

// Verdict is the outcome of a review.
type Verdict struct {
	Creative string   `json:"creative"` // ID
	Approve  bool     `json:"approve"`
	Reasons  []string `json:"reasons,omitempty"` // of a rejection
	Comment  string   `json:"comment,omitempty"`
}

// longestReview is how long a review takes at most where nothing else is set:
// usually within a day.
const longestReview = 22 * time.Hour

// Submit submits a creative, or its new version, for review. Its earlier submission is dropped.
func (e *Editor) Submit(cr *market.Creative) {
	now := e.St.Now
	r := review{creative: cr.ID}
	switch takes := e.Cfg.ReviewTakes; {
	case takes > 0:
		r.due = now.Add(takes)
	case takes == 0:
		h := chance.Hash(cr.Key, chance.AboutReview, uint64(now.Unix()))
		r.due = now.Add(
			time.Hour + time.Duration(chance.Below(h, uint64(longestReview-time.Hour))).Truncate(time.Minute))
	}
	e.submitted = append(e.submitted, r)
}

// judge returns the verdict of a reviewer without instructions, who does not let two words pass.
func judge(ct ledger.Content) (v Verdict) {
	text := strings.ToLower(ct.Title + "\n" + ct.Message)
	for _, word := range []string{"guarantee", "miracle"} {
		if strings.Contains(text, word) {
			v.Reasons = []string{"misleading_claim"}
			v.Comment = strings.TrimSpace(v.Comment + " Please leave out \"" + word + "\".")
		}
	}
	v.Approve = v.Reasons == nil
	return v
}

// settle processes everything due until now: finished reviews. s.mu is held.
func (s *World) settle(now time.Time) {
	s.openFunds(now)
	for {
		at := -1
		for i, r := range s.reviews {
			if !r.due.IsZero() && !r.due.After(now) && (at < 0 || r.due.Before(s.reviews[at].due)) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		r := s.reviews[at]
		_ = s.decide(r.creative, r.due, nil) // a creative that is no longer under review stays unchanged
	}
}

// decide ends the review of a creative, or of its new version. Without a verdict the reviewer has no instructions.
func (s *World) decide(id string, at time.Time, told *Verdict) error {
	st := s.stateLocked(at)
	e := s.editorOf(&st)
	e.api = true
	e.reviews = slices.DeleteFunc(slices.Clone(e.reviews), func(o review) bool { return o.creative == id })
	campaignID, _, _ := strings.Cut(id, "-")
	cp := st.Campaign(campaignID)
	if cp == nil || st.Creative(cp, id) == nil {
		return fmt.Errorf("review: no creative %q", id)
	}
	now := st.CreativeNow(st.Creative(cp, id))
	of := e.OfCreative(id)
	ct, version := now.Content, of.Pending != nil && !of.Pending.Rejected && now.Status != "archived"
	switch {
	case version:
		ct = *of.Pending
	case now.Status != "pending_review":
		return fmt.Errorf("review: creative %s does not wait for one", id)
	}
	v := judge(ct)
	if told != nil {
		v = *told
	}
	reasons, comment, status := append([]string{}, v.Reasons...), v.Comment, "active"
	switch {
	case version && v.Approve:
		of.Content, of.Pending = &ct, nil
	case version:
		ct.Rejected, ct.Reasons, ct.Comment = true, reasons, comment
		of.Pending = &ct
	case v.Approve:
		of.Status, of.RejectionReasons, of.RejectionComment = &status, nil, nil
	default:
		status = "rejected"
		of.Status, of.RejectionReasons, of.RejectionComment = &status, &reasons, &comment
	}
	e.commit()
	return nil
}

// Review ends the review of a creative, or of its waiting version, as a person would.
func (s *World) Review(v Verdict) error {
	if !v.Approve && len(v.Reasons) == 0 {
		return errors.New("review: a rejection needs a reason")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	return s.decide(v.Creative, now, &v)
}
