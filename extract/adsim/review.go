package adsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// review is a creative that waits for a person to look at it.
type review struct {
	creative  string
	version   bool // of a creative that runs
	submitted time.Time
	due       time.Time // zero: only on command
}

// Verdict is what the review says of a creative.
type Verdict struct {
	Creative string   `json:"creative"` // ID
	Approve  bool     `json:"approve"`
	Reasons  []string `json:"reasons,omitempty"` // of a rejection
	Comment  string   `json:"comment,omitempty"`
}

// longestReview is how long a review takes at most where nothing else is set:
// usually within a day.
const longestReview = 22 * time.Hour

// submit puts a creative before the reviewer. What waited of it before is gone.
func (e *editor) submit(cr *creative, version bool) {
	now := e.st.now
	r := review{creative: cr.id, version: version, submitted: now}
	switch takes := e.cfg.ReviewTakes; {
	case takes > 0:
		r.due = now.Add(takes)
	case takes == 0:
		h := chance(cr.key, aboutReview, uint64(now.Unix()))
		r.due = now.Add(time.Hour + time.Duration(below(h, uint64(longestReview-time.Hour))).Truncate(time.Minute))
	}
	e.submitted = append(e.submitted, r)
}

// forbidden are the words that a reviewer does not let pass, with the reason.
var forbidden = []struct{ word, reason string }{
	{"guarantee", "misleading_claim"}, {"risk-free", "misleading_claim"}, {"miracle", "misleading_claim"},
	{"virus detected", "deceptive_alert"}, {"you have won", "deceptive_alert"}, {"click here now", "low_quality_text"},
}

// judge is what a reviewer says of a content when nobody tells him.
func judge(ct content) (v Verdict) {
	text := strings.ToLower(ct.title + "\n" + ct.message)
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

// settle does what was due until now: reviews that are done, funds that ran out. s.mu
// is held.
func (s *world) settle(now time.Time) {
	for {
		at := -1
		for i, r := range s.reviews {
			if !r.due.IsZero() && !r.due.After(now) && (at < 0 || r.due.Before(s.reviews[at].due)) {
				at = i
			}
		}
		if at < 0 {
			s.settleFunds(now)
			return
		}
		r := s.reviews[at]
		s.settleFunds(r.due)
		s.decide(r, r.due, nil)
	}
}

// decide ends a review. A creative that is no longer before the reviewer stays as
// it is.
func (s *world) decide(r review, at time.Time, told *Verdict) {
	st := s.stateLocked(at)
	e := s.editorOf(&st)
	e.api = true
	e.reviews = slices.DeleteFunc(slices.Clone(e.reviews), func(o review) bool {
		return o.creative == r.creative &&
			o.version == r.version
	})
	campaignID, _, _ := strings.Cut(r.creative, "-")
	cp := st.campaign(campaignID)
	if cp == nil {
		return
	}
	cr := st.creative(cp, r.creative)
	status := st.creativeStatus(cr)
	of := e.ofCreative(cr.id)
	ct := contentOf(st.creativeNow(cr))
	if r.version {
		if of.pending == nil || of.pending.rejected || status == "archived" {
			return
		}
		ct = *of.pending
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

// follow does what the verdict says.
func (e *editor) follow(of *creativeChanges, r review, ct content, v Verdict) {
	switch {
	case r.version && v.Approve:
		ct.set(of)
		of.pending = nil
	case r.version:
		ct.rejected, ct.reasons, ct.comment = true, slices.Clone(v.Reasons), v.Comment
		of.pending = &ct
	case v.Approve:
		status := "active"
		of.status, of.rejectionReasons, of.rejectionComment = &status, nil, nil
	default:
		status, reasons, comment := "rejected", append([]string{}, v.Reasons...), v.Comment
		of.status, of.rejectionReasons, of.rejectionComment = &status, &reasons, &comment
	}
}

// Review ends the review of a creative, or of its waiting version, as a person
// would.
func (s *world) Review(v Verdict) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	st := s.stateLocked(now)
	campaignID, _, _ := strings.Cut(v.Creative, "-")
	var cr *creative
	if cp := st.campaign(campaignID); cp != nil {
		cr = st.creative(cp, v.Creative)
	}
	if cr == nil {
		return fmt.Errorf("review: no creative %q", v.Creative)
	}
	if !v.Approve && len(v.Reasons) == 0 {
		return errors.New("review: a rejection needs a reason")
	}
	of := st.changes.creative(cr.id)
	switch {
	case of.pending != nil && !of.pending.rejected:
		s.decide(review{creative: cr.id, version: true}, now, &v)
	case st.creativeStatus(cr) == "pending_review":
		s.decide(review{creative: cr.id}, now, &v)
	default:
		return fmt.Errorf("review: creative %s does not wait for one", cr.id)
	}
	s.record(journalLine{Op: "review", At: now, What: what(&v)})
	return nil
}

// Waiting lists the creatives that wait for a review, in the order in which they
// were submitted through the API.
func (s *world) Waiting() []string {
	s.snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, r := range s.reviews {
		ids = append(ids, r.creative)
	}
	return ids
}
