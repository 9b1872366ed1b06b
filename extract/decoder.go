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

// decoder reads a body in memory with a jsontext.Decoder, which refuses invalid JSON. It refuses duplicate keys, too,
// unless newRowsDecoder made it. It accepts half a surrogate pair in a text, see [Value].
type decoder struct {
	*jsontext.Decoder
	body       []byte
	name       []byte // memory for the latest key that contained escapes, decoded
	unknown    []UnknownKey
	recorded   map[string]bool // paths in unknown
	notObjects []int           // numbers (from 1) of the rows that are not JSON objects
	failure    string          // the error that the reply states; empty: it states no error
	more       bool            // whether the reply states that more rows follow
}

// newRowsDecoder returns a decoder of a report's reply, which must be UTF-8. It accepts duplicate keys.
func newRowsDecoder(body []byte) decoder {
	return decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), lenientTexts, anyNames), body: body}
}

// newDecoder returns a decoder of a body, which must be UTF-8.
func newDecoder(body []byte) decoder {
	return decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), lenientTexts), body: body}
}

// object reads a JSON object. For each key it calls a function, which must read the value of that key.
func (d *decoder) object(member func(name []byte) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for {
		switch d.PeekKind() {
		case '"':
		default: // end of the object, or a syntax error: ReadToken returns it
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

// array reads a JSON array. For each element it calls a function, which must read that element. Errors call the array
// by the given name.
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

// columns reads the list of column names.
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

// pagination reads the position of the page among all pages. A number that is missing, negative or not whole becomes
// -1, and [pageWalk] refuses a page with such a number. If the value is not an object, the page counts as a page
// without pagination.
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

// currency reads the currency of the amounts. It returns an error if spendsync stores another currency. A value that is
// not a text counts as no currency.
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

// OtherCurrency returns v as printable JSON if v names another currency than the one that spendsync stores
// (currency.code in the service file). Otherwise, or if v is not a text, it returns "".
func OtherCurrency(s *service.Service, v Value) string {
	code, _ := v.Text()
	if code = strings.TrimSpace(code); code == "" || strings.EqualFold(code, s.Text("currency.code")) {
		return ""
	}
	return printable(v, 60)
}

// skip skips the value of an unknown key, and records the key.
func (d *decoder) skip(prefix string, name []byte) error {
	kind := d.PeekKind()
	if !d.recorded[prefix+string(name)] {
		d.record(prefix, name, kindName(kind))
	}
	return d.SkipValue()
}

func (d *decoder) record(prefix string, name []byte, typ string) {
	if len(d.unknown) == maxUnknown {
		return
	}
	if d.recorded == nil {
		d.recorded = map[string]bool{}
	}
	path := prefix + string(name)
	d.recorded[path] = true
	if len(name) > maxUnknownName {
		path = prefix + string(bytes.ToValidUTF8(name[:maxUnknownName], nil)) + "..."
	}
	d.unknown = append(d.unknown, UnknownKey{Path: path, Type: typ})
}

// unnamedColumns records the unknown names in the reply's list of columns. Names that also occur as keys of rows were
// recorded before.
func (d *decoder) unnamedColumns(columns []string, isColumn func([]byte) bool) {
	for _, name := range columns {
		if !isColumn([]byte(name)) && !d.recorded["data[]."+name] {
			d.record("data[].", []byte(name), "column")
		}
	}
}

// syntaxError describes where the JSON is invalid. It distinguishes a reply that is not JSON from a reply that has a
// duplicate key.
func (d *decoder) syntaxError(e *jsontext.SyntacticError) error {
	if errors.Is(e, jsontext.ErrDuplicateName) {
		return contractf("the key at %s is there twice", quote([]byte(e.JSONPointer), 100))
	}
	return &replyError{
		reason:  fmt.Sprintf("the reply is not JSON: %s, near byte %d", printable(e.Err.Error(), 100), e.ByteOffset),
		notJSON: true,
	}
}

// kindName returns the name of a JSON type.
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
