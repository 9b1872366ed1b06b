// Package openapi compares a service's own description, in OpenAPI, with what a client of it
// relies on. It sends nothing and reads no file.
package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Description is a service's description of itself.
type Description struct {
	Version string // of the API, by its own account
	doc     map[string]any
}

// Parse parses an OpenAPI document in JSON.
func Parse(body []byte) (d Description, err error) {
	if err := json.Unmarshal(body, &d.doc); err != nil {
		return d, err
	}
	if _, ok := d.doc["paths"].(map[string]any); !ok {
		return d, errors.New("it has no paths")
	}
	info, _ := d.doc["info"].(map[string]any)
	d.Version, _ = info["version"].(string)
	return d, nil
}

// Reliance is one request of a client, with the parts of the reply that it relies on. The parameters of its path are
// {}.
type Reliance struct {
	Path   string
	Query  map[string][]string // by parameter: the values that are sent
	Fields []string            // of the answer
}

// Drift returns the differences between the description and the reliances, a sentence each. It compares descriptions,
// not replies: only a reply proves its own form.
func (d Description) Drift(relied []Reliance) []string {
	var drift []string
	for _, r := range relied {
		op := d.get(r.Path)
		if op == nil {
			drift = append(drift, fmt.Sprintf("GET %s is not described any more", r.Path))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.Query)) {
			drift = append(drift, d.parameterDrift(op, r.Path, name, r.Query[name])...)
		}
		if known := d.fieldsOf(op); len(known) > 0 {
			for _, f := range r.Fields {
				if !known[f] {
					drift = append(drift, fmt.Sprintf("the answer of GET %s has no field %s any more", r.Path, f))
				}
			}
		}
	}
	return drift
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// get is the GET operation of a path, whatever its parameters are called, and
// whether or not the version is part of the server's address.
func (d Description) get(path string) map[string]any {
	for described, item := range d.doc["paths"].(map[string]any) {
		described = pathParameter.ReplaceAllString(strings.TrimSuffix(described, "/"), "{}")
		if described == path || described == strings.TrimPrefix(path, "/v1") {
			if methods, ok := d.resolve(item).(map[string]any); ok {
				op, _ := methods["get"].(map[string]any)
				return op
			}
		}
	}
	return nil
}

// parameterDrift compares a query parameter with the values that we send.
func (d Description) parameterDrift(op map[string]any, path, name string, send []string) []string {
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		param, _ := d.resolve(p).(map[string]any)
		if param["name"] != name || param["in"] != "query" {
			continue
		}
		schema, _ := d.resolve(param["schema"]).(map[string]any)
		if items, ok := d.resolve(schema["items"]).(map[string]any); ok {
			schema = items
		}
		var drift []string
		for _, v := range send {
			if why := refusal(schema, v); why != "" {
				drift = append(drift, fmt.Sprintf("GET %s: %s=%s is not allowed any more: %s", path, name, v, why))
			}
		}
		return drift
	}
	return []string{fmt.Sprintf("GET %s has no parameter %s any more", path, name)}
}

// refusal returns why a schema does not allow a value; empty: it does.
func refusal(schema map[string]any, value string) string {
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, any(value)) {
		return fmt.Sprintf("it is none of %v", enum)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return ""
	}
	if most, ok := schema["maximum"].(float64); ok && n > most {
		return fmt.Sprintf("the maximum is %v", most)
	}
	if least, ok := schema["minimum"].(float64); ok && n < least {
		return fmt.Sprintf("the minimum is %v", least)
	}
	return ""
}

// fieldsOf are the names of all fields in the answer of an operation.
func (d Description) fieldsOf(op map[string]any) map[string]bool {
	responses, _ := op["responses"].(map[string]any)
	fields := map[string]bool{}
	d.addFields(responses["200"], fields, 0)
	return fields
}

// maxNesting bounds the walk through schemas, which may refer to themselves.
const maxNesting = 12

func (d Description) addFields(v any, fields map[string]bool, depth int) {
	if depth > maxNesting {
		return
	}
	switch v := d.resolve(v).(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				fields[name] = true
			}
		}
		for _, inner := range v {
			d.addFields(inner, fields, depth+1)
		}
	case []any:
		for _, inner := range v {
			d.addFields(inner, fields, depth+1)
		}
	}
}

// resolve follows a reference within the document, or is the value itself.
func (d Description) resolve(v any) any {
	for range maxNesting {
		object, _ := v.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			return v
		}
		v = any(d.doc)
		for _, part := range strings.Split(ref[2:], "/") {
			step, _ := v.(map[string]any)
			v = step[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
	}
	return nil
}
