package extract

import (
	"bytes"
	"errors"
	"regexp"

	"spendsync/extract/template"
)

// A service whose language has them writes NaN and Infinity where JSON has a number, and no page of it is JSON then.
// Nothing else of such a page is in doubt, so the word costs its value alone. First a reply is read strictly all the
// same: a word that came once may be damage, and the next reply has the value. Only a second reply of the same bytes
// shows that the service writes so, and a reply that was kept has been through that.

// maxWord is the longest word that is taken for a value.
const maxWord = 60

var isWord = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)

// listWords puts every word that stands bare where JSON has a value into a list of one text, which no column and no
// count can be, as in ["NaN"]. It returns false if there is none.
func listWords(body []byte) (fixed []byte, found bool) {
	var open []byte // the objects and arrays around the place
	isValue := true // a value comes next
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case c == '"':
			end := i + 1
			for end < len(body) && body[end] != '"' {
				if body[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(body))
			fixed, i, isValue = append(fixed, body[i:end]...), end, false
			continue
		case c == '{' || c == '[':
			open, isValue = append(open, c), c == '['
		case c == '}' || c == ']':
			open, isValue = open[:max(0, len(open)-1)], false
		case c == ':':
			isValue = true
		case c == ',':
			isValue = len(open) > 0 && open[len(open)-1] == '['
		case isValue:
			end := len(body)
			if n := bytes.IndexAny(body[i:], " \t\r\n,:\"{}[]"); n > 0 {
				end = i + n
			}
			word := body[i:end]
			if isValue = false; !isScalar(word) && len(word) <= maxWord && isWord.Match(word) {
				fixed, found = append(append(append(fixed, `["`...), word...), `"]`...), true
			} else {
				fixed = append(fixed, word...)
			}
			i = end
			continue
		}
		fixed = append(fixed, body[i])
		i++
	}
	return fixed, found
}

// isScalar reports whether a word is a number or a literal of JSON.
func isScalar(word []byte) bool {
	switch string(word) {
	case "null", "true", "false":
		return true
	}
	return template.NumberEnd(word, 0) == len(word)
}

// decodeKept decodes a reply that was accepted before, or came twice: its bare words cost their values.
func (q paged[T]) decodeKept(body []byte, room []T) (pageReply[T], error) {
	return withWords(body, room, q.decode)
}

// withWords decodes a reply, and one that is no JSON as if its bare words were values that no column takes.
func withWords[T any](body []byte, room []T, decode func([]byte, []T) (pageReply[T], error)) (pageReply[T], error) {
	a, err := decode(body, room)
	if isNotJSON(err) {
		if fixed, found := listWords(body); found {
			return decode(fixed, room)
		}
	}
	return a, err
}

// isNotJSON reports whether an error is that of a reply that is no JSON at all.
func isNotJSON(err error) bool {
	e, ok := errors.AsType[*replyError](err)
	return ok && e.notJSON
}
