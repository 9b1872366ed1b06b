package extract

import (
	"errors"
	"fmt"
	"net/http"
)

// maxRows and maxPages bound the pages of one read, in case a service sends pages without end.
const (
	maxRows  = 100_000_000
	maxPages = 100_000
)

// Evidence is what the pages of one read state about their completeness. The caller compares this evidence with the
// rows once their keys are known: see transform.DayRows.
type Evidence struct {
	Rows  int64 // number of rows on all pages
	Total int64 // the number of rows that the pages state; -1: there is no pagination
	// Full means that more rows may exist: the reply has no pagination, and as many rows as a page may have.
	Full bool
	// Against is the first contradiction: a total that changes, a number of pages that does not fit the total, an empty
	// page before the last, or a last page that states that more rows follow. Empty: there is none.
	Against string
}

// pageWalk follows pages to the last page and collects their evidence. It refuses a page that states another page
// number than the requested one.
type pageWalk[T any] struct {
	q    paged[T]
	seen Evidence
	last int64 // the number of the last page, as the pages state it
	done bool  // whether no further page is requested
	// full contains the rows of the last page, if that page has as many rows as fit. isRepeat is true if the service
	// repeated these rows on the page after the last page.
	full     map[string]bool
	isRepeat bool
}

func newWalk[T any](q paged[T]) *pageWalk[T] { return &pageWalk[T]{q: q, seen: Evidence{Total: -1}} }

// against records the first contradiction.
func (w *pageWalk[T]) against(format string, args ...any) {
	if w.seen.Against == "" {
		w.seen.Against = fmt.Sprintf(format, args...)
	}
}

// add adds the next page.
func (w *pageWalk[T]) add(n int, a *pageReply[T]) error {
	rows, g := int64(len(a.items)), a.pagination
	switch {
	case w.seen.Rows+rows > maxRows || n >= maxPages:
		return w.contract(n, "no end after %d rows on %d pages", w.seen.Rows+rows, n)
	case n > 1 && int64(n) > w.last && w.hasAll(a.items): // a page after the last page is empty, or repeats its rows
		w.done, w.isRepeat = true, rows > 0
		return nil
	case g == nil:
		return w.addUnpaged(n, rows, a.more)
	case g.page != int64(n):
		return w.contract(n, "pagination.page is %s, not %d", stated(g.page), n)
	case g.pageSize < 1 || g.totalRows < 0 || g.totalPages < 0:
		return w.contract(n, "pagination lacks a page_size, total_rows or total_pages that is a whole number")
	}
	w.hold(n, rows, g)
	w.seen.Rows, w.seen.Total, w.last = w.seen.Rows+rows, g.totalRows, g.totalPages
	if w.end(n, rows, g, a.more); !w.done && int64(n) == g.totalPages {
		w.rememberLast(a.items)
	}
	return nil
}

// end decides whether a page is the last to request. After a full last page one more page is requested, which shows
// whether the total omits rows. If the service file declares that totals omit rows, a total does not end the walk.
func (w *pageWalk[T]) end(n int, rows int64, g *pagination, more bool) {
	isLast, counts := int64(n) >= g.totalPages, w.q.service.CountsRows()
	w.done = rows < g.pageSize && (isLast || !counts)
	switch {
	case rows > 0 && int64(n) > g.totalPages && counts:
		w.against("page %d: %s, and total_pages is %d", n, count(rows, "row"), g.totalPages)
		w.done = true
	case rows == 0 && !isLast:
		w.against("page %d: 0 rows, and total_pages is %d", n, g.totalPages)
		w.done = true
	case w.done && more:
		w.against("page %d is the last, and states that more follows", n)
	}
}

// hasAll reports whether all given rows are also on the page that is the last by total_pages. The given rows came when
// one page more was requested: some services then repeat the last page.
func (w *pageWalk[T]) hasAll(items []T) bool {
	for _, item := range items {
		if !w.full[fmt.Sprint(item)] {
			return false
		}
	}
	return true
}

// rememberLast stores the rows of a full last page.
func (w *pageWalk[T]) rememberLast(items []T) {
	w.full = make(map[string]bool, len(items))
	for _, item := range items {
		w.full[fmt.Sprint(item)] = true
	}
}

// hold records a contradiction within the pagination of a page. It also compares the pagination with the number of the
// page's rows, and with the total of the previous pages.
func (w *pageWalk[T]) hold(n int, rows int64, g *pagination) {
	if rows > g.pageSize {
		w.against("page %d: %s, and its page_size is %d", n, count(rows, "row"), g.pageSize)
	}
	if n > 1 && g.totalRows != w.seen.Total {
		w.against("page %d: total changed from %d to %d", n, w.seen.Total, g.totalRows)
	}
	if fit := (g.totalRows + g.pageSize - 1) / g.pageSize; g.totalPages != fit && (g.totalRows > 0 ||
		g.totalPages > 1) {
		w.against("page %d: total_rows is %d, which with a page_size of %d are %d pages, and total_pages is %d", n,
			g.totalRows, g.pageSize, fit, g.totalPages)
	}
}

// addUnpaged adds a reply without pagination, the form before April 2026. Such a reply is the only page.
func (w *pageWalk[T]) addUnpaged(n int, rows int64, more bool) error {
	if n > 1 {
		return w.contract(n, "it has no pagination, which page 1 has")
	}
	w.done, w.seen.Rows, w.seen.Full = true, rows, rows >= int64(w.q.size)
	if more {
		w.against("it has no pagination, and states that more follows")
	}
	return nil
}

// isBehind reports whether page n is after the last page, and the service refused it or answered with another page.
// Both replies end the walk without an error.
func (w *pageWalk[T]) isBehind(n int, err error) bool {
	e, ok := errors.AsType[*ReadError](err)
	return ok && n > 1 && int64(n) > w.last && e.Err == ErrContract && e.Status < 500
}

func stated(n int64) string {
	if n < 0 {
		return "missing"
	}
	return fmt.Sprint(n)
}

func (w *pageWalk[T]) contract(n int, format string, args ...any) error {
	return &ReadError{
		What: pageName(w.q.what, n), Reason: fmt.Sprintf(format, args...),
		Status: http.StatusOK, Attempts: 1, Err: ErrContract,
	}
}
