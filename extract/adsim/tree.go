package adsim

import (
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value that keeps the order of its members and the text of its
// numbers, so that a reply can be changed in one place and stay as it is elsewhere.
type node struct {
	kind   byte     // '{', '[', or 0 for a value without parts
	raw    string   // of a value without parts: its JSON text
	keys   []string // of an object, as they are written between the quotes
	values []*node  // of the members or the elements
}

// leaf is a value without parts; raw is its JSON text.
func leaf(raw string) *node { return &node{raw: raw} }

// textNode is a JSON text.
func textNode(s string) *node { return leaf(string(appendString(nil, s, false))) }

func intNode(n int) *node { return leaf(strconv.Itoa(n)) }

func objectNode() *node { return &node{kind: '{'} }

func listNode(elements ...*node) *node { return &node{kind: '[', values: elements} }

// parseTree reads an object or a list. It checks nothing that a reply of the simulator
// holds to: a fault's invalid value stays as it is. It reports false for anything that
// has no such form.
func parseTree(body []byte) (*node, bool) {
	p := treeParser{body: body}
	n, ok := p.value()
	p.blanks()
	return n, ok && n.kind != 0 && p.at == len(body)
}

type treeParser struct {
	body []byte
	at   int
}

func (p *treeParser) blanks() {
	for p.at < len(p.body) && strings.IndexByte(" \t\r\n", p.body[p.at]) >= 0 {
		p.at++
	}
}

// next is the next byte that is not blank; 0 at the end.
func (p *treeParser) next() byte {
	if p.blanks(); p.at == len(p.body) {
		return 0
	}
	return p.body[p.at]
}

func (p *treeParser) value() (*node, bool) {
	switch c := p.next(); c {
	case '{', '[':
		return p.parts(c)
	case '"':
		s, ok := p.text()
		return leaf(s), ok
	case 0, '}', ']', ',', ':':
		return nil, false
	}
	from := p.at
	for p.at < len(p.body) && strings.IndexByte(" \t\r\n,]}", p.body[p.at]) < 0 {
		p.at++
	}
	return leaf(string(p.body[from:p.at])), true
}

// text reads a text with its quotes.
func (p *treeParser) text() (string, bool) {
	from := p.at
	for p.at++; p.at < len(p.body); p.at++ {
		switch p.body[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return string(p.body[from:p.at]), true
		}
	}
	return "", false
}

// parts reads the members of an object or the elements of a list.
func (p *treeParser) parts(kind byte) (*node, bool) {
	n := &node{kind: kind}
	for p.at++; ; {
		switch c := p.next(); {
		case c == '}' && kind == '{', c == ']' && kind == '[':
			p.at++
			return n, true
		case c == ',' && len(n.values) > 0:
			p.at++
		}
		if kind == '{' {
			if p.next() != '"' {
				return nil, false
			}
			key, ok := p.text()
			if !ok || p.next() != ':' {
				return nil, false
			}
			p.at++
			n.keys = append(n.keys, key[1:len(key)-1])
		}
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		n.values = append(n.values, v)
	}
}

// append appends the JSON text of the value; null for one that is not there.
func (n *node) append(dst []byte) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	if n.kind == 0 {
		return append(dst, n.raw...)
	}
	dst = append(dst, n.kind)
	for i, v := range n.values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(append(append(dst, '"'), n.keys[i]...), '"', ':')
		}
		dst = v.append(dst)
	}
	return append(dst, n.kind+2) // the closing one
}

// get is the member of that key, nil where there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.values[i]
	}
	return nil
}

// set replaces the member of that key, or adds it at the end.
func (n *node) set(key string, v *node) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.values[i] = v
		return
	}
	n.keys, n.values = append(n.keys, key), append(n.values, v)
}

// with is the object with one more member.
func (n *node) with(key string, v *node) *node {
	n.set(key, v)
	return n
}

// drop takes members away.
func (n *node) drop(keys ...string) {
	for _, key := range keys {
		if i := slices.Index(n.keys, key); i >= 0 {
			n.keys, n.values = slices.Delete(n.keys, i, i+1), slices.Delete(n.values, i, i+1)
		}
	}
}

// rename gives a member another key.
func (n *node) rename(from, to string) {
	if i := slices.Index(n.keys, from); i >= 0 {
		n.keys[i] = to
	}
}

// edit replaces the member of that key, if it is there and not null.
func (n *node) edit(key string, change func(v *node) *node) {
	if v := n.get(key); v != nil && v.raw != "null" {
		n.set(key, change(v))
	}
}

// walk calls do with every member of every object in the value, the outer ones first.
func (n *node) walk(do func(of *node, key string)) {
	if n == nil {
		return
	}
	for _, key := range slices.Clone(n.keys) {
		do(n, key)
	}
	for _, v := range n.values {
		v.walk(do)
	}
}

// text is what a JSON text says; "" for any other value.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	s, err := strconv.Unquote(n.raw)
	if err != nil || n.raw[0] != '"' {
		return ""
	}
	return s
}

// number is a whole number; 0 for any other value.
func (n *node) number() int {
	if n == nil {
		return 0
	}
	i, _ := strconv.Atoi(n.raw)
	return i
}

// elements are those of a list or an object; none where there is nothing.
func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return n.values
}

// fromText makes a change of a text of at least so many bytes; another value is as it
// was.
func fromText(least int, change func(s string) *node) func(v *node) *node {
	return func(v *node) *node {
		if s := v.text(); len(s) >= least {
			return change(s)
		}
		return v
	}
}

// lessPrefix is an ID without its letter, as a number.
var lessPrefix = fromText(2, func(s string) *node { return leaf(s[1:]) })

// isNumber says whether the value is a JSON number.
func (n *node) isNumber() bool {
	return n != nil && n.kind == 0 && n.raw != "" && strings.IndexByte("-0123456789", n.raw[0]) >= 0
}

// quoted is a number as a text; another value is as it was.
func quoted(n *node) *node {
	if n.isNumber() {
		return leaf(`"` + n.raw + `"`)
	}
	return n
}
