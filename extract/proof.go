package extract

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
)

// maxRows and maxPages are the longest answer that is walked. They bound what a
// service that makes up pages without end can cost.
const (
	maxRows  = 100_000_000
	maxPages = 100_000
)

// proof follows a walk and refuses the first page that does not fit the pages
// before it:
//
//   - every page has the requested number, and all name the same total, size and
//     number of pages, which agree with each other;
//   - the first page may have the number 0, and the others accordingly; the size and the
//     total may be those of the page alone, if they equal its number of rows;
//   - every page but the last is full, and the last has the rest;
//   - no row has the key of another, and all belong to the question.
//
// With these there are as many distinct keys as the total, so a row that the
// service left out because it sent another one twice is noticed. It cannot see
// one row added and one removed between two pages if both are on pages not yet
// read or already read, nor a value that changed.
type proof[T any] struct {
	q       paged[T]
	pages   int
	total   int64
	size    int64 // as stated by the service; may be below the requested size
	first   int64 // what the service calls page 1
	ofPages bool  // totals are those of the pages; until the last the total is the most it can be
	keys    hashSet
	seed    maphash.Seed
	scratch []byte
	hashes  []uint64
}

func newProof[T any](q paged[T]) *proof[T] {
	return &proof[T]{q: q, pages: 1, seed: maphash.MakeSeed()}
}

// add adds the next page, or returns why it does not fit.
func (p *proof[T]) add(n int, a *answer[T]) error {
	if err := p.place(n, a); err != nil {
		return err
	}
	got := int64(len(a.items))
	if p.ofPages && n == p.pages && got > 0 && a.pagination.totalRows == got {
		p.total = int64(n-1)*p.size + got
	}
	want := min(p.size, p.total-int64(n-1)*p.size)
	if got != want {
		return p.unproven(n, "%s where %d belong: %d in all, %d a page", count(got, "row"), want, p.total, p.size)
	}
	if p.keys.table == nil {
		// A total is only a claim so far: it reserves little.
		p.keys = newHashSet(int(min(p.total, 1<<17)))
	}
	p.hashes = p.hashes[:0]
	for i := range a.items {
		if _, odd := slices.BinarySearch(a.notObjects, i+1); odd {
			p.hashes = append(p.hashes, noHash)
			continue
		}
		if err := p.hash(n, i, &a.items[i]); err != nil {
			return err
		}
	}
	// One after the other without anything between, so that the processor looks for the
	// places of some at a time: each lies elsewhere in memory.
	for i, hash := range p.hashes {
		if hash != noHash && !p.keys.add(hash) {
			return p.unproven(n, "row %d is there twice: %s", i+1, p.keyText(&a.items[i]))
		}
	}
	return nil
}

// noHash stands for the hash of a row without a key.
const noHash = 0

// hash records the hash of row i's key, or returns why the row does not fit. It has 64 bits and a seed for each walk:
// among a million rows two keys collide once in 30 million walks, and then the walk is repeated.
func (p *proof[T]) hash(n, i int, row *T) error {
	key, err := p.q.key(p.scratch[:0], row)
	p.scratch = key
	switch {
	case errors.Is(err, errNoKey):
		p.hashes = append(p.hashes, noHash)
		return nil
	case err != nil:
		return p.unproven(n, "row %d: %v", i+1, err)
	}
	p.hashes = append(p.hashes, max(maphash.Bytes(p.seed, key), noHash+1))
	return nil
}

// place compares the page's pagination with that of the others.
func (p *proof[T]) place(n int, a *answer[T]) error {
	g, rows := a.pagination, int64(len(a.items))
	switch {
	case a.nullData && (g == nil || g.totalRows != 0):
		// With a total of 0 it is how some services write no rows.
		return p.contract(n, "data is null, and not a list of no rows: no total says that there are none")
	case g == nil && n == 1:
		return p.whole(rows)
	case g == nil:
		return p.unproven(n, "no pagination, which page 1 had")
	case n == 1:
		return p.begin(g, rows)
	case g.page != int64(n-1)+p.first:
		return p.unproven(n, "the reply is page %d", g.page)
	case g.totalRows != p.total && !(p.ofPages && g.totalRows == rows):
		return p.unproven(n, "total changed from %d to %d", p.total, g.totalRows)
	case g.pageSize != p.size && !(n == p.pages && g.pageSize == rows):
		return p.unproven(n, "page size changed from %d to %d", p.size, g.pageSize)
	case g.totalPages != int64(p.pages):
		return p.unproven(n, "number of pages changed from %d to %d", p.pages, g.totalPages)
	}
	return nil
}

// whole accepts a reply without pagination, in the form from before April 2026, if it cannot be truncated: the page
// would have had room for more rows.
func (p *proof[T]) whole(rows int64) error {
	if rows >= int64(p.q.size) {
		return p.contract(1, "no pagination, and %s fill the page: there may be more", count(rows, "row"))
	}
	p.pages, p.total, p.size = 1, rows, int64(p.q.size)
	return nil
}

// begin sets the total and the size from page 1, which has a number of rows.
func (p *proof[T]) begin(g *pagination, rows int64) error {
	if g.pageSize == 0 && g.totalRows == 0 && rows == 0 {
		g.pageSize = int64(p.q.size) // it was the size of the page
	}
	switch {
	case g.pageSize < 1 || g.pageSize > int64(p.q.size):
		return p.contract(1, "page size %d, asked for %d", g.pageSize, p.q.size)
	case g.totalRows > maxRows:
		return p.contract(1, "%d rows, more than the cap of %d", g.totalRows, maxRows)
	case g.page != 0 && g.page != 1:
		return p.unproven(1, "the reply is page %d", g.page)
	}
	p.first = g.page
	if g.totalRows == rows && rows == g.pageSize && g.totalPages > 1 && g.totalPages <= maxPages {
		// A full page is followed by more: its total is its own.
		p.ofPages, p.pages, p.size = true, int(g.totalPages), g.pageSize
		p.total = int64(p.pages) * p.size
		return nil
	}
	need := (g.totalRows + g.pageSize - 1) / g.pageSize
	if g.totalPages != need && !(g.totalRows == 0 && g.totalPages == 1) {
		return p.unproven(1, "%d pages for %s, %d a page", g.totalPages, count(g.totalRows, "row"), g.pageSize)
	}
	if need > maxPages {
		return p.contract(1, "%d pages of %s, more than the cap of %d pages", need, count(g.pageSize, "row"), maxPages)
	}
	p.pages, p.total, p.size = max(1, int(need)), g.totalRows, g.pageSize
	return nil
}

func (p *proof[T]) unproven(n int, format string, args ...any) error {
	return &UnprovenError{What: p.q.what, Page: n, Reason: fmt.Sprintf(format, args...)}
}

func (p *proof[T]) contract(n int, format string, args ...any) error {
	return &ReadError{
		What: pageName(p.q.what, n), Reason: fmt.Sprintf(format, args...),
		Status: http.StatusOK, Attempts: 1, Err: ErrContract,
	}
}

// keyEnd ends each part of a key. It occurs in no UTF-8 text.
const keyEnd = 0xff

// keyText shows the key of a row to people.
func (p *proof[T]) keyText(row *T) string {
	key, _ := p.q.key(nil, row) // it was there before
	var texts []string
	for part := range bytes.SplitSeq(bytes.TrimSuffix(key, []byte{keyEnd}), []byte{keyEnd}) {
		texts = append(texts, quote(part, 60))
	}
	return strings.Join(texts, " ")
}
