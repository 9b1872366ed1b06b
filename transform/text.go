package transform

import (
	"strings"
	"unicode"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract"
)

// Bounds of texts, in bytes. The description allows an id 40 characters and a
// name 100; these leave room, and keep a mistake from filling the store.
const (
	maxID   = 200
	maxText = 10_000
)

// Interner keeps one copy of each id and name, found by the bytes it was
// received as, and remembers that it was checked. The million rows of a day
// name a few hundred campaigns and creatives: with one Interner for them they cost a
// pointer each, and one that goes from day to day need not learn them again. It is not
// safe for concurrent use; the rows made with it are.
type Interner struct {
	ids, texts map[string]string // from the JSON as received
}

// NewInterner is an empty Interner.
func NewInterner() *Interner {
	return &Interner{ids: map[string]string{}, texts: map[string]string{}}
}

// id is an id as the service spells it: any text without control characters.
// Absent and null are the empty id.
func (n *Interner) id(v extract.Value) (string, error) {
	if v.Null() {
		return "", nil
	}
	if s, ok := n.ids[string(v)]; ok {
		return s, nil
	}
	return learn(n.ids, v, maxID, unicode.IsControl)
}

// text is a text exactly as it is. Absent and null are the empty text.
func (n *Interner) text(v extract.Value) (string, error) {
	if v.Null() {
		return "", nil
	}
	if s, ok := n.texts[string(v)]; ok {
		return s, nil
	}
	// NUL ends a text in some of the engines that read the store.
	return learn(n.texts, v, maxText, func(r rune) bool { return r == 0 })
}

func learn(known map[string]string, v extract.Value, limit int, forbidden func(rune) bool) (string, error) {
	if v[0] != '"' {
		return "", ErrNotText
	}
	raw := string(v)
	s := raw[1 : len(raw)-1]
	if strings.IndexByte(s, '\\') >= 0 {
		b, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return "", ErrNotText
		}
		s = string(b)
	}
	switch {
	case len(s) > limit:
		return "", ErrTooLong
	case strings.ContainsFunc(s, forbidden):
		return "", ErrControl
	}
	known[raw] = s
	return s, nil
}

// plainID is an id of printable ASCII, as nearly all are: to look at its bytes takes less
// than to find it among many. It shares them with v.
func plainID(v extract.Value) (id string, ok bool) {
	if len(v) < 3 || len(v) > maxID || v[0] != '"' {
		return "", false
	}
	inner := v[1 : len(v)-1]
	for _, c := range inner {
		if c < ' ' || c > '~' || c == '\\' {
			return "", false
		}
	}
	return unsafe.String(&inner[0], len(inner)), true
}
