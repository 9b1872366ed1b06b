package transform

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"spendsync/extract"
)

// maxID bounds an id, in bytes: the description allows 40 characters, and this keeps a
// mistake from filling the store. A text has no bound but that of the reply.
const maxID = 200

// Interner keeps one copy of each id and name, found by the bytes it was
// received as, and remembers that it was checked. The million rows of a day
// name a few hundred campaigns and creatives: with one Interner for them they cost a
// pointer each, and one that goes from day to day need not learn them again. It is not
// safe for concurrent use; the rows made with it are.
type Interner struct {
	ids, texts map[string]string // from the JSON as received
	isDamaged  bool              // a text since it was last looked at: it is a number, or has lost something
}

// NewInterner is an empty Interner.
func NewInterner() *Interner {
	return &Interner{ids: map[string]string{}, texts: map[string]string{}}
}

// id returns an ID without the blanks around it: any text without control characters and
// without U+FFFD, which stands where something is lost, or the digits of a whole number. Absent and null are the empty
// ID.
func (n *Interner) id(v extract.Value) (string, error) {
	if v = v.ID(); v.Null() {
		return "", nil
	}
	if s, ok := n.ids[string(v)]; ok {
		return s, nil
	}
	s, ok := v.Text()
	s = strings.TrimSpace(s)
	switch {
	case !ok:
		return "", ErrNotText
	case len(s) > maxID:
		return "", ErrTooLong
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", ErrControl
	case strings.ContainsRune(s, utf8.RuneError):
		return "", ErrBrokenID
	}
	n.ids[string(v)] = s
	return s, nil
}

// text returns a text as received, with U+FFFD for half a character and with NUL escaped, because NUL ends a text in
// some of the engines that read the store. A number is the text of its digits, because services send a name of digits
// as a number. Absent and null are the empty text.
func (n *Interner) text(v extract.Value) (string, error) {
	if v.Null() {
		return "", nil
	}
	if s, ok := n.texts[string(v)]; ok {
		return s, nil
	}
	s, ok := v.Text()
	if !ok {
		if _, number := v.Number(); !number {
			return "", ErrNotText
		}
		s = string(v)
	}
	if !ok || strings.ContainsAny(s, "\uFFFD\x00") {
		n.isDamaged = true
		return strings.ReplaceAll(s, "\x00", `\u0000`), nil
	}
	n.texts[string(v)] = s
	return s, nil
}
