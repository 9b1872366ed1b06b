package wire

import (
	"cmp"
	"slices"

	"spendsync/extract/adsim/jsontext"
)

// What follows is asked of the fault of a request, which may be nil.

func (f *Fault) Is(k Kind) bool { return f != nil && f.Kind == k }

// Replaces says whether the reply is the fault's and not the service's.
func (f *Fault) Replaces() bool {
	return f.Is(Status) || f.Is(HTML) || f.Is(Empty) || f.Is(Null) || f.Is(Body)
}

// ChangesRows says whether a page of the report is not the usual one.
func (f *Fault) ChangesRows() bool {
	if f == nil {
		return false
	}
	switch f.Kind {
	case Shift, Total, Truncate, Drop, Duplicate, WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay,
		NoPagination, Top:
		return true
	}
	return false
}

// Window is which rows are on the page, and how many it says there are.
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

// ChangesMembers says whether an object is written otherwise than it should be.
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

// HitsRow says whether this row is.
func (f *Fault) HitsRow(i int) bool {
	return f.ChangesMembers() && (f.Row < 0 || i == f.Row)
}

// Top is what stands in the place of a part beside the rows.
func (f *Fault) Top(name string) (string, bool) {
	if !f.Is(Top) || f.Column != name {
		return "", false
	}
	return f.Value, true
}

// AppendTop appends the key beside the rows that nobody knows.
func (f *Fault) AppendTop(dst []byte) []byte {
	if !f.Is(Top) {
		return dst
	}
	switch f.Column {
	case "columns", "data", "pagination", "page", "page_size", "total_rows", "total_pages":
		return dst
	}
	return f.AppendMember(dst, f.Column)
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

// AppendMember appends a key with the fault's value.
func (f *Fault) AppendMember(dst []byte, name string) []byte {
	key, value := f.extra(name)
	dst = append(jsontext.AppendString(append(dst, ','), key, false), ':')
	return append(dst, value...)
}
