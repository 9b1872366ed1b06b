package variations

import (
	"math"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
	"strconv"
	"strings"
)

type (
	node   = tree.Node
	change = func(x *exchange, body *node) *node
)

var (
	leaf = tree.Leaf
	text = tree.Text
	num  = tree.Int
	with = tree.Object
	list = tree.List
)

// entities returns the objects that a reply of the advertiser API is about, in any shape.
func entities(body *node) []*node {
	if body.Kind == '[' {
		return body.Values
	}
	for _, key := range []string{"campaigns", "creatives", "items", "data"} {
		if list := body.Get(key); list != nil && list.Kind == '[' {
			return list.Values
		}
	}
	for _, key := range []string{"campaign", "creative", "source_settings", "data"} {
		if one := body.Get(key); one != nil && one.Kind == '{' {
			return []*node{one}
		}
	}
	return []*node{body}
}

// rowsOf returns the rows of a reply of the report.
func rowsOf(body *node) []*node { return body.Get("data").Elements() }

// objects are the rows or the entities of a reply.
func (p place) objects(body *node) []*node {
	if p.is(ofAPI) {
		return entities(body)
	}
	return rowsOf(body)
}

// each changes the rows or the entities of the replies in some places.
func each(places string, do func(x *exchange, i int, of *node)) change {
	return func(x *exchange, body *node) *node {
		if !x.place.is(places) {
			return body
		}
		for i, of := range x.place.objects(body) {
			do(x, i, of)
		}
		return body
	}
}

// edit is each for a change that needs no more than the object.
func edit(places string, do func(of *node)) change {
	return each(places, func(_ *exchange, _ int, of *node) { do(of) })
}

// inPlaces changes the bodies in some places.
func inPlaces(places string, do func(x *exchange, body *node) *node) change {
	return func(x *exchange, body *node) *node {
		if x.place.is(places) {
			return do(x, body)
		}
		return body
	}
}

// body is inPlaces for a change that needs no more than the body.
func body(places string, do func(body *node)) change {
	return inPlaces(places, func(_ *exchange, body *node) *node { do(body); return body })
}

// all makes several changes.
func all(changes ...change) change {
	return func(x *exchange, body *node) *node {
		for _, c := range changes {
			body = c(x, body)
		}
		return body
	}
}

// form changes how a member of an object is written.
type form func(of *node, key string)

// in applies a form to the members that keys names, in the rows or entities of some places.
func in(places string, keys string, f form) change {
	names := strings.Fields(keys)
	return edit(places, func(of *node) {
		for _, key := range names {
			f(of, key)
		}
	})
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

// ifNull applies a form to a member that is null.
func ifNull(f form) form {
	return func(of *node, key string) {
		if v := of.Get(key); v != nil && v.Raw == "null" {
			f(of, key)
		}
	}
}

// tail appends JSON text to the end of a text.
func tail(raw string) form {
	return value(func(v *node) *node {
		if v.Raw == "" || v.Raw[0] != '"' {
			return v
		}
		return leaf(v.Raw[:len(v.Raw)-1] + raw + `"`)
	})
}

func drop(of *node, key string) { of.Drop(key) }

// asID writes an ID without its letter, as a number.
var asID = value(func(v *node) *node {
	if s := v.Text(); s != "" {
		return leaf(s[1:])
	}
	return v
})

// asText writes numbers as texts.
var asText = value(func(v *node) *node {
	if v.Text() != "" {
		return v
	}
	return text(v.Raw)
})

// whole puts a JSON text in the place of an entire body.
func whole(places string, raw string) change {
	return inPlaces(places, func(*exchange, *node) *node { return leaf(raw) })
}

// camel returns a key in camel case.
func camel(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func camelKeys(of *node) {
	of.Walk(func(of *node, key string) { of.Rename(key, camel(key)) })
}

func float(v *node) float64 { f, _ := strconv.ParseFloat(v.Raw, 64); return f }

// plusMillionths adds to an amount that the simulator wrote exactly.
func plusMillionths(v *node, add int64) *node {
	return leaf(string(money.Append(nil, int64(math.Round(float(v)*1e6))+add)))
}
