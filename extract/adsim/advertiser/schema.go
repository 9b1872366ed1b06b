package advertiser

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"spendsync/extract/adsim/wire"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// schema is as much of JSON Schema as the bodies need. It is read from openapi.json, checks a request and is the
// input schema of a tool, so that the three can't differ.
type schema struct {
	Ref         string              `json:"$ref,omitempty"`
	Type        any                 `json:"type,omitempty"` // a name, or a list of two of which one is null
	Description string              `json:"description,omitempty"`
	Enum        []any               `json:"enum,omitempty"`
	Pattern     string              `json:"pattern,omitempty"`
	Format      string              `json:"format,omitempty"`
	MinLength   int                 `json:"minLength,omitempty"`
	MaxLength   int                 `json:"maxLength,omitempty"`
	Minimum     json.Number         `json:"minimum,omitempty"`
	Maximum     json.Number         `json:"maximum,omitempty"`
	Items       *schema             `json:"items,omitempty"`
	MinItems    int                 `json:"minItems,omitempty"`
	MaxItems    int                 `json:"maxItems,omitempty"`
	Unique      bool                `json:"uniqueItems,omitempty"`
	Properties  map[string]*schema  `json:"properties,omitempty"`
	Required    []string            `json:"required,omitempty"`
	MinFields   int                 `json:"minProperties,omitempty"`
	Additional  *bool               `json:"additionalProperties,omitempty"`
	Default     any                 `json:"default,omitempty"`
	Needs       map[string][]string `json:"dependentRequired,omitempty"` // checked by the operation itself
}

// resolve puts the components that a schema refers to in their places.
func (s *schema) resolve(components map[string]*schema) {
	for name, of := range s.Properties {
		if of.Ref != "" {
			s.Properties[name] = components[of.Ref[strings.LastIndexByte(of.Ref, '/')+1:]]
		}
	}
}

// kind is the type without null, and whether null is one too.
func (s *schema) kind() (name string, null bool) {
	if list, ok := s.Type.([]any); ok {
		name, _ = list[0].(string)
		return name, true
	}
	name, _ = s.Type.(string)
	return name, false
}

// check appends the errors of a value that was decoded with numbers as text.
func (s *schema) check(found []detail, field string, v any) []detail {
	kind, null := s.kind()
	switch v := v.(type) {
	case nil:
		if null {
			return found
		}
	case string:
		if kind == "string" {
			return s.checkText(found, field, v)
		}
	case json.Number:
		if kind == "number" || kind == "integer" {
			return s.checkNumber(found, field, v)
		}
	case bool:
		if kind == "boolean" {
			return found
		}
	case []any:
		if kind == "array" {
			return s.checkList(found, field, v)
		}
	case map[string]any:
		if kind == "object" {
			return s.checkObject(found, field, v)
		}
	}
	return append(found, detail{field, "expected " + s.expected()})
}

// expected names the type for a person.
func (s *schema) expected() string {
	kind, null := s.kind()
	name := map[string]string{"string": "a text", "number": "a number", "integer": "an integer",
		"boolean": "true or false", "array": "a list", "object": "an object"}[kind]
	if null {
		name += " or null"
	}
	return name
}

func (s *schema) checkText(found []detail, field, v string) []detail {
	wrong := func(message string) []detail { return append(found, detail{field, message}) }
	n := utf8.RuneCountInString(v)
	switch {
	case s.Enum != nil && !slices.Contains(s.Enum, any(v)):
		return wrong("expected one of " + strings.Trim(fmt.Sprint(s.Enum), "[]"))
	case n < s.MinLength, s.MaxLength > 0 && n > s.MaxLength:
		return wrong(fmt.Sprintf("expected %d to %d characters", s.MinLength, s.MaxLength))
	case s.Pattern == `\S` && !compiled(`\S`).MatchString(v):
		return wrong("expected more than blanks")
	case s.Pattern != "" && !compiled(s.Pattern).MatchString(v):
		return wrong("expected the form " + s.Pattern)
	}
	if s.Format == "date-time" {
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return wrong("expected an RFC 3339 date-time")
		}
	}
	return found
}

func (s *schema) checkNumber(found []detail, field string, v json.Number) []detail {
	f, err := v.Float64()
	kind, _ := s.kind()
	switch {
	case err != nil || kind == "integer" && f != math.Trunc(f):
		return append(found, detail{field, "expected " + s.expected()})
	case f < floatOf(s.Minimum, math.Inf(-1)) || f > floatOf(s.Maximum, math.Inf(1)):
		return append(found, detail{field, fmt.Sprintf("expected %s to %s", s.Minimum, s.Maximum)})
	}
	return found
}

func floatOf(n json.Number, unset float64) float64 {
	if n == "" {
		return unset
	}
	f, _ := strconv.ParseFloat(string(n), 64) // it is written in this package
	return f
}

func (s *schema) checkList(found []detail, field string, list []any) []detail {
	if len(list) < s.MinItems || s.MaxItems > 0 && len(list) > s.MaxItems {
		found = append(found, detail{field, fmt.Sprintf("expected %d to %d entries", s.MinItems, s.MaxItems)})
	}
	for i, v := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		if text, ok := v.(string); ok && s.Unique && slices.Contains(list[:i], v) {
			found = append(found, detail{at, text + " is given more than once"})
		}
		found = s.Items.check(found, at, v)
	}
	return found
}

func (s *schema) checkObject(found []detail, field string, m map[string]any) []detail {
	at := func(name string) string { return strings.TrimPrefix(field+"."+name, ".") }
	for _, name := range s.Required {
		if _, has := m[name]; !has {
			found = append(found, detail{at(name), "is required"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if of := s.Properties[name]; of != nil {
			found = of.check(found, at(name), m[name])
		} else {
			found = append(found, detail{at(name), "unknown field"})
		}
	}
	if len(m) < s.MinFields {
		found = append(found, detail{field, fmt.Sprintf("expected at least %d of %s", s.MinFields,
			strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))})
	}
	return found
}

// compiled keeps the patterns of the schemas. They are of ECMA-262, where \S knows the spaces of Unicode; Go's knows
// those of ASCII.
func compiled(pattern string) *regexp.Regexp {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(strings.ReplaceAll(pattern, `\S`, wire.NotBlank)))
	}
	return re.(*regexp.Regexp)
}

var patterns sync.Map
