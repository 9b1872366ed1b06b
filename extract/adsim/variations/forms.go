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

// body returns a change that calls a function with the body of every reply of the given endpoints.
func body(endpoints string, do func(body *node)) change {
	return func(x *exchange, body *node) *node {
		if x.endpoint.is(endpoints) {
			do(body)
		}
		return body
	}
}

// The change in(endpoints, keys, f) applies the function f to members of all rows or entities in the replies of the
// given endpoints. The argument keys contains the keys of these members, separated by spaces.
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

// replaceBody returns a function that replaces the body of every reply of the given endpoints by the JSON text raw.
func replaceBody(endpoints string, raw string) change {
	return func(x *exchange, body *node) *node {
		if x.endpoint.is(endpoints) {
			return leaf(raw)
		}
		return body
	}
}

// value returns a function that replaces the value v of a member by to(v). A member that is missing or null is left
// alone.
func value(to func(v *node) *node) form {
	return func(object *node, key string) { object.Edit(key, to) }
}

// words returns a function that replaces the text s of a member by to(s). A member that is missing or null is left
// alone.
func words(to func(s string) string) form {
	return value(func(v *node) *node { return text(to(v.Text())) })
}

// put returns a function that sets a member to the JSON text raw.
func put(raw string) form { return func(object *node, key string) { object.Set(key, leaf(raw)) } }

// renamed returns a function that changes the key of a member to the given key.
func renamed(to string) form { return func(object *node, key string) { object.Rename(key, to) } }

func drop(object *node, key string) { object.Drop(key) }

// ifNull returns a function that applies f to a member only if the member is null.
func ifNull(f form) form {
	return func(object *node, key string) {
		if v := object.Get(key); v != nil && v.Raw == "null" {
			f(object, key)
		}
	}
}
