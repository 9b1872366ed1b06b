package transform

import (
	"hash/maphash"
	"strings"
	"unicode"

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
// name a few hundred campaigns and a few thousand sources: with one Interner for
// them they cost a pointer each, and one that goes from day to day need not learn
// them again. It is not safe for concurrent use; the rows made with it are.
type Interner struct {
	short      shortIDs
	ids, texts map[string]string // from the JSON as received
}

// NewInterner is an empty Interner.
func NewInterner() *Interner {
	return &Interner{short: newShortIDs(64), ids: map[string]string{}, texts: map[string]string{}}
}

// id is an id as the service spells it: any text without control characters.
// Absent and null are the empty id.
func (n *Interner) id(v extract.Value) (string, error) {
	if v.Null() {
		return "", nil
	}
	if len(v) <= maxShort {
		if s, ok := n.short.find(v); ok {
			return s, nil
		}
	} else if s, ok := n.ids[string(v)]; ok {
		return s, nil
	}
	s, err := learn(v, maxID, unicode.IsControl)
	switch {
	case err != nil:
		return "", err
	case len(v) <= maxShort:
		n.short.add(v, s)
	default:
		n.ids[string(v)] = s
	}
	return s, nil
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
	s, err := learn(v, maxText, func(r rune) bool { return r == 0 })
	if err == nil {
		n.texts[string(v)] = s
	}
	return s, err
}

// learn checks a text that was not seen before, and makes a copy of it.
func learn(v extract.Value, limit int, forbidden func(rune) bool) (string, error) {
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
	return s, nil
}

// maxShort is how many bytes of JSON an id may have to stand in the table of the short
// ones.
const maxShort = 15

// shortIDs are ids by the few bytes they were received as: a table that is three
// quarters full at most, in which an id stands at the place that the last bits of its
// hash name, or behind it. A row has a source of its own, and to find it among many
// thousands takes one look at memory here, where a map of texts takes three.
type shortIDs struct {
	seed  maphash.Seed
	table []shortID // its length is a power of two
	n     int
}

type shortID struct {
	raw  [maxShort]byte
	size uint8 // of raw; 0 is a free place
	id   string
}

func newShortIDs(places int) shortIDs {
	return shortIDs{seed: maphash.MakeSeed(), table: make([]shortID, places)}
}

// place is where the id is, or would be.
func (s *shortIDs) place(v extract.Value) *shortID {
	last := uint64(len(s.table) - 1)
	for at := maphash.Bytes(s.seed, v) & last; ; at = (at + 1) & last {
		if p := &s.table[at]; p.size == 0 || string(p.raw[:p.size]) == string(v) {
			return p
		}
	}
}

func (s *shortIDs) find(v extract.Value) (id string, ok bool) {
	p := s.place(v)
	return p.id, p.size > 0
}

// add takes an id that is not there.
func (s *shortIDs) add(v extract.Value, id string) {
	if 4*(s.n+1) > 3*len(s.table) {
		more := newShortIDs(2 * len(s.table))
		for _, p := range s.table {
			if p.size > 0 {
				*more.place(p.raw[:p.size]) = p
			}
		}
		more.n = s.n
		*s = more
	}
	p := s.place(v)
	p.size, p.id = uint8(copy(p.raw[:], v)), id
	s.n++
}
