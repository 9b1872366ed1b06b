package extract

import (
	"errors"
	"fmt"
	"net/http"
)

// maxRows and maxPages are the longest answer that is read. They bound the cost of a service that makes up pages
// without end.
const (
	maxRows  = 100_000_000
	maxPages = 100_000
)

// Evidence is what the pages of one read state of its completeness. The rows are compared with it by their keys, once
// they are known: see transform.DayRows.
type Evidence struct {
	Rows  int64 // of all pages
	Pages int
	Total int64 // the number of rows that every page states; -1: the reply has no pagination
	// Full: there is no pagination, and the reply has as many rows as a page may have: others may follow it.
	Full bool
	// Against is the first thing that does not add up: a total that changes, a number of pages that does not fit it, a
	// page without rows before the last, or a last page that states that more follows. Empty: nothing.
	Against string
}

// pageWalk follows pages to the last one and gathers what they state. It refuses a page that states another place.
type pageWalk[T any] struct {
	q    paged[T]
	seen Evidence
	last int64 // page, as the pages state it
	done bool  // no further page is asked for
	// full are the rows of the last page, if it is full; isRepeat: the page behind it has nothing else.
	full     map[string]bool
	isRepeat bool
}

func newWalk[T any](q paged[T]) *pageWalk[T] { return &pageWalk[T]{q: q, seen: Evidence{Total: -1}} }

// against records what does not add up, the first time.
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
	case n > 1 && int64(n) > w.last && w.hasAll(a.items): // a page after the last one brought nothing new
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
	w.seen.Rows, w.seen.Pages = w.seen.Rows+rows, n
	w.seen.Total, w.last = g.totalRows, g.totalPages
	if w.end(n, rows, g, a.more); !w.done && int64(n) == g.totalPages {
		w.rememberLast(a.items)
	}
	return nil
}

// end decides whether a page is the last that is asked for. Behind a full last page another is: a total that leaves
// rows out shows there. Where it is declared that totals leave rows out, they end nothing.
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

// hasAll reports whether the full last page has all rows of the page behind it: some services answer with its rows
// again.
func (w *pageWalk[T]) hasAll(items []T) bool {
	for _, item := range items {
		if !w.full[fmt.Sprint(item)] {
			return false
		}
	}
	return true
}

// rememberLast keeps the rows of a full last page.
func (w *pageWalk[T]) rememberLast(items []T) {
	w.full = make(map[string]bool, len(items))
	for _, item := range items {
		w.full[fmt.Sprint(item)] = true
	}
}

// hold holds what a page states of all pages against itself, and against the page before.
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

// addUnpaged adds a reply without pagination, as the service sent them before April 2026: it is the only page.
func (w *pageWalk[T]) addUnpaged(n int, rows int64, more bool) error {
	if n > 1 {
		return w.contract(n, "it has no pagination, which page 1 has")
	}
	w.seen.Rows, w.seen.Pages = rows, n
	w.done, w.seen.Full = true, rows >= int64(w.q.size)
	if more {
		w.against("it has no pagination, and states that more follows")
	}
	return nil
}

// isBehind reports whether an answer that refuses a page, or states another place, is to a page behind the last: it is
// the end.
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
