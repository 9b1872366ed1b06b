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

// parseBody parses a JSON object; its numbers keep their text.
func parseBody(raw []byte) (b body, err error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || b == nil {
		return nil, errors.New("expected one JSON object")
	}
	return b, nil
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

// sub returns a member of the body that is an object itself.
func (b body) sub(name string) body { m, _ := b[name].(map[string]any); return m }

// set puts a field that is sent where it belongs.
func set[T any](b body, name string, into **T, of func(name string) T) {
	if b.has(name) {
		v := of(name)
		*into = &v
	}
}
