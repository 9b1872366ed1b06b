package extract

import (
	"slices"
	"strings"
	"testing"
)

// TestCampaigns_HandsOutWhatAnyReadingSaw: a list that never rests is not complete, and what only its first reading
// showed is not lost.
func TestCampaigns_HandsOutWhatAnyReadingSaw(t *testing.T) {
	s := &catalogue{ids: numbered(250)}
	first := s.ids[1] // the second request removes it
	s.before = func(int) { s.remove(s.ids[0]) }
	l := s.list(t)
	check(t, "complete", l.Complete, false)
	check(t, "what only the first reading saw", slices.Contains(idsOf(l), first), true)
}

// TestCampaigns_OfOneEntryAPage: a service may give its list one by one.
func TestCampaigns_OfOneEntryAPage(t *testing.T) {
	for _, totals := range []bool{true, false} {
		s := &catalogue{ids: numbered(5), atMost: 1, totals: totals}
		l := s.list(t)
		check(t, "complete", l.Complete, true)
		if !slices.Equal(idsOf(l), s.ids) {
			t.Errorf("%d of 5 listed", len(l.Entities))
		}
	}
}

// TestCampaigns_WithAnOddEntry: an entry that is none makes the list incomplete, which says where it stands, and
// keeps no other entry out, also not at the end of a page.
func TestCampaigns_WithAnOddEntry(t *testing.T) {
	for _, at := range []int{5, 98, 99, 100, 249} {
		s := &catalogue{ids: numbered(250)}
		odd := s.ids[at]
		s.twist = func(_ string, body *string) {
			*body = strings.Replace(*body, `{"id":"`+odd+`"}`, `{"ok":true}`, 1)
		}
		l := s.list(t)
		check(t, "complete", l.Complete, false)
		if got := len(l.Entities); got != 249 || slices.Contains(idsOf(l), odd) {
			t.Errorf("entry %d is odd: %d of 249 others are listed", at, got)
		}
		if !strings.HasPrefix(l.Why, "at offset ") {
			t.Errorf("why %q", l.Why)
		}
	}
}
