package adsim

import (
	"cmp"
	"slices"
)

// What follows is asked of the fault of a request, which may be nil.

func (f *Fault) is(k Kind) bool { return f != nil && f.Kind == k }

// replaces says whether the reply is the fault's and not the service's.
func (f *Fault) replaces() bool {
	return f.is(Status) || f.is(HTML) || f.is(Empty) || f.is(Null) || f.is(Body)
}

// changesRows says whether a page of the report is not the usual one.
func (f *Fault) changesRows() bool {
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

// window is which rows are on the page, and how many it says there are.
func (f *Fault) window(from, size, total int) (start, end, claimed int) {
	switch {
	case f.is(Truncate):
		total = min(total, max(0, f.Rows))
		return min(from, total), min(from+size, total), total
	case f.is(Shift):
		from = max(0, from-orOne(f.Rows))
		return from, from + size, max(0, total+f.Delta)
	case f.is(Total):
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

// hurtRows takes rows off the page or puts copies on it; other makes a copy differ.
func hurtRows[T any](f *Fault, rows []T, other func(*T)) []T {
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

// changesMembers says whether an object is written otherwise than it should be.
func (f *Fault) changesMembers() bool {
	if f == nil {
		return false
	}
	switch f.Kind {
	case WrongType, ExtraKey, RepeatKey, MissingKey, OtherDay:
		return true
	}
	return false
}

// hitsRow says whether this row is.
func (f *Fault) hitsRow(i int) bool {
	return f.changesMembers() && (f.Row < 0 || i == f.Row)
}

// top is what stands in the place of a part beside the rows.
func (f *Fault) top(name string) (string, bool) {
	if !f.is(Top) || f.Column != name {
		return "", false
	}
	return f.Value, true
}

// appendTop appends the key beside the rows that nobody knows.
func (f *Fault) appendTop(dst []byte) []byte {
	if !f.is(Top) {
		return dst
	}
	switch f.Column {
	case "columns", "data", "pagination", "page", "page_size", "total_rows", "total_pages":
		return dst
	}
	return f.appendMember(dst, f.Column)
}

// wrong is the value of another type.
func (f *Fault) wrong() string {
	if f.Value == "" {
		return `"12.50"`
	}
	return f.Value
}

// extra returns the name and the JSON of a key that the fault adds.
func (f *Fault) extra(name string) (key, value string) {
	return cmp.Or(name, "unknown_key"), cmp.Or(f.Value, `{"since":"2026-11-01","list":[1,"two",null]}`)
}

// appendMember appends a key with the fault's value.
func (f *Fault) appendMember(dst []byte, name string) []byte {
	key, value := f.extra(name)
	dst = append(appendString(append(dst, ','), key, false), ':')
	return append(dst, value...)
}
