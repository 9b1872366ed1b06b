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

// Kind determines what a fault does. The constants below describe each kind.
type Kind string

// Kinds that replace the reply. The status of the new reply is Fault.Status, or 200 if Fault.Status is 0. In the
// comments on kinds, "default" is what applies if the field is 0 or empty.
const (
	Status Kind = "status" // an error of the service, with the headers Fault.RetryAfter and Fault.Location
	HTML   Kind = "html"   // an HTML page
	Body   Kind = "body"   // the body is Fault.Value
)

// Kinds that strike while the reply is sent.
const (
	// Cut sends Fault.After bytes of the body, then closes the connection. The default is half of the body; -1 sends
	// nothing of it. With Fault.Chunked, the reply has no Content-Length.
	Cut Kind = "cut"
	// Reset sends the header and Fault.After bytes of the body, then a TCP reset. If Fault.After is 0, not even the
	// header is sent.
	Reset Kind = "reset"
	// Stall sends the header and Fault.After bytes of the body, then pauses for the duration Fault.For (default: until
	// the client disconnects).
	Stall Kind = "stall"
	// Hang pauses before the header, for the duration Fault.For (default: until the client disconnects).
	Hang Kind = "hang"
	// Slow sends the body in parts of Fault.After bytes (default 1), with pauses of Fault.For (default 10ms).
	Slow     Kind = "slow"
	Trailing Kind = "trailing" // Fault.Value (default: a second JSON object) follows the body
)

// Kinds that change a page of the report. They also change replies of the advertiser API. There, a row is an entry of a
// list or the single object of the reply, and total_rows stands for the key total. If Fault.Column contains a dot, for
// example "audience.country", it names a key of an inner object.
const (
	// Shift lets the page begin too early by Fault.Rows rows (default 1), as if rows had been inserted since the
	// previous page was read. A negative number skips rows.
	Shift    Kind = "shift"
	Total    Kind = "total"    // total_rows is too large by Fault.Delta (default 1)
	Truncate Kind = "truncate" // the result ends after Fault.Rows rows, and claims to be complete
	Drop     Kind = "drop"     // Fault.Rows rows (default 1) are missing, beginning at index Fault.Row
	// Duplicate adds Fault.Rows copies (default 1) of the row at index Fault.Row. With Fault.Other, the copies have
	// other measures. With Fault.InPlace, the copies replace adjacent rows.
	Duplicate Kind = "duplicate"
	// WrongType replaces the value of Fault.Column in the row Fault.Row by the JSON text Fault.Value (default "12.50").
	WrongType Kind = "wrongtype"
	// ExtraKey adds the key Fault.Column (default unknown_key) with the JSON text Fault.Value to the row Fault.Row.
	ExtraKey Kind = "extrakey"
	// RepeatKey repeats the key Fault.Column in the row Fault.Row; its second value is the JSON text Fault.Value.
	RepeatKey  Kind = "repeatkey"
	MissingKey Kind = "missingkey" // the row Fault.Row lacks the key Fault.Column
	// OtherDay replaces the date of the row Fault.Row by Fault.Value (default: the day before).
	OtherDay     Kind = "otherday"
	NoPagination Kind = "nopagination" // the reply has no pagination, as before April 2026
	// Top sets the key Fault.Column to the JSON text Fault.Value. The key is set in the pagination if the pagination
	// has that key, else at the top of the reply.
	Top Kind = "top"
)

// kinds lists all kinds.
var kinds = []Kind{
	Status, HTML, Body, Cut, Reset, Stall, Hang, Slow, Trailing, Shift, Total, Truncate, Drop,
	Duplicate, WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay, NoPagination, Top,
}

// Fault describes an error of the service, and the requests that the error affects. A request meets the first fault
// whose conditions all match:
//
//   - Path: a pattern of [path.Match] such as "/v1/campaigns/*/creatives"; "" matches every path. The prefixes /api and
//     /report may be left out. A star does not match a slash: "/v1/campaigns/C*" does not match the creatives and
//     sources of a campaign.
//   - Query: parameters that the request must have, as k=v&k2=v2. A parameter with an empty value must be absent.
//   - Day: the day of a report request for a single day.
//   - Page: the requested page of the report.
//   - Times: the fault strikes this many times; 0 means every time.
type Fault struct {
	Kind Kind

	Path  string
	Query string
	Day   string
	Page  int
	Times int

	Status int
	// RetryAfter is the header Retry-After. "+30s" stands for the date 30 seconds after the request; any other text is
	// sent as given.
	RetryAfter string
	Location   string

	After   int
	For     time.Duration
	Chunked bool

	// Row is the index of the affected row on the page. An index beyond the end of the page means the last row, -1
	// means all rows.
	Row     int
	Rows    int
	Delta   int // the number that Shift and Total add to total_rows
	Other   bool
	InPlace bool
	Column  string
	Value   string
}

// Faults are the active faults, with the counts of their matches.
type Faults struct {
	mu   sync.Mutex
	list []*setFault
}

type setFault struct {
	Fault
	query url.Values
	met   int
}

// Fail adds a fault. It panics if the fault is invalid, for example if its kind is unknown.
func (l *Faults) Fail(f Fault) {
	if err := l.Set(f); err != nil {
		panic(err)
	}
}

// ClearFaults removes all faults.
func (l *Faults) ClearFaults() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// Set adds a fault, or returns an error if it is invalid.
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, &setFault{Fault: f, query: query})
	return nil
}

// Match returns a copy of the first fault that matches a request, and counts the match. It returns nil if no fault
// matches.
func (l *Faults) Match(r *http.Request) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil
	}
	q := r.URL.Query()
	for _, f := range l.list {
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

// The methods below may be called on a nil *Fault, which stands for no fault.

// Is reports whether the fault is of the kind k.
func (f *Fault) Is(k Kind) bool { return f != nil && f.Kind == k }

// Replaces reports whether the fault replaces the service's reply.
func (f *Fault) Replaces() bool {
	return f.Is(Status) || f.Is(HTML) || f.Is(Body)
}

func orOne(n int) int { return cmp.Or(n, 1) }

// From returns the index of the first row of a page. The argument is that index without a fault. A Shift changes it.
func (f *Fault) From(from int) int {
	if f.Is(Shift) {
		return max(0, from-orOne(f.Rows))
	}
	return from
}

// Hurt returns the reply with its body changed by the fault. The bodies of error replies are not changed.
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

// listIn returns the list of rows in a body. A body without a list counts as a list of its single object.
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

// hurtRows removes rows (Drop), or adds copies of a row (Duplicate).
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

// hurtRow changes a member of a row. If Column contains dots, it names a member of an inner object.
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
