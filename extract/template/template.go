// Package template reads the rows of a page by their spelling.
//
// A page is ten thousand rows in the same spelling: the same keys in the same
// order with the same spaces. The text between the values of one row becomes a
// template. The next row is compared with it, and each of its values is checked
// as in the strict decoder. A row that does not fit is read strictly, and may
// add another template. Any doubt about the page as a whole, including every
// error, leaves it to the strict decoder of package extract, so the result, rows
// or refusal, is always that of the strict decoder.
//
// Why it exists: a page of 10,000 rows takes 2.1 ms, and 9.8 ms by the strict
// decoder alone, which makes a first load of three million rows 11 % dearer and
// an hour of them 9 % (of 300,000 rows 8 % and 5 %). No library comes near
// it: into a struct of raw values goccy/go-json takes 8.6 ms, sonic 8.6 to 9.6,
// segmentio/encoding 10.1, go-json-experiment 29 (2026-11), and the three fast
// ones accept a key that occurs twice.
package template

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// maxTemplates is how many spellings of a row are kept: creatives without spend
// come with fewer keys.
const maxTemplates = 4

// template is one spelling of a row.
type template struct {
	parts []part
	end   []byte // after the last value, with the brace
}

// part is the text before a value, and the place of the value in the row.
type part struct {
	before []byte
	offset uintptr
	known  bool // else the value is checked and dropped
}

// Form is how a row is read.
type Form[T any] struct {
	// Field returns where in the row the value of a key goes; nil for an unknown key.
	Field func(row *T, name []byte) *[]byte
	// Object reads an object strictly, and calls member before the value of each of its keys.
	Object func(d *jsontext.Decoder, member func(name []byte) error) error
	// MaxRows is the most rows that a page may have.
	MaxRows int
	Options jsontext.Options // of the strict decoder
}

// Unknown is a key of a row that has no field, and the kind of its value.
type Unknown struct {
	Name []byte
	Kind jsontext.Kind
}

// Page is the rows of a page.
type Page[T any] struct {
	Rows    []T
	End     int // behind the bracket that ends the rows
	Unknown []Unknown
}

// Rows reads the rows of a body from behind their opening bracket. It appends them to room, over whatever that
// contains. It reports false if the strict decoder must read the page.
func Rows[T any](body []byte, from int, room []T, form Form[T]) (Page[T], bool) {
	s := rowScanner[T]{body: body, at: from, form: form, items: room[:0]}
	ok := s.rows()
	return Page[T]{s.items, s.at, s.unknown}, ok
}

// rowScanner goes through the rows of a page.
type rowScanner[T any] struct {
	body      []byte
	at        int // the next byte
	form      Form[T]
	items     []T
	templates []template // the one that fitted last comes first
	strict    *jsontext.Decoder
	unknown   []Unknown
}

// rows reads the rows up to the bracket that ends them, which it passes. It reports false for a page that needs the
// strict decoder.
func (s *rowScanner[T]) rows() bool {
	if s.items == nil {
		s.items = []T{}
	}
	if s.space(); s.next() == ']' {
		s.at++
		return true
	}
	for {
		if s.space(); s.next() != '{' || len(s.items) == s.form.MaxRows {
			return false
		}
		begin := s.at
		s.items = append(s.items, *new(T)) // the slice may be used again: an old row is cleared
		if !s.row(&s.items[len(s.items)-1]) {
			return false
		}
		if len(s.items) == 1 {
			// Room for all rows if they are as long as the first, unless there is nearly enough already.
			more := (len(s.body)-s.at)/(s.at-begin) + 1
			if n := min(1+more, s.form.MaxRows); cap(s.items) < n/2 {
				s.items = append(make([]T, 0, n), s.items...)
			}
		}
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case ']':
			s.at++
			return true
		default:
			return false
		}
	}
}

// next is the next byte, 0 at the end.
func (s *rowScanner[T]) next() byte {
	if s.at >= len(s.body) {
		return 0
	}
	return s.body[s.at]
}

func (s *rowScanner[T]) space() {
	for s.at < len(s.body) && isSpace(s.body[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// row reads one row by the first template that fits, else strictly.
func (s *rowScanner[T]) row(row *T) bool {
	for i := range s.templates {
		if end := s.templates[i].take(s.body, s.at, unsafe.Pointer(row)); end > 0 {
			s.at = end
			if i > 0 {
				s.templates[0], s.templates[i] = s.templates[i], s.templates[0]
			}
			return true
		}
		*row = *new(T) // a template that did not fit may have left values
	}
	return s.strictly(row)
}

// take reads the row at a place and returns where it ends; 0: it does not fit.
func (t *template) take(body []byte, at int, row unsafe.Pointer) int {
	for i := range t.parts {
		p := &t.parts[i]
		if len(body)-at < len(p.before) || string(body[at:at+len(p.before)]) != string(p.before) {
			return 0
		}
		at += len(p.before)
		end := scalarEnd(body, at)
		if end == 0 {
			return 0
		}
		if p.known {
			// The offset is that of a field of this row's type.
			*(*[]byte)(unsafe.Add(row, p.offset)) = body[at:end:end]
		}
		at = end
	}
	if len(body)-at < len(t.end) || string(body[at:at+len(t.end)]) != string(t.end) {
		return 0
	}
	return at + len(t.end)
}

// strictly reads one row with the strict decoder and learns its spelling.
func (s *rowScanner[T]) strictly(row *T) bool {
	rest := s.body[s.at:]
	if s.strict == nil {
		s.strict = jsontext.NewDecoder(bytes.NewBuffer(rest), s.form.Options)
	} else {
		s.strict.Reset(bytes.NewBuffer(rest), s.form.Options)
	}
	d := s.strict
	var t template
	end, plain, twice := 0, true, false
	err := s.form.Object(d, func(name []byte) error {
		at := s.form.Field(row, name)
		if at == nil {
			s.unknown = append(s.unknown, Unknown{bytes.Clone(name), d.PeekKind()})
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		twice = twice || at != nil && *at != nil // in two spellings
		to := int(d.InputOffset())
		p := part{before: rest[end : to-len(v)], known: at != nil}
		if at != nil {
			*at = rest[to-len(v) : to : to]
			p.offset = uintptr(unsafe.Pointer(at)) - uintptr(unsafe.Pointer(row))
		}
		t.parts = append(t.parts, p)
		plain = plain && v[0] != '{' && v[0] != '['
		end = to
		return nil
	})
	if err != nil || twice || !utf8.Valid(rest[:d.InputOffset()]) {
		return false
	}
	s.at += int(d.InputOffset())
	t.end = rest[end:d.InputOffset()]
	if plain && len(s.templates) < maxTemplates {
		s.templates = append(s.templates, t)
	}
	return true
}

// scalarEnd returns the end of the text, number or literal that starts at a place; 0: there is none, or the strict
// decoder must judge it.
func scalarEnd(body []byte, at int) int {
	if at >= len(body) {
		return 0
	}
	switch c := body[at]; {
	case c == '"':
		return textEnd(body, at)
	case c == '-' || c >= '0' && c <= '9':
		return NumberEnd(body, at)
	}
	for _, literal := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(body[at:], []byte(literal)) {
			return at + len(literal)
		}
	}
	return 0
}

// The bytes of a text are looked at eight at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// textEnd passes a text without escapes. What is beyond ASCII has to be UTF-8.
func textEnd(body []byte, at int) int {
	i := at + 1
	for i+8 <= len(body) {
		w := binary.LittleEndian.Uint64(body[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		// A high bit stands in each byte that is a quote, a backslash, a control
		// character or beyond ASCII; above such a byte there may be more.
		special := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w | w) & highs
		if special != 0 {
			i += bits.TrailingZeros64(special) / 8
			break
		}
		i += 8
	}
	ascii := true
	for ; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(body[at:i]) {
				return 0
			}
			return i + 1
		case c == '\\' || c < 0x20:
			return 0
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return 0
}

// NumberEnd returns the end of the number that starts at a place, as RFC 8259 defines it; 0: there is none.
func NumberEnd(body []byte, at int) int {
	i := at
	if body[i] == '-' {
		i++
	}
	integer := i
	i = DigitsEnd(body, i)
	if i == integer || i > integer+1 && body[integer] == '0' {
		return 0
	}
	if i < len(body) && body[i] == '.' {
		fraction := i + 1
		if i = DigitsEnd(body, fraction); i == fraction {
			return 0
		}
	}
	if i < len(body) && (body[i] == 'e' || body[i] == 'E') {
		i++
		if i < len(body) && (body[i] == '+' || body[i] == '-') {
			i++
		}
		exponent := i
		if i = DigitsEnd(body, exponent); i == exponent {
			return 0
		}
	}
	return i
}

// DigitsEnd returns the end of the decimal digits that start at a place; the place itself if there are none.
func DigitsEnd(body []byte, i int) int {
	for i < len(body) && body[i]-'0' < 10 {
		i++
	}
	return i
}
