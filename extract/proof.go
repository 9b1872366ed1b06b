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

// maxRows and maxPages are the longest answer that is read. They bound the cost of a service that makes up pages
// without end.
const (
	maxRows  = 100_000_000
	maxPages = 100_000
)

// Evidence is what the pages of one read show of its completeness. None of it is believed
// alone: a service's total may count something else, an end may be a cut, and rows that move
// between two pages come twice or not at all.
type Evidence struct {
	Rows     int64 // of all pages
	Distinct int64 // keys among them; each row without a key counts, too
	// Total is the number of rows that every page states; -1: they state none, or it is
	// that of the page alone.
	Total int64
	// Moved describes how the stated total changed between two pages; empty: it did not change. Total is then the
	// last one.
	Moved string
	// Short names the page without rows that came before the stated total was reached; empty: there was none.
	Short string
	// Ended: nothing follows the last page, according to the pages: it is empty or shorter than others, or all rows
	// of a stated total have been read.
	Ended bool
	// Full: the last page was full, so that only the stated total shows the end; the page after it was requested as
	// well, and could not be read.
	Full bool
	// Beyond: the page after the last one with rows was requested, because that one did not show the end.
	Beyond bool
	// Repeats is the first row whose key had come before; empty: every key came once.
	Repeats string
}

// whole returns an error unless the pages add up by themselves: they came to an end, every
// key came once, and the stated total, if there is one, is the number of rows.
func (e Evidence) whole(what string) error {
	why := ""
	switch {
	case e.Repeats != "":
		why = e.Repeats
	case e.Moved != "":
		why = e.Moved
	case e.Total >= 0 && e.Total != e.Rows:
		why = fmt.Sprintf("%s came, and the stated total is %d", count(e.Rows, "row"), e.Total)
		if e.Short != "" {
			why += "; " + e.Short
		}
	case !e.Ended:
		why = fmt.Sprintf("%s came, and no page shows that they are all", count(e.Rows, "row"))
	default:
		return nil
	}
	return &UnprovenError{What: what, Reason: why}
}

// proof follows a walk, finds its end and gathers its evidence. It refuses only rows that
// do not belong to what was asked.
//
// As many distinct keys as the total say that no row was left out because another one
// came twice. Nothing here can see one row added and one removed between two pages if both
// lie on pages not yet read or already read, nor a value that changed.
type proof[T any] struct {
	q       paged[T]
	seen    Evidence
	done    bool  // no further page is asked for
	size    int64 // rows of a full page, as far as is known
	rows    int64 // of the page before
	longest func(rows int) int
	keys    hashSet
	noKey   int64
	seed    maphash.Seed
	scratch []byte
	hashes  []uint64
	first   uint64 // the sum of the hashes of the first page's rows
	last    uint64 // that of the page before
}

// newProof starts a walk. longest records the number of rows of a page without a stated size, and returns the highest
// number so far; nil: there is no other walk to compare with.
func newProof[T any](q paged[T], longest func(rows int) int) *proof[T] {
	return &proof[T]{q: q, size: int64(q.size), longest: longest, seed: maphash.MakeSeed(), seen: Evidence{Total: -1}}
}

// noHash stands for the hash of a row without a key.
const noHash = 0

// add adds the next page. It reports whether the page is part of the answer. A page that only repeats earlier rows is
// not: the service then has no paging. An error means that a row does not belong to the request.
func (p *proof[T]) add(n int, a *pageReply[T]) (isPart bool, err error) {
	p.place(n, a)
	if a.nullData && n == 1 && p.seen.Total != 0 {
		// With a total of 0 it is how some services write no rows.
		return false, p.contract(n, "%s, and neither columns nor a total of 0 say that there are none",
			a.noRows("no rows"))
	}
	if p.keys.table == nil {
		// A total is only a claim so far: it reserves little.
		p.keys = newHashSet(int(min(max(p.seen.Total, int64(len(a.items))), 1<<17)))
	}
	if err := p.hashAll(n, a); err != nil {
		return false, err
	}
	rows := int64(len(a.items))
	repeats, news := p.count(n, a)
	p.end(n, rows, news, a)
	if n > 1 && rows > 0 && !news {
		return false, nil
	}
	if repeats != "" && p.seen.Repeats == "" {
		p.seen.Repeats = repeats
	}
	p.rows = rows
	if p.seen.Rows += rows; p.seen.Rows > maxRows || n >= maxPages {
		return false, p.contract(n, "no end after %d rows on %d pages", p.seen.Rows, n)
	}
	p.seen.Distinct = int64(p.keys.n) + p.noKey
	return true, nil
}

// hashAll records the hashes of the keys of a page.
func (p *proof[T]) hashAll(n int, a *pageReply[T]) error {
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
	return nil
}

// count adds the keys of a page to those before. It returns the first row whose key had come, and whether the page
// brings news. While more rows are stated, only a page that has the rows of the page before it, or of the first, brings
// none: without an order, all of its rows may have come on different pages, and rows without a key may be any.
func (p *proof[T]) count(n int, a *pageReply[T]) (repeats string, news bool) {
	before, noKey, sum := p.keys.n, p.noKey, uint64(0)
	// One after the other without anything between, so that the processor looks for the places of some at a time: each
	// lies elsewhere in memory.
	for i, hash := range p.hashes {
		sum += hash
		if hash == noHash {
			p.noKey++
		} else if !p.keys.add(hash) && repeats == "" {
			repeats = fmt.Sprintf("page %d: row %d is there twice: %s", n, i+1, p.keyText(&a.items[i]))
		}
	}
	isSame := p.noKey == noKey && (sum == p.last || sum == p.first)
	if p.last = sum; n == 1 {
		p.first = sum
	}
	return repeats, n == 1 || p.keys.n > before || p.seen.Total > p.seen.Rows && !isSame
}

// hash records the hash of the key of row i, or returns why the row does not fit. A hash has 64 bits and a seed of
// its own for each walk: among a million rows, two keys collide once in 30 million walks, and the walk is then
// repeated.
func (p *proof[T]) hash(n, i int, row *T) error {
	key, err := p.q.key(p.scratch[:0], row)
	p.scratch = key
	switch {
	case errors.Is(err, errNoKey):
		p.hashes = append(p.hashes, noHash)
		return nil
	case err != nil:
		return &UnprovenError{What: p.q.what, Page: n, Reason: fmt.Sprintf("row %d: %v", i+1, err)}
	}
	p.hashes = append(p.hashes, max(maphash.Bytes(p.seed, key), noHash+1))
	return nil
}

// place records what the page states about all pages: the size of one, and the total number of rows.
func (p *proof[T]) place(n int, a *pageReply[T]) {
	g, rows := a.pagination, int64(len(a.items))
	if g == nil {
		g = &pagination{page: -1, pageSize: -1, totalRows: -1, totalPages: -1}
	}
	if n == 1 {
		if g.pageSize >= 1 && g.pageSize < p.size && rows <= g.pageSize {
			p.size = g.pageSize
		}
		// A full page that others follow has a total of its own.
		if p.seen.Total = g.totalRows; g.totalRows == rows && g.totalPages > 1 {
			p.seen.Total = -1
		}
		return
	}
	was := p.seen.Total
	if was < 0 || was == g.totalRows || rows == 0 { // totals on a page after the last are ignored
		return
	}
	if p.seen.Total = g.totalRows; p.seen.Moved == "" && g.totalRows < 0 {
		p.seen.Moved = fmt.Sprintf("page %d: no total, which was %d", n, was)
	} else if p.seen.Moved == "" {
		p.seen.Moved = fmt.Sprintf("page %d: total changed from %d to %d", n, was, g.totalRows)
	}
}

// end decides whether another page follows page n. rows is the number of its rows, and news reports whether any of
// them is new.
func (p *proof[T]) end(n int, rows int64, news bool, a *pageReply[T]) {
	all, g := p.seen.Rows+rows, a.pagination
	isLast := g != nil && g.totalPages <= int64(n)
	if p.isBeyond() && rows > 0 && !news {
		p.seen.Full, p.done = false, true // after the last page the service repeats that page, or the first
		return
	}
	p.seen.Full = false
	switch total := p.seen.Total; {
	case rows == 0:
		if p.seen.Ended = true; total > all {
			p.seen.Short = fmt.Sprintf("page %d: %s", n, a.noRows("0 rows"))
		}
	case !news:
		// Without paging a page that had room for more is the whole answer.
		p.seen.Ended, p.done = p.seen.Rows < int64(p.q.size), true
	case total > all, a.more: // more has to come
	case total == all:
		p.seen.Ended, p.seen.Full = isLast || rows < p.size, rows >= p.size
	default:
		p.seen.Ended = p.isShort(rows, g, isLast)
	}
	if rows > 0 && news {
		p.seen.Beyond = !p.seen.Ended || p.seen.Full
	}
	p.done = p.done || p.seen.Ended && !p.seen.Full
}

// isShort reports whether a page of some rows shows the end by its length, because no total does.
func (p *proof[T]) isShort(rows int64, g *pagination, isLast bool) bool {
	switch {
	case g != nil && g.pageSize > 0:
		return isLast && rows < p.size
	case p.longest == nil:
		return rows < p.size
	}
	return rows < int64(p.longest(int(rows)))
}

// isBeyond reports whether all rows of the stated total are there, and the next page is asked for only because the last
// one was full: a total may leave rows out, such as those without spend.
func (p *proof[T]) isBeyond() bool { return p.seen.Ended && p.seen.Full }

// noRows returns a description of an answer without rows: "no rows", or "data is null: no rows".
func (a *pageReply[T]) noRows(words string) string {
	if a.nullData && len(a.columns) > 0 {
		words = "data is null: " + words
	}
	return words
}

// refused handles a rejected request for page n: a service may reject any page after the last. It reports whether the
// answer ended before page n.
func (p *proof[T]) refused(n int, err error) bool {
	e, ok := errors.AsType[*ReadError](err)
	isRefusal := ok && e.Err == ErrContract && e.Status >= 400 && e.Status < 500
	switch {
	case !ok || p.seen.Rows == 0 || e.Err == ErrAuth, !isRefusal && !p.isBeyond():
		return false
	case isRefusal && p.seen.Total > p.seen.Distinct && !p.isBeyond():
		p.seen.Moved = fmt.Sprintf("page %d: %s", n, e.Reason)
	case isRefusal:
		// Without a total, a refusal behind a page that is as full as was asked for may be a limit of the service's.
		p.seen.Ended, p.seen.Full = p.seen.Total >= 0 || p.rows < int64(p.q.size), false
	}
	p.done = true
	return true
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
