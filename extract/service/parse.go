package service

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Error names the line of a file that cannot be used, and the reason.
type Error struct {
	Line    int // number of the line, from 1; 0: the error is about the whole file
	Key     string
	Reason  string
	Unknown bool // whether there is no such key
}

// Error returns the line, the key and the reason.
func (e *Error) Error() string {
	text := e.Reason
	if e.Key != "" {
		text = e.Key + ": " + text
	}
	if e.Line > 0 {
		text = "line " + strconv.Itoa(e.Line) + ": " + text
	}
	return text
}

// laidLine is a line of a service file as parsed, before it is checked and merged.
type laidLine struct {
	key    string
	number int
	values []string
	list   bool
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// parse returns the lines of a file in their order.
func parse(text []byte) (lines []laidLine, _ *Error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil // nothing but comments
	}
	if err != nil {
		m := yamlLine.FindStringSubmatch(err.Error())
		number := 0
		if m != nil {
			number, _ = strconv.Atoi(m[1])
		}
		return nil, &Error{Line: number, Reason: "not YAML: " + yamlLine.ReplaceAllString(err.Error(), "")}
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &Error{Line: more.Line, Reason: "a second document; the file has one"}
	}
	if root := doc.Content[0]; root.Kind != yaml.MappingNode {
		if root.Tag == "!!null" {
			return nil, nil
		}
		return nil, &Error{Line: root.Line, Reason: "lines of the form \"key: name\" belong here"}
	}
	first := map[string]int{}
	if err := appendLines(&lines, first, "", doc.Content[0]); err != nil {
		return nil, err
	}
	return lines, nil
}

// appendLines appends the lines of an object and of the objects in it.
func appendLines(lines *[]laidLine, first map[string]int, prefix string, of *yaml.Node) *Error {
	for i := 0; i+1 < len(of.Content); i += 2 {
		name, value := of.Content[i], of.Content[i+1]
		key := prefix + name.Value
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			if err := appendLines(lines, first, key+".", value); err != nil {
				return err
			}
			continue
		}
		if first[key] > 0 {
			return &Error{Line: name.Line, Key: key, Reason: fmt.Sprintf("it is in line %d, too", first[key])}
		}
		first[key] = name.Line
		l := laidLine{key: key, number: name.Line, list: value.Kind == yaml.SequenceNode}
		values := []*yaml.Node{value}
		if l.list {
			values = value.Content
		}
		for _, v := range values {
			if v.Kind != yaml.ScalarNode || v.Tag != "!!str" {
				return &Error{Line: v.Line, Key: key, Reason: kind(v) + " where a text belongs"}
			}
			l.values = append(l.values, v.Value)
		}
		*lines = append(*lines, l)
	}
	return nil
}

// kind describes the type of a value.
func kind(v *yaml.Node) string {
	words := map[string]string{"!!int": "a number", "!!float": "a number", "!!null": "a null", "!!seq": "a list",
		"!!map": "an object", "!!bool": "a boolean (put it in quotes if it is a name)",
		"!!timestamp": "a time (put it in quotes if it is a name)"}
	return cmp.Or(words[v.Tag], "a reference")
}
