package extract

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// query are the parameters of a question for entries of the list from an offset.
func (l *lister) query(statuses []string, offset, limit int) url.Values {
	s := l.of.service
	q := url.Values{
		s.Text("paging.status"): {strings.Join(statuses, ",")}, s.Text("paging.limit"): {strconv.Itoa(limit)},
	}
	switch s.Text("paging.by") {
	case "offset":
		q.Set(s.Text("paging.offset"), strconv.Itoa(offset))
	case "page":
		q.Set(s.Text("paging.page"), strconv.Itoa(offset/limit+1))
	case "cursor":
		if l.cursor != "" {
			q.Set(s.Text("paging.cursor"), l.cursor)
		}
	}
	return q
}

// maxListPages bounds a list whose pages are named by a number or a cursor.
const maxListPages = 10_000

// walkPages reads a list that cannot be requested by offset, once. Its pages do not overlap, so an entry that is
// deleted while the pages are read by number may hide another one. The end is proven as in [lister.walk]. With a
// cursor, the end is a page that declares itself the last, or one without a cursor that does not announce more
// entries.
func (l *lister) walkPages(ctx context.Context, statuses []string) (passage, error) {
	p := passage{seen: map[string]bool{}, total: -1}
	defer func() { l.cursor = "" }()
	byCursor := l.of.service.Text("paging.by") == "cursor"
	var cursors []string
	for n := range maxListPages {
		part, err := l.page(ctx, statuses, n*listLimit, listLimit, &p)
		if err == nil && n == 0 && !byCursor {
			err = l.doubtTotal(ctx, statuses, part, &p)
		}
		if err != nil {
			return p, err
		}
		known := len(p.seen)
		l.take(part, n*listLimit, &p)
		switch {
		case byCursor && part.next == "" && part.more == stated(true):
			p.end, p.why = stuck, fmt.Sprintf("page %d says that more follows, and names no cursor of it", n+1)
			return p, nil
		case byCursor && (part.next == "" || part.more == stated(false)):
			return p.closed(), nil
		case byCursor && slices.Contains(cursors, part.next):
			p.end, p.why = stuck, fmt.Sprintf("the cursor %s comes again", quote([]byte(part.next), 60))
			return p, nil
		case byCursor:
			cursors, l.cursor = append(cursors, part.next), part.next
		case part.more == stated(false), p.total >= 0 && int64(len(p.seen)) >= p.total:
			return p.closed(), nil
		case len(p.seen) == known && (part.shown > 0 || part.more == stated(true)):
			p.end, p.why = stuck, fmt.Sprintf("on page %d the same entries come again, or none where more is promised",
				n+1)
			return p, nil
		case part.shown == 0, part.shown < part.most && part.more == unstated && p.total < 0:
			return p.closed(), nil
		}
	}
	p.end, p.why = endless, fmt.Sprintf("there is more behind page %d, the last that is asked for", maxListPages)
	return p, nil
}
