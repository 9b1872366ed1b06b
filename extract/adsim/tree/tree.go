// Package tree represents JSON as a tree that keeps the order of members and the text of numbers, so that changing one
// place in a reply leaves the rest unchanged.
package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// Node is a JSON value.
type Node struct {
	Kind   byte     // '{' for an object, '[' for a list, 0 for any other value
	Raw    string   // the JSON text of a value that is neither an object nor a list
	Keys   []string // keys of an object's members
	Values []*Node  // the values of an object's members, or the elements of a list
}

// Marshal returns the JSON of a reply. It does not escape HTML characters.
func Marshal(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // impossible: JSON can represent every reply
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Leaf makes a value that is neither an object nor a list. The argument is its JSON text.
func Leaf(raw string) *Node { return &Node{Raw: raw} }

// Text makes a JSON string.
func Text(s string) *Node { return Leaf(string(Marshal(s))) }

// Int makes a JSON number.
func Int(n int) *Node { return Leaf(strconv.Itoa(n)) }

// List makes a JSON array.
func List(elements ...*Node) *Node { return &Node{Kind: '[', Values: elements} }

// Object makes an object from alternating keys and values.
func Object(members ...any) *Node { return (&Node{Kind: '{'}).With(members...) }

// With sets members from alternating keys and values, and returns the object.
func (n *Node) With(members ...any) *Node {
	for i := 0; i < len(members); i += 2 {
		n.Set(members[i].(string), members[i+1].(*Node))
	}
	return n
}

// Parse parses a JSON text, and returns nil if it is invalid.
func Parse(body []byte) *Node {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	n, err := parse(d)
	if _, end := d.Token(); err != nil || !errors.Is(end, io.EOF) {
		return nil
	}
	return n
}

func parse(d *json.Decoder) (*Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	kind, isParts := token.(json.Delim)
	if !isParts {
		return Leaf(string(Marshal(token))), nil
	}
	n := &Node{Kind: byte(kind)}
	for d.More() {
		if kind == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.Keys = append(n.Keys, key.(string))
		}
		v, err := parse(d)
		if err != nil {
			return nil, err
		}
		n.Values = append(n.Values, v)
	}
	_, err = d.Token()
	return n, err
}

// Append appends the JSON text of the value; a nil Node is null.
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
			dst = append(append(dst, Marshal(n.Keys[i])...), ':')
		}
		dst = v.Append(dst)
	}
	return append(dst, n.Kind+2) // in ASCII, each closing bracket is two after its opening one
}

// Get returns the member of an object with the given key, or nil if there is no such member.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != '{' {
		return nil
	}
	if i := slices.Index(n.Keys, key); i >= 0 {
		return n.Values[i]
	}
	return nil
}

// Set replaces an object's member, or adds it at the end.
func (n *Node) Set(key string, v *Node) {
	if i := slices.Index(n.Keys, key); i >= 0 {
		n.Values[i] = v
		return
	}
	n.Keys, n.Values = append(n.Keys, key), append(n.Values, v)
}

// Drop removes members.
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

// Edit replaces the value v of a member by change(v). If the member is missing or null, Edit does nothing.
func (n *Node) Edit(key string, change func(v *Node) *Node) {
	if v := n.Get(key); v != nil && v.Raw != "null" {
		n.Set(key, change(v))
	}
}

// Text returns the value of a JSON string, and "" for any other Node.
func (n *Node) Text() (s string) {
	if n != nil && n.Raw != "" && n.Raw[0] == '"' {
		_ = json.Unmarshal([]byte(n.Raw), &s)
	}
	return s
}

// Number returns the value of a whole number, and 0 for any other Node.
func (n *Node) Number() int {
	if n == nil {
		return 0
	}
	i, _ := strconv.Atoi(n.Raw)
	return i
}

// Elements returns the elements of a list or the values of an object; a nil Node has none.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Values
}
