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
	shown  bool                  // the total counts the entries of the page
	atMost int                   // entries a page, whatever is asked for; 0: as asked
	stuck  bool                  // the offset is ignored
	before func(request int)     // called before each reply; requests count from 1
	twist  func(string, *string) // may change a reply's body, by the query
	asked  []string              // status and offset of each request
}

// numbered are n campaigns, newest first.
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
	check(t, "requests", l.Requests, len(s.asked))
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

// A service may keep its pages smaller than was asked: without a total a page that is not
// full is no end.
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
	check(t, "requests", l.Requests, 8) // four readings that end on their second page
	if !strings.HasPrefix(l.Why, "the list moved while it was read: at offset 99 C1000") {
		t.Errorf("why %q", l.Why)
	}
	if len(l.Entities) < 99 {
		t.Errorf("%d entities: what was seen is not handed out", len(l.Entities))
	}
}

func TestCampaigns_HoldsTheListAgainstItsTotal(t *testing.T) {
	for name, tc := range map[string]struct {
		wrong    func(request int) bool
		complete bool
		requests int
	}{
		"once":   {func(n int) bool { return n <= 2 }, true, 3},
		"always": {func(int) bool { return true }, false, 4},
	} {
		s := &catalogue{ids: numbered(30), totals: true}
		n := 0
		s.twist = func(_ string, body *string) {
			if n++; tc.wrong(n) {
				*body = strings.Replace(*body, `"total":30`, `"total":31`, 1)
			}
		}
		l := s.list(t)
		check(t, name+" complete", l.Complete, tc.complete)
		check(t, name+" requests", l.Requests, tc.requests)
		check(t, name+" campaigns", len(l.Entities), 30)
		if !tc.complete {
			check(t, "why", l.Why, "30 of the 31 that the service tells of")
		}
	}
	// A total below what is there is a list that moved, no reason to doubt it.
	s := &catalogue{ids: numbered(30), totals: true, twist: func(_ string, body *string) {
		*body = strings.Replace(*body, `"total":30`, `"total":12`, 1)
	}}
	check(t, "complete", s.list(t).Complete, true)
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
	check(t, "why", l.Why, "active: at offset 99 the same entries come again")
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

// A 404 means that an entity is not there only if the service itself says so: the page of a proxy and the error
// of an unknown route say nothing about the entity.
func TestClient_TakesNoProxysWordForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"gone":          {410, `{"error":{"code":"gone","message":"deleted"}}`, ErrNotFound},
		"bare text":     {404, `{"error":"no such campaign"}`, ErrNotFound},
		"no code":       {404, `{"error":{"message":"no such campaign"}}`, ErrNotFound},
		"page":          {404, `<html>not found</html>`, ErrContract},
		"nothing":       {404, ``, ErrContract},
		"gateway":       {404, `{"message":"no Route matched with those values"}`, ErrContract},
		"unknown route": {404, `{"error":{"code":"route_not_found","message":"no"}}`, ErrContract},
		"other status":  {400, `{"error":{"code":"not_found","message":"no"}}`, ErrContract},
	} {
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return answerWith(tc.status, tc.body)
		}))
		_, err := c.Campaign(t.Context(), "C1000001")
		if !errors.Is(err, tc.want) || errors.Is(err, ErrNotFound) != (tc.want == ErrNotFound) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// An ID of the report may be anything; it does not become part of a path.
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

// What the service states of the end in other places, or in words that are no total.
func TestCampaigns_TakesTheServicesWordForTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		atMost   int
		beside   func(offset, shown, total int) string
		header   bool
		complete bool
		requests int
	}{
		"has-more": {4, func(o, n, total int) string { return fmt.Sprintf(`"has_more":%v`, o+n < total) }, false,
			true, 3},
		"total-text": {0, func(_, _, total int) string { return fmt.Sprintf(`"meta":{"total":"%d"}`, total) }, false,
			true, 2},
		"header": {4, nil, true, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ids, asked := numbered(9), 0
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				asked++
				offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
				from := min(offset, len(ids))
				to := len(ids)
				if tc.atMost > 0 {
					to = min(from+tc.atMost, to)
				}
				list := `["` + strings.Join(ids[from:to], `","`) + `"]`
				if from == to {
					list = "[]"
				}
				if tc.header {
					return answerWith(200, list, "X-Total-Count", fmt.Sprint(len(ids)))
				}
				return answerWith(200, `{"campaigns":`+list+`,`+tc.beside(from, to-from, len(ids))+`}`)
			}))
			l, err := c.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "complete", l.Complete, tc.complete)
			check(t, "campaigns", len(l.Entities), 9)
			check(t, "requests", asked, tc.requests)
		})
	}
}

// A total that counts only the page it stands on ends no list, whatever its pages hold: no
// campaign is missed, and one request in a run finds out.
func TestCampaigns_IsNotEndedByATotalOfThePage(t *testing.T) {
	for _, atMost := range []int{0, 2, 4, 25, 33, 100} {
		for _, n := range []int{0, 1, 2, 4, 7, 33, 100, 137, 205} {
			s := &catalogue{ids: numbered(n), totals: true, shown: true, atMost: atMost}
			l := s.list(t)
			check(t, "complete", l.Complete, true)
			if !slices.Equal(idsOf(l), s.ids) {
				t.Errorf("pages of %d: %d of %d listed", atMost, len(l.Entities), n)
			}
			silent := &catalogue{ids: s.ids, atMost: atMost}
			if most := silent.list(t).Requests + 1; l.Requests > most {
				t.Errorf("pages of %d, %d campaigns: %d requests, and no total takes %d", atMost, n, l.Requests, most)
			}
		}
	}
}

// A page shows how long pages are in this run: a shorter list of the same kind needs no
// further request.
func TestCreatives_LearnHowLongAPageIs(t *testing.T) {
	asked := []string{}
	c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		campaign := strings.Split(r.URL.Path, "/")[3]
		asked = append(asked, campaign+" "+r.URL.Query().Get("offset"))
		n := map[string]int{"C1000001": 5, "C1000002": 3, "C1000003": 5}[campaign]
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		list := []string{}
		for i := offset; i < n; i++ {
			list = append(list, fmt.Sprintf(`"%s-%03d"`, campaign, n-i))
		}
		return answerWith(200, "["+strings.Join(list, ",")+"]")
	}))
	for _, campaign := range []string{"C1000001", "C1000002", "C1000003"} {
		l, err := c.Creatives(t.Context(), campaign)
		if err != nil || !l.Complete {
			t.Errorf("%s: %+v, %v", campaign, l, err)
		}
	}
	check(t, "asked", strings.Join(asked, "; "), "C1000001 0; C1000001 4; C1000002 0; C1000003 0; C1000003 4")
}

// An entry that is not a campaign costs no other, and the list is not complete.
func TestCampaigns_OneEntryDoesNotCostTheList(t *testing.T) {
	c := newTestClient(t,
		roundTrip(status(200, `{"campaigns":[{"id":"C1000001"},{"id":17},{"id":"C1000003"}],"total":3}`)))
	l, err := c.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "campaigns", strings.Join(idsOf(l), " "), "C1000001 C1000003")
	check(t, "complete", l.Complete, false)
	if !strings.Contains(l.Why, "2 of the 3") && !strings.Contains(l.Why, "entry 2: id 17 is no campaign ID") {
		t.Errorf("why %q", l.Why)
	}
}

// TestList_BelievesTheTotalOfAHeader: a bare array has no place for it in the body.
func TestList_BelievesTheTotalOfAHeader(t *testing.T) {
	for total, want := range map[string]bool{"2": true, "3": false, "": true, "-1": true, "many": true} {
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			all := []string{`{"id":"C1000002"}`, `{"id":"C1000001"}`}
			from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			some := all[min(from, 2):min(from+limit, 2)]
			return answerWith(200, "["+strings.Join(some, ",")+"]", "X-Total-Count", total)
		}))
		got, err := c.Campaigns(t.Context())
		if err != nil || len(got.Entities) != 2 || got.Complete != want {
			t.Errorf("a total of %q: %+v, %v", total, got, err)
		}
		if why := "2 of the 3 that the service tells of"; !want && got.Why != why {
			t.Errorf("why %q, want %q", got.Why, why)
		}
	}
}
