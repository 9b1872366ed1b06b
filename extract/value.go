package extract

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a JSON value as received, quotes and escapes included. A Value is nil if the key was absent, which differs
// from null. A Value of an [Entity] is a slice of Entity.Raw. A Value of a [Page] is overwritten by the next page, so
// copy it if it is needed longer. A Value is valid UTF-8: invalid bytes of a reply are replaced by U+FFFD. It may
// contain an escape of half a surrogate pair, for example \ud83d, which becomes U+FFFD in its text.
type Value []byte

// Null reports whether the value is absent or null.
func (v Value) Null() bool { return len(v) == 0 || string(v) == "null" }

// appendText appends a value. A string is decoded, so that two spellings of one text give the same bytes. Any other
// value is appended unmodified.
func (v Value) appendText(dst []byte) []byte {
	switch {
	case v.Null():
		return dst
	case v[0] != '"':
		return append(dst, v...)
	case bytes.IndexByte(v, '\\') < 0:
		return append(dst, v[1:len(v)-1]...)
	}
	return unquote(dst, v)
}

// unquote appends the decoded text of a JSON string, with U+FFFD for each half of a surrogate pair. A string that came
// through [newDecoder] has no other errors.
func unquote(dst, quoted []byte) []byte {
	dst, _ = jsontext.AppendUnquote(dst, quoted)
	return dst
}

// Text returns the decoded text of a JSON string, or false for any other value.
func (v Value) Text() (string, bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	return string(v.appendText(nil)), true
}

// ID returns the value as an ID: a whole number becomes the text of its digits, because 4711 and "4711" are the same
// ID.
func (v Value) ID() Value {
	if len(v) > 0 && v[0] != '"' && len(bytes.Trim(v, "0123456789")) == 0 {
		return slices.Concat(Value(`"`), v, Value(`"`))
	}
	return v
}

// isNumber reports whether the value is a JSON number.
func (v Value) isNumber() bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// maxQuotedNumber is the longest text that may be a number.
const maxQuotedNumber = 100

// Number returns the digits of a JSON number, or of a text that is just a number: services written in a language
// without decimals send "12.34". ok is false for any other value.
func (v Value) Number() (digits Value, ok bool) {
	digits = v
	if len(v) > 2 && v[0] == '"' && len(v) <= maxQuotedNumber {
		if digits = v[1 : len(v)-1]; !isNumber(digits) {
			return nil, false
		}
		return digits, true
	}
	return digits, v.isNumber()
}

// isNumber reports whether a text is a JSON number and nothing else (RFC 8259, section 6).
func isNumber(text []byte) bool {
	return Value(text).isNumber() && text[len(text)-1] > ' ' && jsontext.Value(text).IsValid()
}

// Object returns the members of a JSON object, or false for any other value.
func (v Value) Object() (fields map[string]Value, ok bool) {
	if len(v) == 0 || v[0] != '{' {
		return nil, false
	}
	fields = map[string]Value{}
	d := newDecoder(v)
	err := d.object(func(name []byte) error {
		key := string(name) // a copy: the decoder reuses the name's memory
		value, err := d.valueHere()
		fields[key] = value
		return err
	})
	return fields, err == nil
}

// at returns the value under a path of keys with dots between them; nil: there is none.
func (v Value) at(path string) Value {
	for key := range strings.SplitSeq(path, ".") {
		fields, _ := v.Object()
		v = fields[key]
	}
	return v
}

// Array returns the elements of a JSON array, or false for any other value.
func (v Value) Array() (elements []Value, ok bool) {
	if len(v) == 0 || v[0] != '[' {
		return nil, false
	}
	d := newDecoder(v)
	err := d.array("", func() error {
		value, err := d.valueHere()
		elements = append(elements, value)
		return err
	})
	return elements, err == nil
}

// valueHere reads the next value, and returns it as a slice of the body: the decoder's own value is valid only until
// the next value is read.
func (d *decoder) valueHere() (Value, error) {
	v, err := d.ReadValue()
	end := int(d.InputOffset())
	return d.body[end-len(v) : end : end], err
}

// document returns the one JSON value of a reply, without the blanks in it. It refuses null.
func document(body []byte) (Value, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, &replyError{reason: "the reply is empty", notJSON: true}
	}
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte(replacement))
	}
	d := newDecoder(body)
	v, err := d.ReadValue()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, d.syntaxError(syntax)
	}
	rest := bytes.TrimLeft(d.UnreadBuffer(), " \t\r\n")
	switch {
	case err != nil: // the reply ends before the value does
		return nil, &replyError{reason: "the reply is not JSON: " + printable(err.Error(), 100), notJSON: true}
	case v.Kind() == 'n':
		return nil, &replyError{reason: "the reply is null", notJSON: true}
	case len(rest) > 0:
		return nil, contractf("%s after the end of the reply: %s", count(int64(len(rest)), "byte"), quote(rest, 60))
	}
	doc := v.Clone()
	if err := doc.Compact(); err != nil {
		return nil, contractf("the reply cannot be taken in: %s", printable(err.Error(), 100))
	}
	return Value(doc), nil
}

// The bounds of the list of keys in an error.
const (
	maxKeysShown = 20
	maxKeyShown  = 40
)

// Keys lists the keys of an object for an error: sorted, escaped, and not too many.
func Keys(fields map[string]Value) string {
	if len(fields) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(fields))
	more := ""
	if len(names) > maxKeysShown {
		more = fmt.Sprintf(" and %d more", len(names)-maxKeysShown)
		names = names[:maxKeysShown]
	}
	for i, name := range names {
		names[i] = quote([]byte(name), maxKeyShown)
	}
	return strings.Join(names, ", ") + more
}

// If a row has a key several times with different values, these are joined into one Value with this prefix. Valid JSON
// cannot begin with it.
const twice = "twice: "

// IsTwice reports whether a row has the key several times, with different values.
func (v Value) IsTwice() bool { return bytes.HasPrefix(v, []byte(twice)) }

// Type returns the JSON type of the value, in words; "twice" if [Value.IsTwice].
func (v Value) Type() string {
	switch {
	case len(v) == 0:
		return kindName(jsontext.KindInvalid)
	case v.IsTwice():
		return "twice"
	}
	return kindName(jsontext.Value(v).Kind())
}
