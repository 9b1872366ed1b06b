package variations

import (
	"strings"

	"spendsync/extract/adsim/tree"
)

type (
	node   = tree.Node
	change = func(x *exchange, body *node) *node
	form   func(of *node, key string) // changes how a member of an object is written
)

var (
	leaf = tree.Leaf
	text = tree.Text
	with = tree.Object
	list = tree.List
)

// objects are the rows or the entities of a reply, in any envelope of the quirks.
func (p place) objects(body *node) []*node {
	if body.Kind == '[' {
		return body.Values
	}
	for _, key := range []string{"data", "entries", string(p)} {
		switch of := body.Get(key); {
		case of == nil:
		case of.Kind == '[':
			return of.Values
		case of.Kind == '{':
			return []*node{of}
		}
	}
	return []*node{body}
}

// body changes the bodies of the replies in some places.
func body(places string, do func(body *node)) change {
	return func(x *exchange, body *node) *node {
		if x.place.is(places) {
			do(body)
		}
		return body
	}
}

// in applies a form to members of the rows or entities of some places. keys names the members, with blanks between.
func in(places string, keys string, f form) change {
	return func(x *exchange, body *node) *node {
		if x.place.is(places) {
			for _, of := range x.place.objects(body) {
				for key := range strings.FieldsSeq(keys) {
					f(of, key)
				}
			}
		}
		return body
	}
}

// whole puts a JSON text in the place of an entire body.
func whole(places string, raw string) change {
	return func(x *exchange, body *node) *node {
		if x.place.is(places) {
			return leaf(raw)
		}
		return body
	}
}

// value replaces a member, if it is there and not null.
func value(to func(v *node) *node) form {
	return func(of *node, key string) { of.Edit(key, to) }
}

// words replaces the text of a member, if it is there and not null.
func words(to func(s string) string) form {
	return value(func(v *node) *node { return text(to(v.Text())) })
}

// put sets a member to a JSON text.
func put(raw string) form { return func(of *node, key string) { of.Set(key, leaf(raw)) } }

// renamed gives a member another key.
func renamed(to string) form { return func(of *node, key string) { of.Rename(key, to) } }

func drop(of *node, key string) { of.Drop(key) }

// ifNull applies a form to a member that is null.
func ifNull(f form) form {
	return func(of *node, key string) {
		if v := of.Get(key); v != nil && v.Raw == "null" {
			f(of, key)
		}
	}
}
