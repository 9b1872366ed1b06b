package extract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/schema"
)

// Bounds of one reply. The description allows 10,000 rows a page; ten times as many are accepted. This bounds the
// memory of a reply.
const (
	maxPageRows    = 100_000
	maxColumns     = 1000
	maxUnknown     = 100 // keys recorded for one reply
	maxUnknownName = 100 // bytes of a recorded key
)

// decodeAnswer reads a reply of the report: an object with columns, data and
// pagination. It is strict if a mistake would change numbers: invalid JSON, an object
// with a key twice, bytes after the end, and a part that is missing or of another type
// are all refused with their place. Texts are never a reason to refuse: invalid UTF-8
// and half a character become U+FFFD. The caller refuses rows that are not objects.
// Unknown keys are recorded.
//
// A reply of another form with the same content is rebuilt, see [describedForm]. Names
// may be in camel case or have hyphens: totalSpend is total_spend.
//
// field returns the place in the row for the value of a key; nil for an unknown key. The
// rows reuse the memory of room.
func decodeAnswer[T any](body []byte, room []T, field func(row *T, name []byte) *Value) (answer[T], error) {
	field = anySpelling(field)
	if a, err := decodeByTemplate(body, room, field); err == nil {
		return a, nil
	}
	return decodeAnyForm(body, room, field)
}

// decodeAnyForm is decodeAnswer, token by token.
func decodeAnyForm[T any](body []byte, room []T, field func(row *T, name []byte) *Value) (answer[T], error) {
	a, err := decodeStrictly(body, room, field)
	if refused, ok := errors.AsType[*replyError](err); ok && !refused.notJSON || len(a.notObjects) > 0 {
		if rebuilt, ok := describedForm(body); ok {
			return decodeStrictly(rebuilt, room, field)
		}
	}
	return a, err
}

// anySpelling is field for names in any of the spellings of [snakeCase].
func anySpelling[T any](field func(row *T, name []byte) *Value) func(row *T, name []byte) *Value {
	return func(row *T, name []byte) *Value {
		at := field(row, name)
		if at == nil {
			if described := snakeCase(string(name)); described != string(name) {
				at = field(row, []byte(described))
			}
		}
		return at
	}
}

// decodeStrictly decodes a reply of the form that the description has.
func decodeStrictly[T any](body []byte, room []T, field func(row *T, name []byte) *Value) (answer[T], error) {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte(replacement))
	}
	d := newDecoder(body)
	a, err := answerOf(&d, field, func(d *decoder) ([]T, error) { return rowsOf(d, room, field) })
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return answer[T]{}, d.syntaxError(syntax)
	}
	if err != nil {
		return answer[T]{}, err
	}
	a.unknown, a.notObjects = d.unknown, d.notObjects
	return a, nil
}

// replacement replaces bytes that are not UTF-8.
const replacement = "\uFFFD"

// answerOf reads the reply, its rows by the given function.
func answerOf[T any](d *decoder, field func(*T, []byte) *Value, rows func(*decoder) ([]T, error)) (a answer[T],
	err error) {
	if len(bytes.TrimSpace(d.body)) == 0 {
		return a, &replyError{reason: "the reply is empty", notJSON: true}
	}
	switch kind := d.PeekKind(); kind {
	case '{':
	case 'n':
		if _, err := d.ReadToken(); err != nil {
			return a, err
		}
		return a, &replyError{reason: "the reply is null", notJSON: true}
	default:
		if _, err := d.ReadValue(); err != nil {
			return a, err
		}
		return a, contractf("the reply is of type %s, not an object", kindName(kind))
	}
	err = d.object(func(name []byte) (err error) {
		switch string(name) {
		case "columns":
			a.columns, err = d.columns()
		case "data":
			if d.PeekKind() == 'n' {
				a.nullData, a.items = true, []T{}
				return d.SkipValue()
			}
			a.items, err = rows(d)
		case "pagination", "paging":
			a.pagination, err = d.pagination()
		default:
			return d.skip("", name)
		}
		return err
	})
	var row T
	for i, name := range a.columns {
		described := snakeCase(name)
		if field(&row, []byte(described)) != nil && !slices.Contains(a.columns, described) {
			a.columns[i] = described
		}
	}
	switch {
	case err != nil:
		return a, err
	case len(bytes.TrimLeft(d.UnreadBuffer(), " \t\r\n")) > 0:
		rest := bytes.TrimLeft(d.UnreadBuffer(), " \t\r\n")
		return a, contractf("%s after the end of the reply: %s", count(int64(len(rest)), "byte"), quote(rest, 60))
	case a.columns == nil:
		return a, contractf("the reply has no columns")
	case a.items == nil:
		return a, contractf("the reply has no data")
	}
	d.unnamedColumns(a.columns, func(name []byte) bool { return field(&row, name) != nil })
	return a, nil
}

// rowsOf reads the rows. It allocates the slice of rows if room is too small, and nothing for a row.
func rowsOf[T any](d *decoder, room []T, field func(*T, []byte) *Value) ([]T, error) {
	// Each row has a brace. Texts may hold more, so this is an upper bound.
	rest := d.UnreadBuffer()
	rows := room[:0]
	if n := min(bytes.Count(rest, []byte{'{'}), len(rest)/20, maxPageRows); rows == nil || cap(rows) < n {
		rows = make([]T, 0, n)
	}
	err := d.array("data", func() error {
		if len(rows) == maxPageRows {
			return contractf("more than %d rows in one reply", maxPageRows)
		}
		rows = append(rows, *new(T)) // over what the room may hold
		if kind := d.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
			d.notObjects = append(d.notObjects, len(rows))
			return d.SkipValue()
		}
		row := &rows[len(rows)-1]
		return d.object(func(name []byte) error {
			at := field(row, name)
			if at == nil {
				return d.skip("data[].", name)
			}
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			if *at != nil {
				return contractf("row %d has %s in two spellings", len(rows), quote(name, 60))
			}
			// From the body by offset, for the decoder lends its values only.
			end := int(d.InputOffset())
			*at = d.body[end-len(v) : end : end]
			return nil
		})
	})
	return rows, err
}

// decoder is a jsontext.Decoder, which refuses invalid JSON and duplicate keys, over a
// body in memory. It accepts half a character in a text, see [Value].
type decoder struct {
	*jsontext.Decoder
	body       []byte
	name       []byte // the latest key, if it had to be unescaped
	unknown    []UnknownKey
	known      map[string]bool // paths in unknown
	notObjects []int           // rows, from 1
}

// lenientTexts accepts half a character in a text. A body is made UTF-8 before.
var lenientTexts = jsontext.AllowInvalidUTF8(true)

// newDecoder reads a body that is UTF-8.
func newDecoder(body []byte) decoder {
	return decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), lenientTexts), body: body}
}

// object reads an object; member reads the value of each of its keys.
func (d *decoder) object(member func(name []byte) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for {
		switch d.PeekKind() {
		case '"':
		default: // the end, or a syntax error that the token brings up
			_, err := d.ReadToken()
			return err
		}
		quoted, err := d.ReadValue()
		if err != nil {
			return err
		}
		name := []byte(quoted[1 : len(quoted)-1])
		if bytes.IndexByte(name, '\\') >= 0 {
			d.name = unquote(d.name[:0], quoted)
			name = d.name
		}
		if err := member(name); err != nil {
			return err
		}
	}
}

// array reads an array of that name; element reads each of its values.
func (d *decoder) array(name string, element func() error) error {
	if kind := d.PeekKind(); kind != '[' && kind != jsontext.KindInvalid {
		return contractf("%s is of type %s, not an array", name, kindName(kind))
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for {
		switch d.PeekKind() {
		case ']', jsontext.KindInvalid:
			_, err := d.ReadToken()
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// columns reads the names of the columns returned.
func (d *decoder) columns() ([]string, error) {
	names := []string{}
	err := d.array("columns", func() error {
		t, err := d.ReadToken()
		switch {
		case err != nil:
			return err
		case t.Kind() != '"':
			return contractf("column %d is of type %s, not a text", len(names)+1, kindName(t.Kind()))
		case len(names) == maxColumns:
			return contractf("more than %d columns", maxColumns)
		case slices.Contains(names, t.String()):
			return contractf("column %s is there twice", quote([]byte(t.String()), 60))
		}
		names = append(names, t.String())
		return nil
	})
	return names, err
}

// pagination reads the four numbers. All must exist except the number of pages, which follows from the others. Null
// counts as no pagination, as if the key were absent.
func (d *decoder) pagination() (*pagination, error) {
	switch kind := d.PeekKind(); kind {
	case '{', jsontext.KindInvalid:
	case 'n':
		return nil, d.SkipValue()
	default:
		return nil, contractf("pagination is of type %s, not an object", kindName(kind))
	}
	p := pagination{page: -1, pageSize: -1, totalRows: -1, totalPages: -1}
	err := d.object(func(name []byte) error {
		var at *int64
		switch snakeCase(string(name)) {
		case "page":
			at = &p.page
		case "page_size":
			at = &p.pageSize
		case "total_rows":
			at = &p.totalRows
		case "total_pages":
			at = &p.totalPages
		default:
			return d.skip("pagination.", name)
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		digits, _ := Value(v).Number()
		n, err := schema.ParseCount(digits)
		if err != nil || n < 0 || *at >= 0 {
			return contractf("pagination.%s is %s, not a whole number from 0", name, printable(Value(v), 60))
		}
		*at = n
		return nil
	})
	if p.totalPages < 0 && p.totalRows >= 0 && p.pageSize > 0 {
		p.totalPages = (p.totalRows + p.pageSize - 1) / p.pageSize
	}
	if err == nil && min(p.page, p.pageSize, p.totalRows, p.totalPages) < 0 {
		err = contractf("pagination lacks one of page, page_size, total_rows, total_pages")
	}
	return &p, err
}

// skip passes over the value of an unknown key and records the key.
func (d *decoder) skip(prefix string, name []byte) error {
	kind := d.PeekKind()
	if !d.known[prefix+string(name)] {
		d.record(prefix, name, kindName(kind))
	}
	return d.SkipValue()
}

func (d *decoder) record(prefix string, name []byte, typ string) {
	if len(d.unknown) == maxUnknown {
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	path := prefix + string(name)
	d.known[path] = true
	if len(name) > maxUnknownName {
		path = prefix + string(bytes.ToValidUTF8(name[:maxUnknownName], nil)) + "..."
	}
	d.unknown = append(d.unknown, UnknownKey{Path: path, Type: typ})
}

// unnamedColumns records the columns that no row has a key for, or that have
// no rows.
func (d *decoder) unnamedColumns(columns []string, known func([]byte) bool) {
	for _, name := range columns {
		if !known([]byte(name)) && !d.known["data[]."+name] {
			d.record("data[].", []byte(name), "column")
		}
	}
}

// syntaxError returns the place where the JSON breaks. It tells a reply that is not JSON at all from one that violates
// a rule of ours.
func (d *decoder) syntaxError(e *jsontext.SyntacticError) error {
	if errors.Is(e, jsontext.ErrDuplicateName) {
		return contractf("the key at %s is there twice", quote([]byte(e.JSONPointer), 100))
	}
	return &replyError{
		reason:  fmt.Sprintf("the reply is not JSON: %s, near byte %d", printable(e.Err.Error(), 100), e.ByteOffset),
		notJSON: true,
	}
}

// kindName is the JSON type of a value, in words.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "invalid"
}
