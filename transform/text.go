package transform

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"spendsync/extract"
)

// maxID bounds an id, in bytes: the description allows 40 characters, and this keeps a
// mistake from filling the store. A text has no bound but that of the reply.
const maxID = 200

// The reasons that a text is stored otherwise than it was sent, or named although it is
// not. None of them refuses anything.
var (
	errReplaced = errors.New("half a character or bytes that are not UTF-8, stored as U+FFFD")
	errEscaped  = errors.New(`NUL, stored as \u0000`)
	errNoText   = errors.New("a number, its digits are stored")
)

// ChangedText is a text that is stored otherwise than it was sent, or that is odd enough
// to be named.
type ChangedText struct {
	Column string
	Value  string // JSON as received, at most 60 bytes of it
	Reason string
}

// Interner keeps one copy of each id and name, found by the bytes it was
// received as, and remembers that it was checked. The million rows of a day
// name a few hundred campaigns and creatives: with one Interner for them they cost a
// pointer each, and one that goes from day to day need not learn them again. It is not
// safe for concurrent use; the rows made with it are.
type Interner struct {
	ids, texts map[string]string // from the JSON as received
	changed    []ChangedText     // texts learned since takeChanged, without their column
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
		n.note(v, errNoText)
	}
	if strings.ContainsRune(s, utf8.RuneError) {
		n.note(v, errReplaced)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", `\u0000`)
		n.note(v, errEscaped)
	}
	n.texts[string(v)] = s
	return s, nil
}

func (n *Interner) note(v extract.Value, why error) {
	n.changed = append(n.changed, ChangedText{Value: shown(v), Reason: why.Error()})
}

// takeChanged returns and removes the recorded changes, and assigns them to this column.
func (n *Interner) takeChanged(column string) []ChangedText {
	changed := n.changed
	for i := range changed {
		changed[i].Column = column
	}
	n.changed = nil
	return changed
}
