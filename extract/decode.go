package extract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/service"
)

// Bounds of one reply, which limit its memory. The description allows 10,000 rows a page; ten times as many are
// accepted.
const (
	maxPageRows    = 100_000
	maxColumns     = 1000
	maxUnknown     = 100 // keys recorded for one reply
	maxUnknownName = 100 // bytes of a recorded key
)

// decodeAnswer decodes a reply of the report: an object with columns, data and pagination, under the names of
// report_reply in service.yaml. It is strict where a mistake would change numbers: it refuses invalid JSON, an object
// with a key twice, bytes after the end, and a part that is missing or has another type. The error names the place.
//
// If a row has a key several times, with different values, the values become one invalid value, see [Value.IsTwice]. No
// column accepts an invalid value, so the row loses only this value. A bare word, for example NaN, is lost in the same
// way. A text is never refused: invalid UTF-8 and half a surrogate pair become U+FFFD. The caller refuses rows that are
// not objects. Unknown keys are recorded. A reply with a key that states an error is refused.
//
// The returned rows are stored in the slice `room`, if they fit there.
func decodeAnswer[T any](body []byte, room []T, form rowForm[T]) (pageReply[T], error) {
	a, err := decodeTokens(body, room, form)
	if e, ok := errors.AsType[*replyError](err); ok && e.notJSON {
		if words, err := decodeTokens(listWords(body), room, form); err == nil {
			return words, nil
		}
	}
	return a, err
}

// rowForm maps the names of a reply's columns to the fields of a row.
type rowForm[T any] struct {
	service *service.Service
	place   func(row *T, column string) *Value // nil for a column that the row does not have
}

// rowJSON, given to rowForm.place as a column's name, asks for the field that holds the JSON of the entire row.
const rowJSON = ""

func decodeTokens[T any](body []byte, room []T, form rowForm[T]) (pageReply[T], error) {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte(replacement))
	}
	d := newRowsDecoder(body)
	a, err := answerOf(&d, room, form)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return pageReply[T]{}, d.syntaxError(syntax)
	}
	if err != nil {
		return pageReply[T]{}, err
	}
	a.unknown, a.notObjects = d.unknown, d.notObjects
	return a, nil
}

// replacement takes the place of bytes that are not UTF-8.
const replacement = "\uFFFD"

// answerOf decodes the reply. It stores the rows in the slice `room`, if they fit there.
func answerOf[T any](d *decoder, room []T, form rowForm[T]) (a pageReply[T], err error) {
	if err := d.isObject(); err != nil {
		return a, err
	}
	var keys []string
	err = d.object(func(name []byte) error {
		key := string(name)
		if slices.Contains(keys, key) {
			return contractf("the key %s is there twice", quote(name, 60))
		}
		if len(keys) < maxColumns {
			keys = append(keys, key)
		}
		return a.part(d, room, form, name)
	})
	if err != nil {
		return a, err
	}
	a.more = d.more
	var row T
	for i, name := range a.columns {
		column, ok := form.service.Column(name)
		if ok && form.place(&row, column) != nil && !slices.Contains(a.columns, column) {
			a.columns[i] = column
		}
	}
	rest := bytes.TrimLeft(d.UnreadBuffer(), " \t\r\n")
	switch {
	case len(rest) > 0:
		return a, contractf("%s after the end of the reply: %s", count(int64(len(rest)), "byte"), quote(rest, 60))
	case d.failure != "" && a.items != nil:
		return a, &replyError{reason: d.failure, isError: true}
	case a.columns == nil:
		return a, lacksPart("columns", "columns", keys)
	case a.items == nil:
		return a, lacksPart("data", "rows", keys)
	}
	d.unnamedColumns(a.columns, func(name []byte) bool { return form.place(&row, string(name)) != nil })
	return a, nil
}

// isObject returns an error unless the reply begins with an object.
func (d *decoder) isObject() error {
	if len(bytes.TrimSpace(d.body)) == 0 {
		return &replyError{reason: "the reply is empty", notJSON: true}
	}
	switch kind := d.PeekKind(); kind {
	case '{':
		return nil
	case 'n':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		return &replyError{reason: "the reply is null", notJSON: true}
	default:
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return contractf("the reply is of type %s, not an object", kindName(kind))
	}
}

// part decodes one member of the reply's object, and stores it in the pageReply. The last parameter is the member's
// key.
func (a *pageReply[T]) part(d *decoder, room []T, form rowForm[T], name []byte) (err error) {
	isNamed := func(line string) bool { return slices.Contains(form.service.Names(line), string(name)) }
	switch {
	case isNamed("report_reply.columns"):
		if d.PeekKind() == 'n' {
			return d.SkipValue()
		}
		if a.columns != nil {
			return contractf("%s are columns, and there were some before", quote(name, 60))
		}
		a.columns, err = d.columns()
	case isNamed("report_reply.rows"):
		if a.items != nil {
			return contractf("%s are rows, and there were some before", quote(name, 60))
		}
		a.items, err = rowsOf(d, room, form)
	case isNamed("report_reply.pagination"):
		a.pagination, err = d.pagination(form.service)
	case isNamed("currency.keys"):
		return d.currency(form.service, string(name))
	default:
		return d.unnamedPart(form.service, "", name)
	}
	return err
}

// unnamedPart records a key of a reply, or of its pagination, that the description does not name. If the key states an
// error, or states that rows are missing, the reply is refused with all its rows. If the key states that more rows
// follow, the page is not the last.
func (d *decoder) unnamedPart(s *service.Service, prefix string, name []byte) error {
	if !d.recorded[prefix+string(name)] {
		d.record(prefix, name, kindName(d.PeekKind()))
	}
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	key, isTrue := string(name), string(v) == "true"
	d.more = d.more || key == "has_more" && isTrue
	if (key == "error" || key == "errors") && statesError(Value(v)) ||
		slices.Contains(s.Names("report_reply.incomplete"), key) && isTrue {
		d.failure = fmt.Sprintf("the reply states %s %s, so that its rows may not be all", name,
			printable(Value(v), 200))
	}
	return nil
}

// lacksPart returns the error for a reply without one of its required parts. The error names the line of the service
// file that can declare another key for the part.
func lacksPart(part, line string, keys []string) error {
	fields := map[string]Value{}
	for _, key := range keys {
		fields[key] = nil
	}
	return contractf("the reply has no %s; its keys are %s; another name is a line report_reply.%s of "+
		"SPENDSYNC_SERVICE_FILE", part, Keys(fields), line)
}

// rowsOf decodes the rows into the slice `room`, or into a new slice if they do not fit there. So no row needs an
// allocation of its own.
func rowsOf[T any](d *decoder, room []T, form rowForm[T]) ([]T, error) {
	// Every row has an opening brace, and texts may have more, so the number of braces is an upper bound for the number
	// of rows.
	rest := d.UnreadBuffer()
	rows := room[:0]
	if n := min(bytes.Count(rest, []byte{'{'}), len(rest)/20, maxPageRows); rows == nil || cap(rows) < n {
		rows = make([]T, 0, n)
	}
	err := d.array("data", func() error {
		if len(rows) == maxPageRows {
			return contractf("more than %d rows in one reply", maxPageRows)
		}
		rows = append(rows, *new(T)) // overwrites an old row
		row, start := &rows[len(rows)-1], d.InputOffset()
		var err error
		if kind := d.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
			d.notObjects = append(d.notObjects, len(rows))
			err = d.SkipValue()
		} else {
			err = rowOf(d, row, form)
		}
		if all := form.place(row, rowJSON); all != nil && err == nil {
			*all = bytes.TrimLeft(d.body[start:d.InputOffset()], " \t\r\n,")
		}
		return err
	})
	return rows, err
}

// rowOf reads a row.
func rowOf[T any](d *decoder, row *T, form rowForm[T]) error {
	return d.object(func(name []byte) error {
		var at *Value
		if column, ok := form.service.Column(string(name)); ok {
			at = form.place(row, column)
		}
		if at == nil {
			return d.skip("data[].", name)
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		// Slice the body: the decoder's own value is valid only until the next value is read.
		end := int(d.InputOffset())
		switch {
		case *at == nil:
			*at = d.body[end-len(v) : end : end]
		case string(*at) != string(v):
			*at = slices.Clip(slices.Concat(Value(twice), bytes.TrimPrefix(*at, []byte(twice)), Value(", "), Value(v)))
		}
		return nil
	})
}

// lenientTexts accepts half a surrogate pair in a text. The body is valid UTF-8 already.
var lenientTexts = jsontext.AllowInvalidUTF8(true)

// anyNames accepts an object with the same key twice.
var anyNames = jsontext.AllowDuplicateNames(true)
