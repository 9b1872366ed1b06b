package config

import (
	"reflect"
	"slices"
	"strings"
)

// FromEnviron are the variables with our prefix, without it.
func FromEnviron(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, Prefix) && v != "" {
			env[strings.TrimPrefix(k, Prefix)] = v
		}
	}
	return env
}

// Variable is one line of "help config".
type Variable struct {
	Name, Default, Doc string
	field              string
}

// Variables are all that can be set, in the order in which they are explained.
func Variables() []Variable {
	t := reflect.TypeFor[Config]()
	var vars []Variable
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, fallback, _ := strings.Cut(f.Tag.Get("env"), ", default=")
		name, _, _ = strings.Cut(name, ",")
		switch {
		case f.Tag.Get("required") == "true":
			fallback = "required"
		case f.Tag.Get("required") != "":
			fallback = "required, " + f.Tag.Get("required")
		case f.Tag.Get("from") != "":
			fallback = f.Tag.Get("from")
		}
		vars = append(vars, Variable{Name: name, Default: fallback, Doc: f.Tag.Get("doc"), field: f.Name})
	}
	return vars
}

// unknownIn are those that nobody reads: a typing mistake there would
// otherwise pass for a setting.
func unknownIn(env map[string]string) []string {
	known := map[string]bool{}
	for _, v := range Variables() {
		known[v.Name] = true
	}
	var unknown []string
	for name := range env {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Unknown are variables with our prefix that nobody reads.
func (c *Config) Unknown() []string { return c.unknown }
