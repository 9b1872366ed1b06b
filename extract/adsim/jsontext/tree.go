package jsontext

import (
	"slices"
	"strconv"
	"strings"
)

// Node is a JSON value that keeps the order of its members and the text of its numbers, so that one
// place in a reply can be changed without affecting the rest.
type Node struct {
	Kind   byte     // '{', '[', or 0 for a value without parts
	Raw    string   // of a value without parts: its JSON text
	Keys   []string // of an object, in the spelling between the quotes
	Values []*Node  // of the members or the elements
}

// Leaf is a value without parts; raw is its JSON text.
func Leaf(raw string) *Node { return &Node{Raw: raw} }

// TextNode is a JSON text.
func TextNode(s string) *Node { return Leaf(string(AppendString(nil, s))) }

func IntNode(n int) *Node { return Leaf(strconv.Itoa(n)) }

func ObjectNode() *Node { return &Node{Kind: '{'} }

func ListNode(elements ...*Node) *Node { return &Node{Kind: '[', Values: elements} }

// ParseTree parses an object or a list. It does not validate single values: a fault's invalid value
// is kept unchanged. It reports false for anything else.
func ParseTree(body []byte) (*Node, bool) {
	p := treeParser{body: body}
	n, ok := p.value()
	p.blanks()
	return n, ok && n.Kind != 0 && p.at == len(body)
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

func (p *treeParser) value() (*Node, bool) {
	switch c := p.next(); c {
	case '{', '[':
		return p.parts(c)
	case '"':
		s, ok := p.text()
		return Leaf(s), ok
	case 0, '}', ']', ',', ':':
		return nil, false
	}
	from := p.at
	for p.at < len(p.body) && strings.IndexByte(" \t\r\n,]}", p.body[p.at]) < 0 {
		p.at++
	}
	return Leaf(string(p.body[from:p.at])), true
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
func (p *treeParser) parts(kind byte) (*Node, bool) {
	n := &Node{Kind: kind}
	for p.at++; ; {
		switch c := p.next(); {
		case c == '}' && kind == '{', c == ']' && kind == '[':
			p.at++
			return n, true
		case c == ',' && len(n.Values) > 0:
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
			n.Keys = append(n.Keys, key[1:len(key)-1])
		}
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		n.Values = append(n.Values, v)
	}
}

// Append appends the JSON text of the value; null for one that is not there.
func (n *Node) Append(dst []byte) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	if n.Kind == 0 {
		return append(dst, n.Raw...)
	}
	dst = append(dst, n.Kind)
	for i, v := range n.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.Kind == '{' {
			dst = append(append(append(dst, '"'), n.Keys[i]...), '"', ':')
		}
		dst = v.Append(dst)
	}
	return append(dst, n.Kind+2) // the closing one
}

// Get is the member of that key, nil if there is none.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != '{' {
		return nil
	}
	if i := slices.Index(n.Keys, key); i >= 0 {
		return n.Values[i]
	}
	return nil
}

// Set replaces the member of that key, or adds it at the end.
func (n *Node) Set(key string, v *Node) {
	if i := slices.Index(n.Keys, key); i >= 0 {
		n.Values[i] = v
		return
	}
	n.Keys, n.Values = append(n.Keys, key), append(n.Values, v)
}

// With is the object with one more member.
func (n *Node) With(key string, v *Node) *Node {
	n.Set(key, v)
	return n
}

// Drop takes members away.
func (n *Node) Drop(keys ...string) {
	for _, key := range keys {
		if i := slices.Index(n.Keys, key); i >= 0 {
			n.Keys, n.Values = slices.Delete(n.Keys, i, i+1), slices.Delete(n.Values, i, i+1)
		}
	}
}

// Rename gives a member another key.
func (n *Node) Rename(from, to string) {
	if i := slices.Index(n.Keys, from); i >= 0 {
		n.Keys[i] = to
	}
}

// Edit replaces the member of that key, if it is there and not null.
func (n *Node) Edit(key string, change func(v *Node) *Node) {
	if v := n.Get(key); v != nil && v.Raw != "null" {
		n.Set(key, change(v))
	}
}

// Walk calls do with every member of every object in the value, the outer ones first.
func (n *Node) Walk(do func(of *Node, key string)) {
	if n == nil {
		return
	}
	for _, key := range slices.Clone(n.Keys) {
		do(n, key)
	}
	for _, v := range n.Values {
		v.Walk(do)
	}
}

// Text returns the value of a JSON text, "" for any other value.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	s, err := strconv.Unquote(n.Raw)
	if err != nil || n.Raw[0] != '"' {
		return ""
	}
	return s
}

// Number is a whole number; 0 for any other value.
func (n *Node) Number() int {
	if n == nil {
		return 0
	}
	i, _ := strconv.Atoi(n.Raw)
	return i
}

// Elements are those of a list or an object; none where there is nothing.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Values
}

// FromText returns a change of texts of at least least bytes; other values are unchanged.
func FromText(least int, change func(s string) *Node) func(v *Node) *Node {
	return func(v *Node) *Node {
		if s := v.Text(); len(s) >= least {
			return change(s)
		}
		return v
	}
}

// LessPrefix is an ID without its letter, as a number.
var LessPrefix = FromText(2, func(s string) *Node { return Leaf(s[1:]) })

// isNumber reports whether the value is a JSON number.
func (n *Node) isNumber() bool {
	return n != nil && n.Kind == 0 && n.Raw != "" && strings.IndexByte("-0123456789", n.Raw[0]) >= 0
}

// Quoted turns a number into a text; other values are unchanged.
func Quoted(n *Node) *Node {
	if n.isNumber() {
		return Leaf(`"` + n.Raw + `"`)
	}
	return n
}
