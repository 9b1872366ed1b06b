package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
)

// Kind is the kind of a fault.
type Kind string

// Kinds that replace the reply. Status is that of the reply (200 if 0).
const (
	Status Kind = "status" // the Status, with the service's error body, RetryAfter and Location
	HTML   Kind = "html"   // a page for people
	Body   Kind = "body"   // the body Value
)

// Kinds of the wire.
const (
	// After bytes (0: half, -1: none), then the connection ends; Chunked: without Content-Length
	Cut      Kind = "cut"
	Reset    Kind = "reset"    // After bytes (0: not even a header), then a TCP reset
	Stall    Kind = "stall"    // the header and After bytes, then nothing for For (0: until the client goes away)
	Hang     Kind = "hang"     // nothing at all for For (0: until the client goes away)
	Slow     Kind = "slow"     // After bytes (0: 1) at a time, with a pause of For (0: 10ms)
	Trailing Kind = "trailing" // Value (a second object if empty) behind the body
)

// Kinds that change the rows or numbers of a page of the report, or the same in the advertiser API: there, rows are
// the entries of a list, total_rows is total, and a key belongs to the entry that Row names or, if the reply is a
// single object, to that object; "audience.country" is a key in a key.
const (
	// Rows (0: 1) rows came before this page: the last ones come again; negative: some are skipped
	Shift    Kind = "shift"
	Total    Kind = "total"    // total_rows is off by Delta (0: 1)
	Truncate Kind = "truncate" // the answer ends after Rows rows, and claims to be complete
	Drop     Kind = "drop"     // Rows (0: 1) rows from Row on are missing
	// Row comes Rows (0: 1) times more; Other: with other measures; InPlace: over its neighbours
	Duplicate    Kind = "duplicate"
	WrongType    Kind = "wrongtype"    // Column of Row is the JSON text Value (empty: a string with a number in it)
	ExtraKey     Kind = "extrakey"     // Row has the key Column (empty: unknown_key) more, with the JSON text Value
	RepeatKey    Kind = "repeatkey"    // Row has the key Column twice, the second time with the JSON text Value
	MissingKey   Kind = "missingkey"   // Row lacks the key Column
	OtherDay     Kind = "otherday"     // Row has the date Value (empty: the day before)
	NoPagination Kind = "nopagination" // the reply is of the time before April 2026
	// Column beside or above the rows, or of the pagination, is the JSON text Value; any other name is a key more
	Top Kind = "top"
)

// kinds lists them all.
var kinds = []Kind{
	Status, HTML, Body, Cut, Reset, Stall, Hang, Slow, Trailing, Shift, Total, Truncate, Drop,
	Duplicate, WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay, NoPagination, Top,
}

// Fault is an error of the service, and the conditions under which it occurs. A request
// meets the first fault that matches it. The conditions:
//
//   - Path: "" for every path, else a pattern of [path.Match], with or without the
//     mount: "/v1/campaigns/*/creatives". A star does not match a slash:
//     "/v1/campaigns/C*" matches the single reads, without their creatives and sources.
//   - Query: parameters that the request must have, in the form k=v&k2=v2. An empty
//     value means that the parameter must be absent.
//   - Day: requests of the report for this day alone.
//   - Page: this page of the report.
//   - Times: the maximum number of matching requests; 0 means no maximum.
type Fault struct {
	Kind Kind `json:"kind"`

	Path  string `json:"path"`
	Query string `json:"query"`
	Day   string `json:"day"`
	Page  int    `json:"page"`
	Times int    `json:"times"`

	Status     int    `json:"status"`
	RetryAfter string `json:"retry_after"` // sent unchanged; "+30s" becomes the date in 30 seconds
	Location   string `json:"location"`

	After   int           `json:"after"`
	For     time.Duration `json:"-"`
	Chunked bool          `json:"chunked"`

	// Row counts from 0; beyond the page it is the last one, -1 is all of them.
	Row     int    `json:"row"`
	Rows    int    `json:"rows"`
	Delta   int    `json:"delta"` // of total_rows, for shift and total
	Other   bool   `json:"other"`
	InPlace bool   `json:"in_place"`
	Column  string `json:"column"`
	Value   string `json:"value"`
}

// Faults are the active faults, with the counts of their matches.
type Faults struct {
	Mu   sync.Mutex
	List []*setFault
}

type setFault struct {
	Fault
	query url.Values
	met   int
}

// Fail sets a fault. It panics on one that can never happen: an unknown kind, a
// bad pattern.
func (l *Faults) Fail(f Fault) {
	if err := l.Set(f); err != nil {
		panic(err)
	}
}

// ClearFaults takes all faults away.
func (l *Faults) ClearFaults() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.List = nil
}

func (l *Faults) Set(f Fault) error {
	if !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("fault: unknown kind %q", f.Kind)
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("fault: path %q: %w", f.Path, err)
	}
	query, err := url.ParseQuery(f.Query)
	if err != nil {
		return fmt.Errorf("fault: query %q: %w", f.Query, err)
	}
	if _, ok := clock.ParseDay(f.Day); f.Day != "" && !ok {
		return fmt.Errorf("fault: %q is not a day", f.Day)
	}
	if wait, ok := strings.CutPrefix(f.RetryAfter, "+"); ok {
		if _, err := time.ParseDuration(wait); err != nil {
			return fmt.Errorf("fault: retry after: %w", err)
		}
	}
	if f.Kind == Status && (f.Status < 200 || f.Status > 599) {
		return fmt.Errorf("fault: status %d", f.Status)
	}
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.List = append(l.List, &setFault{Fault: f, query: query})
	return nil
}

// Match finds the fault that a request meets, and counts it. The copy is the
// caller's.
func (l *Faults) Match(r *http.Request) *Fault {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if len(l.List) == 0 {
		return nil
	}
	q := r.URL.Query()
	for _, f := range l.List {
		if !f.fits(r.URL.Path, q) || f.Times > 0 && f.met >= f.Times {
			continue
		}
		f.met++
		met := f.Fault
		return &met
	}
	return nil
}

func (f *setFault) fits(p string, q url.Values) bool {
	if f.Path != "" {
		bare := strings.TrimPrefix(strings.TrimPrefix(p, ReportPrefix), APIPrefix)
		full, _ := path.Match(f.Path, p)
		short, _ := path.Match(f.Path, bare)
		if !full && !short {
			return false
		}
	}
	for k := range f.query {
		if q.Get(k) != f.query.Get(k) {
			return false
		}
	}
	if f.Day != "" && (q.Get("start_date") != f.Day || q.Get("end_date") != f.Day) {
		return false
	}
	return f.Page == 0 || strconv.Itoa(f.Page) == cmp.Or(q.Get("page"), "1")
}

// The methods below may be called on nil, the fault of a request without one.

func (f *Fault) Is(k Kind) bool { return f != nil && f.Kind == k }

// Replaces reports whether the fault replaces the service's reply.
func (f *Fault) Replaces() bool {
	return f.Is(Status) || f.Is(HTML) || f.Is(Body)
}

func orOne(n int) int { return cmp.Or(n, 1) }

// From returns the number of the first row of a page; the argument is the number that it would have without the fault.
func (f *Fault) From(from int) int {
	if f.Is(Shift) {
		return max(0, from-orOne(f.Rows))
	}
	return from
}

// Hurt changes the body of a successful reply of the report or of the advertiser API.
func (f *Fault) Hurt(rep Reply) Reply {
	if f == nil || rep.Status >= 300 {
		return rep
	}
	body := tree.Parse(rep.Body)
	if body == nil {
		return rep
	}
	pages, total := body.Get("pagination"), "total_rows"
	if pages == nil {
		pages, total = body, "total"
	}
	setTotal := func(n int) {
		pages.Edit(total, func(*tree.Node) *tree.Node { return tree.Int(n) })
		pages.Edit("total_pages", func(*tree.Node) *tree.Node {
			size := pages.Get("page_size").Number()
			return tree.Int((n + size - 1) / size)
		})
	}
	claimed, list := pages.Get(total).Number(), listIn(body)
	switch f.Kind {
	case Shift:
		setTotal(max(0, claimed+f.Delta))
	case Total:
		setTotal(max(0, claimed+orOne(f.Delta)))
	case Truncate:
		before := pages.Get("offset").Number() + (pages.Get("page").Number()-1)*pages.Get("page_size").Number()
		list.Values = list.Values[:min(max(0, f.Rows-before), len(list.Values))]
		setTotal(min(claimed, max(0, f.Rows)))
	case NoPagination:
		body.Drop("pagination", "total", "limit", "offset")
	case Top:
		if pages.Get(f.Column) == nil {
			pages = body
		}
		pages.Set(f.Column, tree.Leaf(f.Value))
	case Drop, Duplicate:
		list.Values = f.hurtRows(list.Values)
	default:
		for i, row := range list.Values {
			if f.Row < 0 || i == min(f.Row, len(list.Values)-1) {
				f.hurtRow(row)
			}
		}
	}
	rep.Body = body.Append(nil)
	return rep
}

// listIn returns the rows of a body; of one that has none, the object in it.
func listIn(body *tree.Node) *tree.Node {
	for _, key := range []string{"data", "campaigns", "creatives"} {
		if list := body.Get(key); list != nil && list.Kind == '[' {
			return list
		}
	}
	if len(body.Keys) == 1 && body.Values[0].Kind == '{' {
		return tree.List(body.Values[0])
	}
	return tree.List(body)
}

// hurtRows takes rows off the page or puts copies on it.
func (f *Fault) hurtRows(rows []*tree.Node) []*tree.Node {
	if len(rows) == 0 {
		return rows
	}
	at, n := max(0, min(f.Row, len(rows)-1)), orOne(f.Rows)
	if f.Kind == Drop {
		return slices.Delete(rows, at, min(len(rows), at+n))
	}
	copied := rows[at]
	if f.Other {
		copied = &tree.Node{Kind: '{', Keys: copied.Keys, Values: slices.Clone(copied.Values)}
		copied.Edit("total_spend", func(v *tree.Node) *tree.Node {
			spend, _ := money.Parse(v.Raw)
			return tree.Leaf(money.Amount(spend + 1000).String())
		})
		copied.Edit("clicks", func(v *tree.Node) *tree.Node { return tree.Int(v.Number() + 1) })
	}
	if !f.InPlace {
		return slices.Insert(rows, at+1, slices.Repeat([]*tree.Node{copied}, n)...)
	}
	for k := range n {
		if i := at + 1 + k; i < len(rows) {
			rows[i] = copied
		} else if i = at - 1 - k; i >= 0 {
			rows[i] = copied
		}
	}
	return rows
}

// hurtRow changes a member of an object; with a dot in the column it is a member of a member.
func (f *Fault) hurtRow(n *tree.Node) {
	column, value := f.Column, f.Value
	for outer, inner, nested := strings.Cut(column, "."); nested; outer, inner, nested = strings.Cut(column, ".") {
		n, column = n.Get(outer), inner
	}
	if n == nil || n.Kind != '{' {
		return
	}
	i := slices.Index(n.Keys, column)
	switch {
	case f.Kind == OtherDay:
		day, _ := clock.ParseDay(n.Get("date").Text())
		n.Edit("date", func(*tree.Node) *tree.Node { return tree.Text(cmp.Or(value, (day - 1).String())) })
	case f.Kind == ExtraKey:
		n.Keys = append(n.Keys, cmp.Or(column, "unknown_key"))
		n.Values = append(n.Values, tree.Leaf(cmp.Or(value, `{"since":"2026-11-01","list":[1,"two",null]}`)))
	case i < 0:
	case f.Kind == MissingKey:
		n.Drop(column)
	case f.Kind == WrongType:
		n.Values[i] = tree.Leaf(cmp.Or(value, `"12.50"`))
	case f.Kind == RepeatKey:
		n.Keys, n.Values = slices.Insert(n.Keys, i+1, column), slices.Insert(n.Values, i+1, tree.Leaf(value))
	}
}
