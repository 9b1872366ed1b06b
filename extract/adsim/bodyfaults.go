package adsim

import (
	"slices"
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
func member(o *object, f *Fault, hit bool, members func(o *object)) {
	start := len(o.dst)
	o.begin("")
	members(o)
	o.end()
	if hit {
		o.dst = f.hurtBody(o.dst[:start], o.dst[start:])
	}
}

// hurtBody appends an object with its member Column changed.
func (f *Fault) hurtBody(dst, body []byte) []byte {
	n, ok := parseTree(body)
	if !ok {
		return append(dst, body...)
	}
	f.hurt(n, f.Column)
	return n.append(dst)
}

// hurt changes a member of an object; with a dot in the column it is a member of a member.
func (f *Fault) hurt(n *node, column string) {
	if outer, inner, nested := strings.Cut(column, "."); nested {
		if of := n.get(outer); of != nil && of.kind == '{' {
			f.hurt(of, inner)
		}
		return
	}
	name, value := f.extra(column)
	i := slices.Index(n.keys, column)
	switch {
	case f.Kind == ExtraKey:
		n.keys, n.values = append(n.keys, name), append(n.values, leaf(value))
	case i < 0:
	case f.Kind == MissingKey:
		n.drop(column)
	case f.Kind == WrongType:
		n.values[i] = leaf(f.wrong())
	case f.Kind == RepeatKey:
		n.keys, n.values = slices.Insert(n.keys, i+1, name), slices.Insert(n.values, i+1, leaf(value))
	}
}

// hurtTop is a body with the part Column beside or above the entries changed, or with one more.
func (f *Fault) hurtTop(body []byte) []byte {
	n, ok := parseTree(body)
	if !f.is(Top) || !ok || n.kind != '{' {
		return body
	}
	in := *f
	in.Kind = ExtraKey
	if n.get(f.Column) != nil {
		in.Kind = WrongType
	}
	in.hurt(n, f.Column)
	return n.append(nil)
}
