package advertiser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// body is a JSON object, checked by its schema.
type body map[string]any

// parseBody parses a JSON object, refusing everything that readers understand differently: text
// that is not UTF-8, a repeated key, anything after the object.
func parseBody(raw []byte) (body, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseValue(d)
	if err != nil {
		return nil, fmt.Errorf("the body is not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("expected a JSON object")
	}
	return m, nil
}

func parseValue(d *json.Decoder) (any, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string) // a decoder gives nothing else here
			if _, twice := m[name]; twice {
				return nil, fmt.Errorf("%q is given more than once", name)
			}
			if m[name], err = parseValue(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return tok, nil
}

func (b body) has(name string) bool { _, has := b[name]; return has }

// text is "" for null and for a field that is not there.
func (b body) text(name string) string { s, _ := b[name].(string); return s }

func (b body) flag(name string) bool { on, _ := b[name].(bool); return on }

// money is in millionths, rounded, and 0 for null and for a field that is not there.
func (b body) money(name string) int64 {
	f, _ := strconv.ParseFloat(fmt.Sprint(b[name]), 64) // the schema has verified that it is a number
	return int64(math.Round(f * 1e6))
}

func (b body) instant(name string) time.Time {
	t, _ := time.Parse(time.RFC3339, b.text(name)) // as above
	return t
}

func (b body) texts(name string) []string {
	list, ok := b[name].([]any)
	if !ok {
		return nil
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

func (b body) integer(name string) int {
	n, _ := b[name].(json.Number)
	f, _ := n.Float64()
	return int(f)
}

// sub is an object in the object.
func (b body) sub(name string) body { m, _ := b[name].(map[string]any); return m }
