package extract

import (
	"context"
	"errors"
	"sync"
)

// listTotals records what the totals of each kind of list count in this run. A total that equals the entries of the
// first page may count only that page: if the service makes smaller pages than requested, the list would seem to end
// there, and all other entries would count as deleted.
type listTotals struct {
	mu    sync.Mutex
	kinds map[string]*listTotal
}

// of is the total of one kind of list.
func (t *listTotals) of(kind string) *listTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]*listTotal{}
	}
	if t.kinds[kind] == nil {
		t.kinds[kind] = &listTotal{}
	}
	return t.kinds[kind]
}

// listTotal is the total of one kind of list.
type listTotal struct {
	asking sync.Mutex // held while the service is asked
	mu     sync.Mutex
	counts totalCounts
}

type totalCounts int

const (
	countsUnknown totalCounts = iota
	countsList                // all entries of the list
	countsPage                // the entries of the page, or something else that ends no list
)

func (t *listTotal) is(c totalCounts) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts == c
}

func (t *listTotal) set(c totalCounts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts = c
}

// doubtTotal finds out what the total of a list's first page counts. If the page does not show it, doubtTotal requests
// the first entry alone: a total of the whole list stays the same then. This costs one request for each kind of list
// and run.
func (l *lister) doubtTotal(ctx context.Context, statuses []string, part listPart, p *passage) error {
	total := l.c.totals.of(l.of.plural)
	switch n := int64(part.shown); {
	case part.total > n:
		total.set(countsList)
		return nil
	case part.total >= 0 && part.total < n:
		total.set(countsPage)
		p.total = -1
		return nil
	case part.total < 0, n <= 1, n == listLimit, part.shown < part.most:
		// There is no total, or it does not decide where the list ends.
		return nil
	}
	total.asking.Lock()
	defer total.asking.Unlock()
	if total.is(countsUnknown) {
		first, err := l.page(ctx, statuses, 0, 1, p)
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, ErrAuth)):
			return err
		case err == nil && first.total >= part.total:
			total.set(countsList)
		default: // also where the service does not answer such a request
			total.set(countsPage)
			l.c.log.Info("the total of a list counts one page of it, and is not relied on", "what", l.what,
				"total", part.total)
		}
	}
	if total.is(countsPage) {
		p.total = -1
	}
	return nil
}
