package extract

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"spendsync/extract/service"
)

// pagedService is a service whose lists are described by totals of its own.
type pagedService struct {
	ids    []string
	atMost int // entries of a page, whatever is asked for
	// describe adds to the reply of the page that ends before an entry, of all entries of these statuses.
	describe func(reply map[string]any, end, all int)
}

func (s pagedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("take"))
	if s.atMost > 0 {
		size = min(size, s.atMost)
	}
	begin, _ := strconv.Atoi(q.Get("from"))
	begin = min(begin, len(s.ids))
	end := min(begin+size, len(s.ids))
	entries := []map[string]any{}
	for _, id := range s.ids[begin:end] {
		entries = append(entries, map[string]any{"id": id, "status": "active"})
	}
	reply := map[string]any{"data": entries}
	s.describe(reply, end, len(s.ids))
	_ = json.NewEncoder(w).Encode(reply)
}

// pagedList is a client of a list whose parameters have names of their own.
func pagedList(t *testing.T, h http.Handler) *Client {
	t.Helper()
	of, err := service.Default().With([]byte("paging: {status: in, limit: take, offset: from}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}), func(o *Options) { o.Service, o.RetryBudget = of, 1 })
}

// TestCampaigns_WithATotalOnTheFirstPageAlone: a total of a later page that promises no more does not end the list, and
// does not make it complete.
func TestCampaigns_WithATotalOnTheFirstPageAlone(t *testing.T) {
	type m = map[string]any
	const unstated = -1
	is := func(n int) func(int) int { return func(int) int { return n } }
	soFar := func(end int) int { return end }
	for name, c := range map[string]struct {
		first    int               // the total of the first page
		later    func(end int) int // the total of later pages
		atMost   int               // entries of a page
		hidden   int               // entries of the last page
		complete bool
	}{
		"0 later":                             {260, is(0), 0, 0, true},
		"the page's later":                    {260, is(60), 0, 0, true},
		"0 later, entries are missing":        {260, is(0), 0, 10, false},
		"the entries so far later":            {260, soFar, 70, 0, true},
		"the entries so far later, missing":   {260, soFar, 70, 10, false},
		"none first, then the entries so far": {unstated, soFar, 70, 0, true},
		"none first, then all":                {unstated, is(260), 70, 0, true},
		"none first, then all, missing":       {unstated, is(260), 70, 10, false},
	} {
		service := pagedService{ids: numbered(260), atMost: c.atMost}
		service.describe = func(r m, end, all int) {
			data := r["data"].([]m)
			if r["total"] = c.first; end > len(data) {
				r["total"] = c.later(end)
			}
			if r["total"] == unstated {
				delete(r, "total")
			}
			if end == all {
				r["data"] = data[:len(data)-min(c.hidden, len(data))]
			}
		}
		got, err := pagedList(t, service).Campaigns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, name+": complete", got.Complete, c.complete)
		if c.complete {
			check(t, name+": entries", len(got.Entities), 260)
		}
	}
}

// TestCampaigns_WithATotalThatIsNone: a total below the entries of the page that states it ends no list.
func TestCampaigns_WithATotalThatIsNone(t *testing.T) {
	for _, total := range []string{"0", "1", "69"} {
		s := &catalogue{ids: numbered(230), atMost: 70}
		s.twist = func(_ string, body *string) { *body = `{"campaigns":` + *body + `,"total":` + total + `}` }
		l := s.list(t)
		check(t, "complete", l.Complete, true)
		check(t, "entries", len(l.Entities), 230)
	}
	// An empty list that says so is empty, whatever a header has.
	c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
		return answerWith(200, `{"campaigns":[],"total":0}`, "X-Total-Count", "7")
	}))
	l, err := c.Campaigns(t.Context())
	check(t, "error", err, nil)
	check(t, "an empty list is complete", l.Complete, true)
}

// TestCampaigns_OfAServiceThatIgnoresTheOffset: the same short page is asked for no status by status, and a list of
// one entry is whole.
func TestCampaigns_OfAServiceThatIgnoresTheOffset(t *testing.T) {
	s := &catalogue{ids: numbered(140), atMost: 70, stuck: true}
	l := s.list(t)
	check(t, "complete", l.Complete, false)
	check(t, "requests", len(s.asked), 2)
	s = &catalogue{ids: numbered(1), atMost: 1, stuck: true}
	check(t, "complete", s.list(t).Complete, true)
}
