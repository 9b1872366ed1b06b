package transform

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"spendsync/extract"
)

// maxID is the maximum length of an ID, in bytes. The description allows 40 characters. The maximum keeps a mistake
// from filling the store. The length of other texts is limited only by the size of the reply.
const maxID = 200

// Interner stores one copy of each ID and text, and checks each only once. It recognizes a value by the bytes received.
// The million rows of a day repeat a few hundred campaigns and creatives; with one Interner, a repeated ID costs a
// pointer. An Interner is not safe for concurrent use; the rows made with it are.
type Interner struct {
	ids, texts map[string]string // from the JSON as received
	isDamaged  bool              // whether a text is not exactly as sent, see Decoded.Damaged; the caller resets it
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	return &Interner{ids: map[string]string{}, texts: map[string]string{}}
}

// id returns an ID without surrounding blanks. An ID is either a whole number, or a text without control characters and
// without U+FFFD, which marks lost bytes. Absent and null are the empty ID.
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

// text returns a text as received, with U+FFFD for half a surrogate pair and with NUL escaped, because NUL ends a text
// in some engines that read the store. A number becomes the text of its digits, because some services send a name of
// digits as a number. Absent and null are the empty text.
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
