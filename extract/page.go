package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"

	"spendsync/extract/service"
)

// Page is one page of a walk. The next page overwrites its Items and Raw, so copy everything that is needed longer,
// down to each [Value].
type Page[T any] struct {
	Number     int
	Total      int64        // the stated number of rows on all pages; -1: no number is stated
	Items      []T          // their values are slices of Raw or, if Raw is not valid UTF-8, of a corrected copy
	Raw        []byte       // the reply's body as received, decompressed
	Unknown    []UnknownKey // keys that the description does not name, each once
	NotObjects []int        // numbers (from 1) of the rows that are not JSON objects; their items are empty
}

// UnknownKey is a key in a reply that the service's description does not name.
type UnknownKey struct {
	Path string // for example "data[].brand_new"
	Type string // JSON type of the key's first value; "column": only the list of columns has the key
}

// paged is a question whose answer comes in pages.
type paged[T any] struct {
	what  string // "spend 2026-03-08"
	path  string
	query url.Values // without page and page_size
	size  int        // rows per page
	// service is the description of the replies; nil: the embedded description.
	service *service.Service
	// decode decodes a reply. It may store the rows in the slice `room`.
	decode func(body []byte, room []T) (pageReply[T], error)
}

// pageReply is one decoded reply, before it is compared with the other pages of the walk.
type pageReply[T any] struct {
	columns    []string
	items      []T
	pagination *pagination // nil: the reply has no pagination, as all replies before April 2026
	unknown    []UnknownKey
	notObjects []int // rows, from 1
	more       bool  // whether the reply itself states that more rows follow
}

// room is the memory into which a walk reads each of its pages.
type room[T any] struct {
	body  []byte
	items []T
}

// pagination is the position of a page among all pages.
type pagination struct{ page, pageSize, totalRows, totalPages int64 }

// pages requests the pages of q, up to the last page according to the replies. What the replies state about their
// completeness is stored in *seen. The iteration ends after an error.
func pages[T any](ctx context.Context, c *Client, q paged[T], seen *Evidence) iter.Seq2[Page[T], error] {
	return func(yield func(Page[T], error) bool) {
		var r room[T]
		w := newWalk(q)
		defer func() { w.seen.Against = c.keys.hide(w.seen.Against); *seen = w.seen }()
		for n := 1; !w.done; n++ {
			page, a, err := readPage(ctx, c, q, n, &r)
			if err == nil {
				err = w.add(n, &a)
			}
			if w.isRepeat || w.isBehind(n, err) {
				return
			}
			if err != nil {
				yield(Page[T]{}, withReply(c.keys.hideIn(err), page.Raw))
				return
			}
			for i := range page.Unknown {
				page.Unknown[i].Path = c.keys.hide(page.Unknown[i].Path)
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// prove checks stored replies as [pages] checks the replies that it requests.
func prove[T any](q paged[T], bodies iter.Seq2[[]byte, error], seen *Evidence) iter.Seq2[Page[T], error] {
	return func(yield func(Page[T], error) bool) {
		w := newWalk(q)
		defer func() { *seen = w.seen }()
		n := 0
		for body, err := range bodies {
			var a pageReply[T]
			if err == nil {
				a, err = q.decode(body, nil)
			}
			if n++; err == nil {
				err = w.add(n, &a)
			}
			if err != nil {
				yield(Page[T]{}, fmt.Errorf("%s: %w", pageName(q.what, n), err))
				return
			}
			if w.isRepeat {
				return
			}
			if !yield(asPage(n, &a, body), nil) {
				return
			}
		}
		if !w.done && (int64(n) < w.last || !q.service.CountsRows()) {
			w.against("page %d is not there", n+1)
		}
	}
}

// asPage returns a decoded reply as a page.
func asPage[T any](n int, a *pageReply[T], body []byte) Page[T] {
	p := Page[T]{Number: n, Total: -1, Items: a.items, Raw: body, Unknown: a.unknown, NotObjects: a.notObjects}
	if a.pagination != nil {
		p.Total = a.pagination.totalRows
	}
	return p
}

// withReply adds a copy of a page to the error that the page caused.
func withReply(err error, page []byte) error {
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		e.Reply = bytes.Clone(page)
	}
	if e, ok := errors.AsType[*ReadError](err); ok && page != nil {
		e.Reply = bytes.Clone(page)
	}
	return err
}

func readPage[T any](ctx context.Context, c *Client, q paged[T], n int, to *room[T]) (page Page[T], a pageReply[T],
	err error) {
	query := url.Values{
		q.service.Text("report_query.page"):      {strconv.Itoa(n)},
		q.service.Text("report_query.page_size"): {strconv.Itoa(q.size)},
	}
	maps.Copy(query, q.query)
	body, err := c.read(ctx, question{
		what: pageName(q.what, n), path: q.path, query: query, room: to.body, about: ofReport,
		accept: func(body []byte) (err error) {
			a, err = q.decode(body, to.items)
			return err
		},
	})
	if err != nil {
		return page, a, err
	}
	to.body, to.items = body, a.items
	return asPage(n, &a, body), a, nil
}

func pageName(what string, n int) string { return what + " page " + strconv.Itoa(n) }

// count returns a number and a noun for a message: "1 row", "2 rows". It takes the noun in the singular.
func count(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
