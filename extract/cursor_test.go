package extract

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spendsync/extract/service"
)

// pagedService is a service whose lists are read by page number or cursor, with names of its own.
type pagedService struct {
	ids    []string
	atMost int // entries of a page, whatever is asked for
	// describe adds to the reply of the page that ends before an entry, of all entries of these statuses.
	describe func(reply map[string]any, end, all int)
	ignores  bool // the page or cursor that is asked for
}

func cursorOf(end int) string {
	return base64.StdEncoding.EncodeToString([]byte("after " + strconv.Itoa(end) + "?&"))
}

func (s pagedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("take"))
	if s.atMost > 0 {
		size = min(size, s.atMost)
	}
	var ids []string
	for i, id := range s.ids {
		if slices.Contains(strings.Split(q.Get("in"), ","), []string{"active", "paused"}[i%2]) {
			ids = append(ids, id)
		}
	}
	begin := 0
	if n, err := strconv.Atoi(q.Get("p")); err == nil {
		begin = (n - 1) * size
	}
	if n, err := strconv.Atoi(q.Get("offset")); err == nil {
		begin = n
	}
	for end := range len(ids) + 1 {
		if end > 0 && q.Get("after") == cursorOf(end) {
			begin = end
		}
	}
	if s.ignores {
		begin = 0
	}
	begin = min(begin, len(ids))
	end := min(begin+size, len(ids))
	entries := []map[string]any{}
	for _, id := range ids[begin:end] {
		entries = append(entries, map[string]any{"id": id, "status": "active"})
	}
	reply := map[string]any{"data": entries}
	if s.describe != nil {
		s.describe(reply, end, len(ids))
	}
	_ = json.NewEncoder(w).Encode(reply)
}

// TestCampaigns_ByPageOrCursor: a list that is read by page number or cursor is whole if it has all that the service
// has, and only then.
func TestCampaigns_ByPageOrCursor(t *testing.T) {
	type m = map[string]any
	next := func(r m, end, all int) {
		if r["next_cursor"] = nil; end < all {
			r["next_cursor"] = cursorOf(end)
		}
	}
	for name, c := range map[string]struct {
		by       string
		atMost   int
		describe func(r map[string]any, end, all int)
		ignores  bool
		lacks    string // why the list is not whole
	}{
		"cursor":                {by: "cursor", describe: next},
		"cursor, smaller pages": {by: "cursor", atMost: 70, describe: next},
		"cursor, left out at last": {by: "cursor", describe: func(r m, end, all int) {
			if end < all {
				r["meta"] = m{"next": cursorOf(end)}
			}
		}},
		"cursor, also on the last page": {by: "cursor", describe: func(r m, end, all int) {
			r["page_info"] = m{"end_cursor": cursorOf(end), "has_next_page": end < all}
		}},
		"cursor with a total": {by: "cursor",
			describe: func(r m, end, all int) { next(r, end, all); r["total"] = all }},
		"cursor with too few": {by: "cursor", lacks: "that the service tells of",
			describe: func(r m, end, all int) { next(r, end, all); r["total"] = all + 1 }},
		"cursor that comes again": {by: "cursor", ignores: true, lacks: "comes again", describe: next},
		"cursor that is not there": {by: "cursor", lacks: "names no cursor",
			describe: func(r m, end, all int) { r["has_more"] = end < all }},
		"page":                {by: "page"},
		"page, smaller pages": {by: "page", atMost: 70},
		"page with a total":   {by: "page", describe: func(r m, end, all int) { r["total"] = all }},
		"page with its end": {by: "page", atMost: 70,
			describe: func(r m, end, all int) { r["has_more"] = end < all }},
		"page with too few": {by: "page", lacks: "that the service tells of",
			describe: func(r m, end, all int) { r["total"] = all + 1 }},
		"page that is ignored": {by: "page", ignores: true, lacks: "the same entries come again"},
		"page that is ignored, and more": {by: "page", ignores: true, lacks: "the same entries come again",
			describe: func(r m, end, all int) { r["has_more"] = true }},
	} {
		for _, n := range []int{0, 1, 99, 100, 140, 200, 437} {
			if c.lacks != "" && n < 140 {
				continue // a single page shows nothing of it
			}
			t.Run(name+"/"+strconv.Itoa(n), func(t *testing.T) {
				of, err := service.Default().With([]byte("paging: {by: " + c.by +
					", status: in, limit: take, page: p, cursor: after}\n"))
				if err != nil {
					t.Fatal(err)
				}
				truth := numbered(n)
				server := pagedService{truth, c.atMost, c.describe, c.ignores}
				requests := 0
				client := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					requests++
					w := httptest.NewRecorder()
					server.ServeHTTP(w, r)
					return w.Result(), nil
				}), func(o *Options) { o.Service = of })
				got, err := client.Campaigns(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got.Complete != (c.lacks == "") || !strings.Contains(got.Why, c.lacks) {
					t.Errorf("complete: %v, %q", got.Complete, got.Why)
				}
				ids := []string{}
				for _, e := range got.Entities {
					ids = append(ids, e.ID)
				}
				slices.Sort(ids)
				slices.Sort(truth)
				if c.lacks == "" && !slices.Equal(ids, truth) {
					t.Errorf("%d entries of %d", len(ids), len(truth))
				}
				if requests > 40 {
					t.Errorf("%d requests", requests)
				}
			})
		}
	}
}
