package extract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/service"
	"spendsync/schema"
)

// decoder is a jsontext.Decoder, which refuses invalid JSON and duplicate keys, over a
// body in memory. It accepts half a character in a text, see [Value].
type decoder struct {
	*jsontext.Decoder
	body       []byte
	name       []byte // the latest key, if it had to be unescaped
	unknown    []UnknownKey
	known      map[string]bool // paths in unknown
	notObjects []int           // rows, from 1
	failure    string          // that the reply states; empty: none
	more       bool            // the reply states that more follows
}

// newRowsDecoder reads a reply of the report that is UTF-8. A key may be there twice.
func newRowsDecoder(body []byte) decoder {
	return decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), lenientTexts, anyNames), body: body}
}

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

// pagination reads the page's stated place among the pages. A number that is missing or is not a whole number from 0
// becomes -1: it proves nothing, and discards no row. If the value has another type than object, the reply has no
// pagination, as if the key were absent.
func (d *decoder) pagination(s *service.Service) (*pagination, error) {
	if kind := d.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		if kind != 'n' {
			d.record("", []byte("pagination"), kindName(kind))
		}
		return nil, d.SkipValue()
	}
	p := pagination{page: -1, pageSize: -1, totalRows: -1, totalPages: -1}
	err := d.object(func(name []byte) error {
		var at *int64
		for _, number := range []struct {
			key string
			at  *int64
		}{{"page", &p.page}, {"page_size", &p.pageSize}, {"total_rows", &p.totalRows},
			{"total_pages", &p.totalPages}} {
			if slices.Contains(s.Names("report_reply."+number.key), string(name)) {
				at = number.at
			}
		}
		if at == nil {
			return d.unnamedPart(s, "pagination.", name)
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		digits, _ := Value(v).Number()
		n, err := schema.ParseCount(digits)
		switch {
		case *at >= 0:
			return contractf("pagination.%s is %s, and there was one before", name, printable(Value(v), 60))
		case err == nil && n >= 0:
			*at = n
		}
		return nil
	})
	if p.totalPages < 0 && p.totalRows >= 0 && p.pageSize > 0 {
		p.totalPages = (p.totalRows + p.pageSize - 1) / p.pageSize
	}
	return &p, err
}

// currency refuses amounts of another currency than the one that is stored. Another value than a text names none.
func (d *decoder) currency(s *service.Service, key string) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	if other := OtherCurrency(s, Value(v)); other != "" {
		return contractf("%s is %s, not %s: the amounts are not stored", key, other, s.Text("currency.code"))
	}
	return nil
}

// OtherCurrency returns the currency that a value names if it is another than the one that is stored, as JSON;
// empty: it is that one, or the value names none.
func OtherCurrency(s *service.Service, v Value) string {
	code, _ := v.Text()
	if code = strings.TrimSpace(code); code == "" || strings.EqualFold(code, s.Text("currency.code")) {
		return ""
	}
	return printable(v, 60)
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
