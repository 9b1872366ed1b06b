package variations

import (
	"strings"

	"spendsync/extract/adsim/tree"
)

type (
	node   = tree.Node
	change = func(x *exchange, body *node) *node
	form   func(object *node, key string) // changes one member of an object
)

var (
	leaf = tree.Leaf
	text = tree.Text
	with = tree.Object
	list = tree.List
)

// objects returns the rows or entities in the body of a reply, even if an earlier quirk has changed the envelope.
func (e endpoint) objects(body *node) []*node {
	if body.Kind == '[' {
		return body.Values
	}
	for _, key := range []string{"data", "entries", string(e)} {
		switch member := body.Get(key); {
		case member == nil:
		case member.Kind == '[':
			return member.Values
		case member.Kind == '{':
			return []*node{member}
		}
	}
	return []*node{body}
}

// body changes the bodies of the replies of some endpoints.
func body(endpoints string, do func(body *node)) change {
	return func(x *exchange, body *node) *node {
		if x.endpoint.is(endpoints) {
			do(body)
		}
		return body
	}
}

// in applies f to members of all rows or entities in the replies of some endpoints. The argument keys contains the keys
// of the members, separated by spaces.
func in(endpoints string, keys string, f form) change {
	return func(x *exchange, body *node) *node {
		if x.endpoint.is(endpoints) {
			for _, object := range x.endpoint.objects(body) {
				for key := range strings.FieldsSeq(keys) {
					f(object, key)
				}
			}
		}
		return body
	}
}

// replaceBody replaces the bodies of the replies of some endpoints by a JSON text.
func replaceBody(endpoints string, raw string) change {
	return func(x *exchange, body *node) *node {
		if x.endpoint.is(endpoints) {
			return leaf(raw)
		}
		return body
	}
}

// value applies a function to the value of a member, unless the member is missing or null.
func value(to func(v *node) *node) form {
	return func(object *node, key string) { object.Edit(key, to) }
}

// words applies a function to the text of a member, unless the member is missing or null.
func words(to func(s string) string) form {
	return value(func(v *node) *node { return text(to(v.Text())) })
}

// put sets the value of a member to a JSON text.
func put(raw string) form { return func(object *node, key string) { object.Set(key, leaf(raw)) } }

// renamed gives a member another key.
func renamed(to string) form { return func(object *node, key string) { object.Rename(key, to) } }

func drop(object *node, key string) { object.Drop(key) }

// ifNull applies f only to members that are null.
func ifNull(f form) form {
	return func(object *node, key string) {
		if v := object.Get(key); v != nil && v.Raw == "null" {
			f(object, key)
		}
	}
}
