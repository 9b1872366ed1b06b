package extract

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// A page is ten thousand rows in the same spelling: the same keys in the same
// order with the same spaces. The text between the values of one row becomes a
// template. The next row is compared with it, and each of its values is checked
// as in the strict decoder. A row that does not fit is read strictly, and may
// add another template. Any doubt about the page as a whole, including every
// error, leaves it to the strict decoder, so the result, rows or refusal, is
// always that of the strict decoder.
//
// Why this decoder exists: a page of 10,000 rows takes 2.1 ms, and 9.8 ms by the
// strict decoder alone, which made a first load 8 to 17 % dearer. No library
// comes near it: into a struct of raw values goccy/go-json takes 8.6 ms, sonic
// 8.6 to 9.6, segmentio/encoding 10.1, go-json-experiment 29 (2026-11), and
// the three fast ones accept a key that occurs twice.

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

// errUnfit reports that a page needs the strict decoder.
var errUnfit = errors.New("not by template")

// decodeByTemplate reads a reply as [decodeStrictly] does, or gives [errUnfit].
func decodeByTemplate[T any](body []byte, room []T, form rowForm[T]) (answer[T], error) {
	const opening = `"data":[`
	at := bytes.Index(body, []byte(opening))
	if at < 0 {
		return answer[T]{}, errUnfit
	}
	s := rowScanner[T]{body: body, at: at + len(opening), form: form, items: room[:0]}
	if err := s.rows(); err != nil {
		return answer[T]{}, errUnfit
	}
	// The rest is read strictly, with the rows cut out. Were the data found
	// somewhere else than at the top, they would stand in another place there.
	rest := append(body[:at+len(opening):at+len(opening)], body[s.at-1:]...)
	if !utf8.Valid(rest) {
		return answer[T]{}, errUnfit
	}
	d := newDecoder(rest)
	found := false
	a, err := answerOf(&d, form, func(d *decoder) ([]T, error) {
		found = int(d.InputOffset()) == at+len(opening)-2 // before the colon
		if err := d.array("data", func() error { return errUnfit }); err != nil {
			return nil, err
		}
		for _, u := range s.unknown {
			if !d.known[u.path()] {
				d.record(u.prefix, u.name, u.typ)
			}
		}
		return s.items, nil
	})
	if err != nil || !found {
		return answer[T]{}, errUnfit
	}
	a.unknown = d.unknown
	return a, nil
}

// rowScanner goes through the rows of a page.
type rowScanner[T any] struct {
	body      []byte
	at        int // the next byte
	form      rowForm[T]
	items     []T
	templates []template // the one that fitted last comes first
	strict    *jsontext.Decoder
	unknown   []unknownName
}

// unknownName is a key that the decoder is to record when it comes to the rows.
type unknownName struct {
	prefix string
	name   []byte
	typ    string
}

func (u unknownName) path() string { return u.prefix + string(u.name) }

// rows reads the rows up to the bracket that ends them, which it passes.
func (s *rowScanner[T]) rows() error {
	if s.items == nil {
		s.items = []T{}
	}
	if s.space(); s.next() == ']' {
		s.at++
		return nil
	}
	for {
		if s.space(); s.next() != '{' || len(s.items) == maxPageRows {
			return errUnfit
		}
		begin := s.at
		s.items = append(s.items, *new(T)) // over what the room may hold
		if err := s.row(&s.items[len(s.items)-1]); err != nil {
			return err
		}
		if len(s.items) == 1 {
			// Room for all rows if they are as long as the first, unless there is nearly enough already.
			more := (len(s.body)-s.at)/(s.at-begin) + 1
			if n := min(1+more, maxPageRows); cap(s.items) < n/2 {
				s.items = append(make([]T, 0, n), s.items...)
			}
		}
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case ']':
			s.at++
			return nil
		default:
			return errUnfit
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
func (s *rowScanner[T]) row(row *T) error {
	for i := range s.templates {
		if end := s.templates[i].take(s.body, s.at, unsafe.Pointer(row)); end > 0 {
			s.at = end
			if i > 0 {
				s.templates[0], s.templates[i] = s.templates[i], s.templates[0]
			}
			return nil
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
			// The offset is that of a Value of this row's type.
			*(*Value)(unsafe.Add(row, p.offset)) = body[at:end:end]
		}
		at = end
	}
	if len(body)-at < len(t.end) || string(body[at:at+len(t.end)]) != string(t.end) {
		return 0
	}
	return at + len(t.end)
}

// strictly reads one row with the strict decoder and learns its spelling.
func (s *rowScanner[T]) strictly(row *T) error {
	rest := s.body[s.at:]
	if s.strict == nil {
		s.strict = jsontext.NewDecoder(bytes.NewBuffer(rest), lenientTexts)
	} else {
		s.strict.Reset(bytes.NewBuffer(rest), lenientTexts)
	}
	d := decoder{Decoder: s.strict, body: rest}
	var t template
	end, plain := 0, true
	err := d.object(func(name []byte) error {
		at := s.form.field(row, name)
		if at == nil {
			s.unknown = append(s.unknown, unknownName{"data[].", bytes.Clone(name), kindName(d.PeekKind())})
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		if at != nil && *at != nil {
			return errUnfit // in two spellings
		}
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
	if err != nil || !utf8.Valid(rest[:d.InputOffset()]) {
		return errUnfit
	}
	s.at += int(d.InputOffset())
	t.end = rest[end:d.InputOffset()]
	if plain && len(s.templates) < maxTemplates {
		s.templates = append(s.templates, t)
	}
	return nil
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
		return numberEnd(body, at)
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

// numberEnd passes a number as RFC 8259 has it.
func numberEnd(body []byte, at int) int {
	i := at
	if body[i] == '-' {
		i++
	}
	whole := i
	i = digitsEnd(body, i)
	if i == whole || i > whole+1 && body[whole] == '0' {
		return 0
	}
	if i < len(body) && body[i] == '.' {
		fraction := i + 1
		if i = digitsEnd(body, fraction); i == fraction {
			return 0
		}
	}
	if i < len(body) && (body[i] == 'e' || body[i] == 'E') {
		i++
		if i < len(body) && (body[i] == '+' || body[i] == '-') {
			i++
		}
		exponent := i
		if i = digitsEnd(body, exponent); i == exponent {
			return 0
		}
	}
	return i
}

func digitsEnd(body []byte, i int) int {
	for i < len(body) && body[i]-'0' < 10 {
		i++
	}
	return i
}
