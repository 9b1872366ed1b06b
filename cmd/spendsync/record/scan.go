package record

import (
	"strings"

	"spendsync/extract/service"
)

// token is one literal of a body.
type token struct {
	from, to int    // without the quotes of a text
	text     bool   // between quotes
	isKey    bool   // the name of a value
	key      string // that the value belongs to, in snake case: that of the list it is in, too
	row      [2]int // the object or the list that the value is directly in
	index    int    // of the value in that list; -1: it is in an object
}

// frame is an object or a list that is open.
type frame struct {
	from    int
	isList  bool
	key     string // of the next value in an object; of all values of a list
	index   int
	pending []int // tokens that are directly in it
}

// scan finds the literals of a body of JSON. It also accepts truncated and repeated JSON.
func scan(body string) (tokens []token) {
	stack := []*frame{{key: ""}}
	top := func() *frame { return stack[len(stack)-1] }
	add := func(t token) {
		f := top()
		t.key, t.index = f.key, -1
		if f.isList {
			t.index = f.index
		}
		f.pending = append(f.pending, len(tokens))
		tokens = append(tokens, t)
	}
	shut := func(end int) {
		f := top()
		for _, i := range f.pending {
			tokens[i].row = [2]int{f.from, end}
		}
	}
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '{' || c == '[':
			stack = append(stack, &frame{from: i, isList: c == '[', key: top().key})
			i++
		case c == '}' || c == ']':
			shut(i + 1)
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			i++
		case c == ',':
			top().index++
			i++
		case c == '"':
			end := i + 1
			for end < len(body) && body[end] != '"' {
				if body[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(body))
			isKey := !top().isList && strings.HasPrefix(strings.TrimLeft(body[min(end+1, len(body)):], " \t\r\n"), ":")
			add(token{from: i + 1, to: end, text: true, isKey: isKey})
			if isKey {
				top().key = service.SnakeCase(unescaped(body[i+1 : end]))
			}
			i = min(end+1, len(body))
		case strings.IndexByte(" \t\r\n:", c) >= 0:
			i++
		default:
			end := i
			for end < len(body) && strings.IndexByte(" \t\r\n:,{}[]\"", body[end]) < 0 {
				end++
			}
			add(token{from: i, to: end})
			i = end
		}
	}
	for range stack {
		shut(len(body))
		stack = stack[:max(1, len(stack)-1)]
	}
	return tokens
}

// unescaped is the text between the quotes of a JSON string.
func unescaped(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var b strings.Builder
	for _, u := range units(raw) {
		b.WriteRune(u.r)
	}
	return b.String()
}
