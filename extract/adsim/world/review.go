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

// review is a creative that waits for a person to look at it.
type review struct {
	creative  string
	version   bool // of a creative that runs
	submitted time.Time
	due       time.Time // zero: only on command
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

// Submit submits a creative for review. Its earlier submission is dropped.
func (e *Editor) Submit(cr *market.Creative, version bool) {
	now := e.St.Now
	r := review{creative: cr.ID, version: version, submitted: now}
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

// forbidden are the words that a reviewer does not let pass, with the reason.
var forbidden = []struct{ word, reason string }{
	{"guarantee", "misleading_claim"}, {"risk-free", "misleading_claim"}, {"miracle", "misleading_claim"},
	{"virus detected", "deceptive_alert"}, {"you have won", "deceptive_alert"}, {"click here now", "low_quality_text"},
}

// judge returns the verdict of a reviewer without instructions.
func judge(ct ledger.Content) (v Verdict) {
	text := strings.ToLower(ct.Title + "\n" + ct.Message)
	for _, f := range forbidden {
		if strings.Contains(text, f.word) {
			v.Reasons = append(v.Reasons, f.reason)
			v.Comment = strings.TrimSpace(v.Comment + " Please leave out \"" + f.word + "\".")
		}
	}
	v.Reasons = slices.Compact(v.Reasons)
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
		s.decide(r, r.due, nil)
	}
}

// decide ends a review. A creative that is no longer under review stays unchanged.
func (s *World) decide(r review, at time.Time, told *Verdict) {
	st := s.stateLocked(at)
	e := s.editorOf(&st)
	e.api = true
	e.reviews = slices.DeleteFunc(slices.Clone(e.reviews), func(o review) bool {
		return o.creative == r.creative &&
			o.version == r.version
	})
	campaignID, _, _ := strings.Cut(r.creative, "-")
	cp := st.Campaign(campaignID)
	if cp == nil {
		return
	}
	cr := st.Creative(cp, r.creative)
	status := st.CreativeStatus(cr)
	of := e.OfCreative(cr.ID)
	ct := ledger.ContentOf(st.CreativeNow(cr))
	if r.version {
		if of.Pending == nil || of.Pending.Rejected || status == "archived" {
			return
		}
		ct = *of.Pending
	} else if status != "pending_review" {
		return
	}
	v := judge(ct)
	if told != nil {
		v = *told
	}
	e.follow(of, r, ct, v)
	e.commit()
}

// follow applies a verdict.
func (e *Editor) follow(of *ledger.CreativeChanges, r review, ct ledger.Content, v Verdict) {
	switch {
	case r.version && v.Approve:
		ct.Set(of)
		of.Pending = nil
	case r.version:
		ct.Rejected, ct.Reasons, ct.Comment = true, slices.Clone(v.Reasons), v.Comment
		of.Pending = &ct
	case v.Approve:
		status := "active"
		of.Status, of.RejectionReasons, of.RejectionComment = &status, nil, nil
	default:
		status, reasons, comment := "rejected", append([]string{}, v.Reasons...), v.Comment
		of.Status, of.RejectionReasons, of.RejectionComment = &status, &reasons, &comment
	}
}

// Review ends the review of a creative, or of its waiting version, as a person
// would.
func (s *World) Review(v Verdict) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	st := s.stateLocked(now)
	campaignID, _, _ := strings.Cut(v.Creative, "-")
	var cr *market.Creative
	if cp := st.Campaign(campaignID); cp != nil {
		cr = st.Creative(cp, v.Creative)
	}
	if cr == nil {
		return fmt.Errorf("review: no creative %q", v.Creative)
	}
	if !v.Approve && len(v.Reasons) == 0 {
		return errors.New("review: a rejection needs a reason")
	}
	of := st.Changes.Creative(cr.ID)
	switch {
	case of.Pending != nil && !of.Pending.Rejected:
		s.decide(review{creative: cr.ID, version: true}, now, &v)
	case st.CreativeStatus(cr) == "pending_review":
		s.decide(review{creative: cr.ID}, now, &v)
	default:
		return fmt.Errorf("review: creative %s does not wait for one", cr.ID)
	}
	return nil
}
