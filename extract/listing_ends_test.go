package extract

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spendsync/extract/service"
)

// pagedList is a client of a list by page or cursor, and the questions that it was asked.
func pagedList(t *testing.T, by string, h http.Handler, asked *[]string) *Client {
	t.Helper()
	of, err := service.Default().With([]byte("paging: {by: " + by +
		", status: in, limit: take, page: p, cursor: after}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		*asked = append(*asked, q.Get("p")+q.Get("after")+"/"+q.Get("take"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}), func(o *Options) { o.Service, o.RetryBudget = of, 1 })
}

// TestCampaigns_ByPageAskNoMoreThanNeeded: a list that is known to end is asked for no further, and the first page
// of one whose total may count the page alone is asked for once more.
func TestCampaigns_ByPageAskNoMoreThanNeeded(t *testing.T) {
	type m = map[string]any
	total := func(r m, _, all int) { r["total"] = all }
	ofPage := func(r m, _, _ int) { r["total"] = len(r["data"].([]m)) }
	for name, c := range map[string]struct {
		by       string
		n        int
		atMost   int
		describe func(r map[string]any, end, all int)
		want     string // pages and limits
	}{
		"a total that is reached":        {"page", 200, 0, total, "1/100 2/100"},
		"a short page, no total":         {"page", 140, 0, nil, "1/100 2/100"},
		"a full page, no total":          {"page", 100, 0, nil, "1/100 2/100"},
		"a total that may be the page's": {"page", 70, 0, total, "1/100 1/1"},
		"a total of the page": {"page", 140, 70, ofPage,
			"1/100 1/1 2/100 3/100"},
		"a cursor, whatever the total": {"cursor", 70, 0, ofPage, "/100"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			client := pagedList(t, c.by, pagedService{ids: numbered(c.n), atMost: c.atMost, describe: c.describe},
				&asked)
			got, err := client.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "complete", got.Complete, true)
			check(t, "entries", len(got.Entities), c.n)
			check(t, "asked", strings.Join(asked, " "), c.want)
		})
	}
}

// TestCampaigns_ByPageAreNotCutShort by a page with fewer entries if a total or the service states that more follows.
func TestCampaigns_ByPageAreNotCutShort(t *testing.T) {
	type m = map[string]any
	for name, describe := range map[string]func(r map[string]any, end, all int){
		"total": func(r m, end, all int) { r["total"] = all },
		"more":  func(r m, end, all int) { r["has_more"] = end < all },
	} {
		var asked []string
		client := pagedList(t, "page", pagedService{ids: numbered(300), describe: func(r m, end, all int) {
			if describe(r, end, all); end == 200 {
				r["data"] = r["data"].([]m)[:40] // the others are hidden
			}
		}}, &asked)
		got, err := client.Campaigns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, name+": entries", len(got.Entities), 240)
		check(t, name+": complete", got.Complete, name == "more")
	}
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
		for _, by := range []string{"page", "offset"} {
			var asked []string
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
			client := pagedList(t, by, service, &asked)
			got, err := client.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, by+" "+name+": complete", got.Complete, c.complete)
			if c.complete {
				check(t, by+" "+name+": entries", len(got.Entities), 260)
			}
		}
	}
}

// TestCampaigns_ByPageFailWithTheirPages: a page that cannot be read is no end of the list.
func TestCampaigns_ByPageFailWithTheirPages(t *testing.T) {
	for _, by := range []string{"page", "cursor"} {
		for failing := 1; failing <= 3; failing++ {
			var asked []string
			next := func(r map[string]any, end, all int) {
				if end < all {
					r["next_cursor"] = cursorOf(end)
				}
			}
			pages := pagedService{ids: numbered(300), describe: next}
			client := pagedList(t, by, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(asked) == failing {
					http.Error(w, `{"error":"bad"}`, http.StatusBadRequest)
					return
				}
				pages.ServeHTTP(w, r)
			}), &asked)
			got, err := client.Campaigns(t.Context())
			wantError(t, err, ErrContract, "campaigns from "+strconv.Itoa((failing-1)*listLimit))
			check(t, "nothing is listed", len(got.Entities), 0)
		}
	}
}

// TestCampaigns_ByCursorAreReadAgainFromTheBeginning: a list that was shorter than its total is read once more, and
// its pages are counted from 1 in what is said of them.
func TestCampaigns_ByCursorAreReadAgainFromTheBeginning(t *testing.T) {
	type m = map[string]any
	var asked []string
	client := pagedList(t, "cursor", pagedService{ids: numbered(140), describe: func(r m, end, all int) {
		if end < all {
			r["next_cursor"] = cursorOf(end)
		}
		if r["total"] = all; len(asked) <= 2 { // in the first reading
			r["total"] = all + 1
		}
	}}, &asked)
	got, err := client.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "complete", got.Complete, true)
	check(t, "asked", strings.Join(asked, " "), "/100 "+cursorOf(100)+"/100 /100 "+cursorOf(100)+"/100")
	for by, want := range map[string]string{"cursor": "page 1 says", "page": "on page 2 the same"} {
		client := pagedList(t, by, pagedService{ids: numbered(100), ignores: true, describe: func(r m, _, _ int) {
			r["has_more"] = true
		}}, &asked)
		got, err := client.Campaigns(t.Context())
		if err != nil || !strings.HasPrefix(got.Why, want) {
			t.Errorf("by %s: %q, %v", by, got.Why, err)
		}
	}
}

// TestCampaigns_ByPageWithoutEnd: a list that makes up entries for ever is given up, and is not whole.
func TestCampaigns_ByPageWithoutEnd(t *testing.T) {
	of, err := service.Default().With([]byte("paging: {by: page, page: page}\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
		n++
		return answerWith(200, fmt.Sprintf(`[{"id":"C%07d"},{"id":"C%07d"}]`, 1_000_000+2*n, 1_000_001+2*n))
	}), func(o *Options) { o.Service = of })
	l := lister{c: c, of: campaignResource(of), what: "campaigns", path: "/v1/campaigns"}
	p, err := l.walkPages(t.Context(), []string{"active"})
	check(t, "error", err, nil)
	check(t, "requests", n, maxListPages)
	check(t, "end", p.end, endless)
	check(t, "why", p.why, "there is more behind page 10000, the last that is asked for")
	check(t, "entries", len(p.entities), 2*maxListPages)
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

// TestCampaigns_WhoseTotalCannotBeAskedAbout: a service that refuses to give one entry alone has a total that is not
// relied on; refused credentials and the end of the run end the listing.
func TestCampaigns_WhoseTotalCannotBeAskedAbout(t *testing.T) {
	for status, want := range map[int]error{200: nil, 400: nil, 401: nil, 403: nil, 0: context.Canceled} {
		s := &catalogue{ids: numbered(140), atMost: 70, totals: true, shown: status != 200}
		ctx, cancel := context.WithCancel(t.Context())
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("limit") == "1" && status != 200 {
				if status == 0 {
					cancel()
					return nil, ctx.Err()
				}
				return answerWith(status, `{"error":{"code":"x"}}`)
			}
			return s.RoundTrip(r)
		}))
		l, err := c.Campaigns(ctx)
		cancel()
		if want != nil {
			wantError(t, err, want)
			continue
		}
		check(t, "error", err, nil)
		check(t, "complete", l.Complete, true)
		check(t, "entries", len(l.Entities), 140)
	}
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

// TestCampaigns_CreatedWhileAListIsReadByStatus: the last request, for the total of now, shows what is new.
func TestCampaigns_CreatedWhileAListIsReadByStatus(t *testing.T) {
	s := &catalogue{ids: numbered(10_150), totals: true, status: func(id string) string {
		return []string{"active", "paused"}[id[len(id)-1]%2]
	}}
	beginnings := 0
	s.before = func(int) {
		if s.asked[len(s.asked)-1] == everyStatus+" 0" {
			if beginnings++; beginnings == 2 {
				s.ids = append([]string{"C9999999"}, s.ids...)
			}
		}
	}
	l := s.list(t)
	check(t, "complete", l.Complete, true)
	check(t, "readings of the whole list's beginning", beginnings, 2)
	check(t, "the new one", slices.Contains(idsOf(l), "C9999999"), true)
}
