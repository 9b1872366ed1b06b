package adsim

import (
	"iter"
	"strings"
)

// entries is which entries of a list of n are on the page, and how many it says
// there are.
func (f *Fault) entries(w window, n int) (places []int, claimed int) {
	if f.is(Endless) {
		for k := 0; k < w.limit && n > 0; k++ {
			places = append(places, k%n)
		}
		return places, w.offset + 2*w.limit
	}
	from, to, claimed := f.window(w.offset, w.limit, n)
	for i := from; i < min(to, n); i++ {
		places = append(places, i)
	}
	return hurtRows(f, places, func(*int) {}), claimed
}

// member appends an object of the advertiser API, hurt by the fault if it is hit.
func (o *object) member(f *Fault, hit bool, members func(o *object)) {
	start := len(o.dst)
	o.begin("")
	members(o)
	o.end()
	if hit {
		hurt := f.hurtObject(o.dst[start:])
		o.dst = append(o.dst[:start], hurt...)
	}
}

// hurtObject is an object with its member Column changed; with a dot in it that is
// a member of a member.
func (f *Fault) hurtObject(body []byte) []byte {
	out := []byte{}
	column, inner, nested := strings.Cut(f.Column, ".")
	for key, value := range members(body) {
		mine := key == column
		if mine && f.Kind == MissingKey && !nested {
			continue
		}
		out = append(out, ',')
		out = appendString(out, key, false)
		out = append(out, ':')
		switch {
		case mine && nested && value[0] == '{':
			in := *f
			in.Column = inner
			out = append(out, in.hurtObject(value)...)
		case mine && f.Kind == WrongType && !nested:
			out = append(out, f.wrong()...)
		default:
			out = append(out, value...)
		}
		if mine && f.Kind == RepeatKey && !nested {
			out = f.appendMember(out, column)
		}
	}
	if f.Kind == ExtraKey && !nested {
		out = f.appendMember(out, column)
	}
	return closed(out)
}

// hurtTop is a body with the part Column beside or above the entries changed, or
// with one more.
func (f *Fault) hurtTop(body []byte) []byte {
	if !f.is(Top) || body[0] != '{' {
		return body
	}
	in := *f
	in.Kind = ExtraKey
	for key := range members(body) {
		if key == f.Column {
			in.Kind = WrongType
		}
	}
	return in.hurtObject(body)
}

// closed makes an object of members of which each follows a comma.
func closed(members []byte) []byte {
	if len(members) == 0 {
		return []byte("{}")
	}
	members[0] = '{'
	return append(members, '}')
}

// members walks the members of an object as the simulator writes them: no blanks,
// and no escapes in the keys.
func members(body []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for at := 1; body[at] != '}'; {
			if body[at] == ',' {
				at++
			}
			end := afterString(body, at)
			key := string(body[at+1 : end-1])
			at = end + 1
			end = afterValue(body, at)
			if !yield(key, body[at:end]) {
				return
			}
			at = end
		}
	}
}

// afterString is where a string that begins at a place has ended.
func afterString(body []byte, at int) int {
	for at++; body[at] != '"'; at++ {
		if body[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// afterValue is where a value that begins at a place has ended.
func afterValue(body []byte, at int) int {
	for depth := 0; ; at++ {
		switch body[at] {
		case '"':
			at = afterString(body, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
}
