package extract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strconv"

	"spendsync/extract/service"
	"spendsync/schema"
)

// Page is one page of a walk. Its Items and its Raw are lent: they are good until the next page is
// asked for, which is read into the same memory. Copy what has to live longer, down to each [Value].
type Page[T any] struct {
	Number, Pages int          // this page, from 1, and how many there are as far as is known
	Total         int64        // rows on all pages, as far as is known
	Items         []T          // values are slices of Raw, or of a rebuilt reply
	Raw           []byte       // the reply's body as received, decompressed
	Unknown       []UnknownKey // keys that the description does not name, each once
	NotObjects    []int        // rows that are not JSON objects, from 1; their items are empty
	Lacks         []string     // columns that were asked for and are not among those of the page, or were not
	Requests      int          // sent for this page, retries included
	// Unchanged reports whether every reply of the walk is, byte for byte, the one that is known.
	// Such a page is the only one of its walk: it has the number of the last, no items,
	// and neither total nor unknown keys, for nothing was decoded.
	Unchanged bool
	// Fingerprint tells the reply from every other, see [Fingerprint].
	Fingerprint string
	Bytes       int64 // of the reply, or of all replies where they are the same
}

// Known is an answer that was walked and proven before.
type Known struct {
	Fingerprints []string                       // of the replies, in the order of their pages
	Body         func(page int) ([]byte, error) // an unmodified kept reply
}

// Fingerprint is the SHA-256 of a reply's body, and of the rules by which it is
// decoded: equal fingerprints give equal rows.
func Fingerprint(s *service.Service, body []byte) string {
	return fmt.Sprintf("%s:%s%x", schema.ReplyRules, s.Mark(), sha256.Sum256(body))
}

// is reports whether the body is the known reply of a page.
func (k *Known) is(page int, fingerprint string) bool {
	return k != nil && page <= len(k.Fingerprints) && k.Fingerprints[page-1] == fingerprint
}

// UnknownKey is a key in a reply that the service's description does not name.
type UnknownKey struct {
	Path string // such as "data[].brand_new"
	Type string // JSON type of its first value; "column" where only the list of columns has it
}

// paged is a question whose answer comes in pages.
type paged[T any] struct {
	what  string // "spend 2026-03-08"
	path  string
	query url.Values // without page and page_size
	size  int        // rows a page
	// service is what the replies are assumed to be like; nil: the embedded assumptions.
	service *service.Service
	// decode puts the rows into room as far as it goes, over whatever it holds.
	decode func(body []byte, room []T) (pageReply[T], error)
	// key appends the identity of the row, or returns why the row does not belong to the answer. A row with unreadable
	// IDs is [errNoKey].
	key func(dst []byte, row *T) ([]byte, error)
}

// errNoKey reports that a row has no identity. The row is left out when rows are stored, so it may occur twice.
var errNoKey = errors.New("the ids cannot be read")

// pageReply is one reply decoded, with nothing proven yet.
type pageReply[T any] struct {
	columns    []string
	items      []T
	pagination *pagination // nil: a service from before April 2026
	unknown    []UnknownKey
	notObjects []int    // rows, from 1
	lacking    []string // optional columns that it has not
	nullData   bool     // null in place of the rows, or none and no columns either
	more       bool     // it states that more follows
}

// room is the memory that a walk reads each of its pages into.
type room[T any] struct {
	body  []byte
	items []T
}

// pagination is a reply's place among the pages.
type pagination struct{ page, pageSize, totalRows, totalPages int64 }

// pages walks the pages of a question to their end, and gathers in seen what they show of
// its completeness. Nothing follows an error. As long as the replies are the known ones,
// nothing is decoded: they show what they did before, and seen is left alone.
//
// Without seen the walk is its own judge: it ends with an [*UnprovenError] unless the pages prove to be
// complete.
func pages[T any](ctx context.Context, c *Client, q paged[T], known *Known, seen *Evidence) iter.Seq2[Page[T], error] {
	return func(yield func(Page[T], error) bool) {
		p := newProof(q, func(rows int) int { return c.pages.longest(fmt.Sprintf("%s by %d", q.path, q.size), rows) })
		var r room[T]
		var same int64 // bytes of replies that are the known ones
		for n := 1; !p.done; n++ {
			page, err := readPage(ctx, c, q, n, p.isBeyond(), known, &r)
			if n > 1 && page.isEmpty() {
				// It ends the answer, perhaps against no more than a total that leaves rows out: it has to come twice.
				page, err = readPage(ctx, c, q, n, p.isBeyond(), known, &r)
			}
			if page.Number = n; err != nil || !page.Unchanged {
				if !replayKnownPages(c, q, p, page, known, yield) {
					return
				}
				known = nil
			}
			switch {
			case err != nil && p.refused(n, err):
			case err != nil:
				yield(Page[T]{}, err)
				return
			case page.Unchanged:
				if same += page.Bytes; n == len(known.Fingerprints) {
					page.Bytes = same
					yield(page.Page, nil)
					return
				}
			case !proveAndYield(c, p, page, yield):
				return
			}
		}
		hidden := c.keys.secrets()
		p.seen.Repeats, p.seen.Moved = hidden.Hide(p.seen.Repeats), hidden.Hide(p.seen.Moved)
		p.judge(seen, yield)
	}
}

// judge hands the evidence of a walk to its caller, or decides by it.
func (p *proof[T]) judge(seen *Evidence, yield func(Page[T], error) bool) {
	if seen != nil {
		*seen = p.seen
		return
	}
	if err := p.seen.whole(p.q.what); err != nil {
		yield(Page[T]{}, err)
	}
}

// replayKnownPages hands on the known replies of the pages before the first that differs,
// as if none had been known.
func replayKnownPages[T any](c *Client, q paged[T], p *proof[T], first pendingPage[T], known *Known,
	yield func(Page[T], error) bool) bool {
	if known == nil {
		return true
	}
	var items []T // the rows of the first differing page are in the walk's room
	for n := 1; n < first.Number; n++ {
		page := pendingPage[T]{Page: Page[T]{Number: n, Fingerprint: known.Fingerprints[n-1]}}
		body, err := known.Body(n)
		if err == nil {
			page.answer, err = q.decode(body, items)
		}
		if err != nil {
			yield(Page[T]{}, &UnprovenError{What: q.what, Page: n, Reason: fmt.Sprintf(
				"it is the known reply, which cannot be read any more: %v", err)})
			return false
		}
		items = page.answer.items
		if page.Raw, page.Bytes = body, int64(len(body)); !proveAndYield(c, p, page, yield) {
			return false
		}
	}
	return true
}

// pendingPage is a page that may still not add up with the others.
type pendingPage[T any] struct {
	Page[T]
	answer pageReply[T]
}

// isEmpty reports whether the page was read and has no rows.
func (p *pendingPage[T]) isEmpty() bool {
	return p.Requests > 0 && !p.Unchanged && len(p.answer.items) == 0
}

// proveAndYield adds a page to the walk and yields it, unless it is not part of the answer. It reports whether the
// walk continues. There is no client if the replies were stored.
func proveAndYield[T any](c *Client, p *proof[T], page pendingPage[T], yield func(Page[T], error) bool) bool {
	a := &page.answer
	isPart, err := p.add(page.Number, a)
	if err != nil {
		if c != nil {
			err = c.hideIn(err)
		}
		yield(Page[T]{}, withReply(err, page.Raw))
		return false
	}
	if len(a.unknown) > 0 && c != nil {
		hidden := c.keys.secrets()
		for i := range a.unknown {
			a.unknown[i].Path = hidden.Hide(a.unknown[i].Path)
		}
	}
	if !isPart {
		return true
	}
	page.Total = max(p.seen.Total, p.seen.Rows)
	page.Pages = max(page.Number, int((min(page.Total, maxRows)+p.size-1)/p.size))
	page.Items, page.Unknown, page.NotObjects, page.Lacks = a.items, a.unknown, a.notObjects, a.lacking
	return yield(page.Page, nil)
}

// withReply adds a copy of the page to an error that shows on it.
func withReply(err error, page []byte) error {
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		e.Reply = bytes.Clone(page)
	}
	if e, ok := errors.AsType[*ReadError](err); ok {
		e.Reply = bytes.Clone(page)
	}
	return err
}

// prove walks replies that were kept as [pages] walks those that are asked for.
func prove[T any](q paged[T], bodies iter.Seq2[[]byte, error], seen *Evidence) iter.Seq2[Page[T], error] {
	return func(yield func(Page[T], error) bool) {
		p := newProof(q, nil)
		n := 0
		for body, err := range bodies {
			page := pendingPage[T]{Page: Page[T]{Number: n + 1, Raw: body, Fingerprint: Fingerprint(q.service, body),
				Bytes: int64(len(body))}}
			if err == nil {
				page.answer, err = q.decode(body, nil)
			}
			if err != nil {
				yield(Page[T]{}, fmt.Errorf("%s: %w", pageName(q.what, n+1), err))
				return
			}
			if n++; !proveAndYield(nil, p, page, yield) {
				return
			}
		}
		p.judge(seen, yield)
	}
}

func readPage[T any](
	ctx context.Context, c *Client, q paged[T], n int, isBeyond bool, known *Known, to *room[T],
) (page pendingPage[T], err error) {
	query := url.Values{
		q.service.Text("report_query.page"):      {strconv.Itoa(n)},
		q.service.Text("report_query.page_size"): {strconv.Itoa(q.size)},
	}
	maps.Copy(query, q.query)
	r, err := c.read(ctx, question{
		what: pageName(q.what, n), path: q.path, query: query, room: to.body, once: isBeyond,
		accept: func(body []byte) (err error) {
			page.Fingerprint = Fingerprint(q.service, body)
			if page.Unchanged = known.is(n, page.Fingerprint); !page.Unchanged {
				page.answer, err = q.decode(body, to.items)
			}
			return err
		},
	})
	if err != nil {
		return pendingPage[T]{}, err
	}
	page.Number, page.Raw, page.Requests, page.Bytes = n, r.body, r.requests, int64(len(r.body))
	to.body = r.body
	if page.Unchanged {
		page.Pages = len(known.Fingerprints)
	} else {
		to.items = page.answer.items
	}
	return page, nil
}

func pageName(what string, n int) string { return what + " page " + strconv.Itoa(n) }

// count words a number of items for people.
func count(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
