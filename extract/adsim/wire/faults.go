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
	"spendsync/extract/adsim/tree"
)

// Kind is the kind of a fault.
type Kind string

// Kinds that replace the reply. Status is that of the reply (200 if 0).
const (
	Status Kind = "status" // the Status, with the service's error body, RetryAfter and Location
	HTML   Kind = "html"   // a page for people
	Empty  Kind = "empty"  // no body
	Null   Kind = "null"   // the body null
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

// Kinds that change the rows or numbers of a page of the report. All but OtherDay
// do the same to the advertiser API: there, rows are the entries of a list,
// total_rows is total, and a key belongs to the entry that Row names or, if the reply
// is a single object, to that object; "audience.country" is a key in a key.
// NoPagination leaves total, limit and offset out. Further copies equal the first one.
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
	// Column beside or above the rows is the JSON text Value: columns, data, pagination,
	Top Kind = "top"
	// page, page_size, total_rows, total_pages (of the API: any key of the body); any other name is a key more
)

// Endless is the kind of a list of the advertiser API that never ends: every page
// is full, of the first entries again and again, and total claims more.
const Endless Kind = "endless"

// Unreadable is the kind that leaves out of an advertiser API reply what the
// service could not read: delivery_status is missing, bid_overrides is null.
const Unreadable Kind = "unreadable"

// Unavailable is the kind that answers 503 unavailable on the advertiser API, with
// RetryAfter seconds (30): pausing still works. Upstream is 502 upstream_error on a
// write; with Other the change goes through all the same.
const (
	Unavailable Kind = "unavailable"
	Upstream    Kind = "upstream"
)

// kinds lists them all.
var kinds = []Kind{
	Status, HTML, Empty, Null, Body, Cut, Reset, Stall, Hang, Slow, Trailing, Shift, Total, Truncate, Drop,
	Duplicate, WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay, NoPagination, Top, Endless, Unreadable,
	Unavailable, Upstream,
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
//   - Page and PageTo: pages Page to PageTo (0: Page alone, -1: and all after). A
//     list of the advertiser API has them too: the first limit entries are page 1.
//   - Times: the maximum number of matching requests; 0 means no maximum.
type Fault struct {
	Kind Kind `json:"kind"`

	Path   string `json:"path"`
	Query  string `json:"query"`
	Day    string `json:"day"`
	Page   int    `json:"page"`
	PageTo int    `json:"page_to"`
	Times  int    `json:"times"`

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
	if f.Page == 0 {
		return true
	}
	page, ok := pageAsked(p, q)
	return ok && page >= f.Page && (page <= max(f.Page, f.PageTo) || f.PageTo < 0)
}

// pageAsked is the page that a request asks for.
func pageAsked(p string, q url.Values) (page int, ok bool) {
	if !strings.HasPrefix(p, APIPrefix+"/") {
		page, text := ParsePositive(q, "page", 1, 1<<40)
		return page, text == ""
	}
	limit, _ := strconv.Atoi(cmp.Or(q.Get("limit"), "25"))
	offset, _ := strconv.Atoi(q.Get("offset"))
	return offset/max(1, limit) + 1, true
}

// The methods below may be called on nil, the fault of a request without one.

func (f *Fault) Is(k Kind) bool { return f != nil && f.Kind == k }

// Replaces reports whether the fault replaces the service's reply.
func (f *Fault) Replaces() bool {
	return f.Is(Status) || f.Is(HTML) || f.Is(Empty) || f.Is(Null) || f.Is(Body)
}

// Window returns which rows are on the page, and the claimed total.
func (f *Fault) Window(from, size, total int) (start, end, claimed int) {
	switch {
	case f.Is(Truncate):
		total = min(total, max(0, f.Rows))
		return min(from, total), min(from+size, total), total
	case f.Is(Shift):
		from = max(0, from-orOne(f.Rows))
		return from, from + size, max(0, total+f.Delta)
	case f.Is(Total):
		return from, from + size, max(0, total+orOne(f.Delta))
	}
	return from, from + size, total
}

func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return n
}

// HurtRows takes rows off the page or puts copies on it; other makes a copy differ.
func HurtRows[T any](f *Fault, rows []T, other func(*T)) []T {
	if f == nil || len(rows) == 0 {
		return rows
	}
	f.Row = min(f.Row, len(rows)-1)
	at, n := max(0, f.Row), orOne(f.Rows)
	switch f.Kind {
	case Drop:
		return slices.Delete(rows, at, min(len(rows), at+n))
	case Duplicate:
		copied := rows[at]
		if f.Other {
			other(&copied)
		}
		if !f.InPlace {
			return slices.Insert(rows, at+1, slices.Repeat([]T{copied}, n)...)
		}
		for k := range n {
			if i := at + 1 + k; i < len(rows) {
				rows[i] = copied
			} else if i = at - 1 - k; i >= 0 {
				rows[i] = copied
			}
		}
	}
	return rows
}

// ChangesMembers reports whether an object is written otherwise than it should be.
func (f *Fault) ChangesMembers() bool {
	if f == nil {
		return false
	}
	switch f.Kind {
	case WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay:
		return true
	}
	return false
}

// HitsRow reports whether this row is.
func (f *Fault) HitsRow(i int) bool {
	return f.ChangesMembers() && (f.Row < 0 || i == f.Row)
}

// Wrong is the value of another type.
func (f *Fault) Wrong() string {
	if f.Value == "" {
		return `"12.50"`
	}
	return f.Value
}

// extra returns the name and the JSON of a key that the fault adds.
func (f *Fault) extra(name string) (key, value string) {
	return cmp.Or(name, "unknown_key"), cmp.Or(f.Value, `{"since":"2026-11-01","list":[1,"two",null]}`)
}

// Entries is which entries of a list of n are on the page, and how many it claims
// there are.
func (f *Fault) Entries(w Window, n int) (places []int, claimed int) {
	if f.Is(Endless) {
		for k := 0; k < w.Limit && n > 0; k++ {
			places = append(places, k%n)
		}
		return places, w.Offset + 2*w.Limit
	}
	from, to, claimed := f.Window(w.Offset, w.Limit, n)
	for i := from; i < min(to, n); i++ {
		places = append(places, i)
	}
	return HurtRows(f, places, func(*int) {}), claimed
}

// Entry returns an object of the advertiser API, with its member Column changed if the fault hits it.
func (f *Fault) Entry(v any, hit bool) *tree.Node {
	if !hit {
		return tree.Leaf(string(tree.Marshal(v)))
	}
	n := tree.Parse(tree.Marshal(v))
	f.hurt(n, f.Column)
	return n
}

// hurt changes a member of an object; with a dot in the column it is a member of a member.
func (f *Fault) hurt(n *tree.Node, column string) {
	if outer, inner, nested := strings.Cut(column, "."); nested {
		if of := n.Get(outer); of != nil && of.Kind == '{' {
			f.hurt(of, inner)
		}
		return
	}
	name, value := f.extra(column)
	i := slices.Index(n.Keys, column)
	switch {
	case f.Kind == ExtraKey:
		n.Keys, n.Values = append(n.Keys, name), append(n.Values, tree.Leaf(value))
	case i < 0:
	case f.Kind == MissingKey:
		n.Drop(column)
	case f.Kind == WrongType:
		n.Values[i] = tree.Leaf(f.Wrong())
	case f.Kind == RepeatKey:
		n.Keys, n.Values = slices.Insert(n.Keys, i+1, name), slices.Insert(n.Values, i+1, tree.Leaf(value))
	}
}

// HurtTop changes the part Column of a body outside the entries, or adds it.
func (f *Fault) HurtTop(n *tree.Node) {
	if !f.Is(Top) || n.Kind != '{' {
		return
	}
	in := *f
	in.Kind = ExtraKey
	if n.Get(f.Column) != nil {
		in.Kind = WrongType
	}
	in.hurt(n, f.Column)
}
