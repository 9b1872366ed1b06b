package extract

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// catalogue is a service that lists campaigns, newest first.
type catalogue struct {
	ids    []string
	status func(id string) string // nil: all are active
	totals bool
	shown  bool                  // the total is the number of entries on the page
	atMost int                   // entries per page, whatever limit is requested; 0: as requested
	stuck  bool                  // the offset is ignored
	before func(request int)     // called before each reply; requests count from 1
	twist  func(string, *string) // receives the query, and may change the reply's body
	asked  []string              // status and offset of each request
}

// numbered returns the IDs of n campaigns, newest first.
func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("C%07d", 1_000_000+n-i)
	}
	return ids
}

func (s *catalogue) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	limit, err1 := strconv.Atoi(q.Get("limit"))
	offset, err2 := strconv.Atoi(q.Get("offset"))
	if err := errors.Join(err1, err2); err != nil || offset > 10_000 || limit != 100 && limit != 1 {
		return answerWith(400, `{"error":{"code":"validation_failed"}}`)
	}
	s.asked = append(s.asked, q.Get("status")+" "+q.Get("offset"))
	if s.before != nil {
		s.before(len(s.asked))
	}
	if s.atMost > 0 {
		limit = min(limit, s.atMost)
	}
	if s.stuck {
		offset = 0
	}
	statuses := q.Get("status") + ","
	page, total := []string{}, 0
	for _, id := range s.ids {
		status := "active"
		if s.status != nil {
			status = s.status(id)
		}
		if !strings.Contains(statuses, status+",") {
			continue
		}
		if total >= offset && total < offset+limit {
			page = append(page, `{"id":"`+id+`"}`)
		}
		total++
	}
	body := "[" + strings.Join(page, ",") + "]"
	if s.shown {
		total = len(page)
	}
	if s.totals {
		body = fmt.Sprintf(`{"campaigns":%s,"total":%d}`, body, total)
	}
	if s.twist != nil {
		s.twist(q.Encode(), &body)
	}
	return answerWith(200, body)
}

func (s *catalogue) remove(id string) {
	s.ids = slices.DeleteFunc(s.ids, func(x string) bool { return x == id })
}

func (s *catalogue) list(t *testing.T) Listing {
	t.Helper()
	l, err := newTestClient(t, s).Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "a reason", l.Why != "", !l.Complete)
	seen := map[string]bool{}
	for _, id := range idsOf(l) {
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
	}
	return l
}

func idsOf(l Listing) []string {
	ids := []string{}
	for _, e := range l.Entities {
		ids = append(ids, e.ID)
	}
	return ids
}

const everyStatus = "active,paused,archived,rejected"

// TestCampaigns_ProvesItsEndWithoutATotal: a service may send smaller pages than requested. So without a total, a page
// that is not full does not prove the end.
func TestCampaigns_ProvesItsEndWithoutATotal(t *testing.T) {
	for _, n := range []int{7, 10, 25, 33, 60} {
		s := &catalogue{ids: numbered(n)}
		l := s.list(t)
		check(t, "complete", l.Complete, true)
		check(t, "asked", strings.Join(s.asked, "; "), fmt.Sprintf("%s 0; %[1]s %d", everyStatus, n-1))
		check(t, "campaigns", len(l.Entities), n)
	}
	for _, totals := range []bool{true, false} {
		for _, atMost := range []int{2, 25, 33, 50} {
			s := &catalogue{ids: numbered(137), atMost: atMost, totals: totals}
			l := s.list(t)
			check(t, "complete", l.Complete, true)
			if !slices.Equal(idsOf(l), s.ids) {
				t.Errorf("pages of %d: %d of 137 listed", atMost, len(l.Entities))
			}
		}
	}
}

func TestCampaigns_GivesUpOnAListThatNeverRests(t *testing.T) {
	s := &catalogue{ids: numbered(250)}
	s.before = func(int) { s.remove(s.ids[0]) }
	l := s.list(t)
	check(t, "complete", l.Complete, false)
	check(t, "requests", len(s.asked), 8) // four walks that end on their second page
	if !strings.HasPrefix(l.Why, "the list moved while it was read: at offset 99 C1000") {
		t.Errorf("why %q", l.Why)
	}
	if len(l.Entities) < 99 {
		t.Errorf("%d entities: what was seen is not handed out", len(l.Entities))
	}
}

func TestCampaigns_SplitsALongListByStatus(t *testing.T) {
	long := numbered(10_500)
	byNumber := func(share int) func(string) string {
		return func(id string) string {
			n, _ := strconv.Atoi(id[1:])
			if n%100 < share {
				return "archived"
			}
			return []string{"active", "paused", "rejected"}[n%3]
		}
	}
	t.Run("every status fits", func(t *testing.T) {
		s := &catalogue{ids: long, status: byNumber(60), totals: true}
		l := s.list(t)
		check(t, "complete", l.Complete, true)
		check(t, "campaigns", len(l.Entities), len(long))
		if !slices.Contains(s.asked, "archived 0") || slices.ContainsFunc(s.asked, func(q string) bool {
			return strings.HasSuffix(q, " 10001")
		}) {
			t.Errorf("asked %.300v", s.asked)
		}
	})
	t.Run("one is too long", func(t *testing.T) {
		s := &catalogue{ids: long, status: func(string) string { return "archived" }}
		l := s.list(t)
		check(t, "complete", l.Complete, false)
		check(t, "why", l.Why, "archived: there is more behind offset 10000, the last that may be asked for")
		check(t, "campaigns", len(l.Entities), 10_100)
	})
}

func TestCampaigns_SeesThatTheSamePageComesAgain(t *testing.T) {
	s := &catalogue{ids: numbered(150), stuck: true}
	l := s.list(t)
	check(t, "complete", l.Complete, false)
	check(t, "why", l.Why, "at offset 99 the same entries come again")
	check(t, "campaigns", len(l.Entities), 100)
}

func TestClient_SaysWhatIsNotThere(t *testing.T) {
	c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
		return answerWith(404, `{"error":{"code":"not_found","message":"There is no such campaign.",`+
			`"request_id":"req_17xx"}}`)
	}))
	_, err := c.Campaign(t.Context(), "C1000001")
	wantError(t, err, ErrNotFound, `campaign C1000001: status 404: "There is no such campaign.", request id `+
		`req_17xx: not found`)
	if errors.Is(err, ErrContract) {
		t.Errorf("error %v is one of the contract, too", err)
	}
	_, err = c.Creatives(t.Context(), "C1000001")
	wantError(t, err, ErrNotFound, "creatives of C1000001 from 0: ")
	_, err = c.Sources(t.Context(), "C1000001")
	wantError(t, err, ErrNotFound, "source settings of C1000001: ")
	_, err = c.Me(t.Context())
	wantError(t, err, ErrContract, "key info: status 404")
	_, err = c.Creative(t.Context(), "C1000001-001")
	wantError(t, err, ErrNotFound, "creative C1000001-001: ")
}

// TestClient_AsksForNothingUnderAnOddID: an ID in the report may be any text. An ID that is not valid never becomes
// part of a path.
func TestClient_AsksForNothingUnderAnOddID(t *testing.T) {
	c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("asked %s", r.URL)
		return answerWith(200, "{}")
	}))
	for _, id := range []string{"", "../me", "C1000001/x", "C1000001?x", "C1000001\n"} {
		_, err1 := c.Campaign(t.Context(), id)
		_, err2 := c.Creatives(t.Context(), id)
		_, err3 := c.Sources(t.Context(), id)
		for _, err := range []error{err1, err2, err3} {
			wantError(t, err, ErrContract, fmt.Sprintf("campaign %q: this is not an ID of a campaign", id))
		}
	}
}

// TestCampaigns_OneEntryDoesNotCostTheList: an entry that is not a campaign does not affect other entries, but the list
// is not complete.
func TestCampaigns_OneEntryDoesNotCostTheList(t *testing.T) {
	c := newTestClient(t,
		roundTrip(status(200, `{"campaigns":[{"id":"C1000001"},{"id":1.7},{"id":"C1000003"}],"total":3}`)))
	l, err := c.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "campaigns", strings.Join(idsOf(l), " "), "C1000001 C1000003")
	check(t, "complete", l.Complete, false)
	if !strings.Contains(l.Why, "entry 2: no campaign") {
		t.Errorf("why %q", l.Why)
	}
}
