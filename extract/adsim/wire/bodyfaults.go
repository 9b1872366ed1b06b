package wire

import (
	"slices"
	"strings"

	"spendsync/extract/adsim/jsontext"
)

// Entries is which entries of a list of n are on the page, and how many it says
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

// Member appends an object of the advertiser API, hurt by the fault if it is hit.
func Member(o *jsontext.Object, f *Fault, hit bool, members func(o *jsontext.Object)) {
	start := len(o.Dst)
	o.Begin("")
	members(o)
	o.End()
	if hit {
		o.Dst = f.hurtBody(o.Dst[:start], o.Dst[start:])
	}
}

// hurtBody appends an object with its member Column changed.
func (f *Fault) hurtBody(dst, body []byte) []byte {
	n, ok := jsontext.ParseTree(body)
	if !ok {
		return append(dst, body...)
	}
	f.hurt(n, f.Column)
	return n.Append(dst)
}

// hurt changes a member of an object; with a dot in the column it is a member of a member.
func (f *Fault) hurt(n *jsontext.Node, column string) {
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
		n.Keys, n.Values = append(n.Keys, name), append(n.Values, jsontext.Leaf(value))
	case i < 0:
	case f.Kind == MissingKey:
		n.Drop(column)
	case f.Kind == WrongType:
		n.Values[i] = jsontext.Leaf(f.Wrong())
	case f.Kind == RepeatKey:
		n.Keys, n.Values = slices.Insert(n.Keys, i+1, name), slices.Insert(n.Values, i+1, jsontext.Leaf(value))
	}
}

// HurtTop is a body with the part Column beside or above the entries changed, or with one more.
func (f *Fault) HurtTop(body []byte) []byte {
	n, ok := jsontext.ParseTree(body)
	if !f.Is(Top) || !ok || n.Kind != '{' {
		return body
	}
	in := *f
	in.Kind = ExtraKey
	if n.Get(f.Column) != nil {
		in.Kind = WrongType
	}
	in.hurt(n, f.Column)
	return n.Append(nil)
}
