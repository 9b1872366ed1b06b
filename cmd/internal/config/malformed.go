package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// malformed describes, in words, each variable whose text is not of its kind.
func malformed(env map[string]string) (wrong []string) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		value := env[name]
		if name == "" || value == "" {
			continue
		}
		must := ""
		switch {
		case f.Type == reflect.TypeFor[time.Duration]():
			if _, err := time.ParseDuration(value); err != nil {
				must = "must be a number with its unit (s, m or h), for example " + exampleOf(name)
			}
		case f.Type.Kind() == reflect.Int:
			if _, err := strconv.Atoi(value); err != nil {
				must = "must be a whole number, for example " + exampleOf(name)
			}
		case f.Type.Kind() == reflect.Bool:
			if _, err := strconv.ParseBool(value); err != nil {
				must = "must be true or false"
			}
		}
		if must != "" {
			wrong = append(wrong, fmt.Sprintf("%s%s=%q: %s", Prefix, name, value, must))
		}
	}
	return wrong
}

// exampleOf is a value that a variable may have: its default, or a number.
func exampleOf(name string) string {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		field, fallback, _ := strings.Cut(t.Field(i).Tag.Get("env"), ", default=")
		if field == name && fallback != "" {
			return fallback
		}
	}
	return "2"
}
