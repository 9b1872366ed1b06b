package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
)

// FileName is the configuration file that is read from the working folder if it exists.
const FileName = "spendsync.env"

// WithFile adds the variables of a configuration file to an environment. A non-empty variable of the environment
// overrides the file. If name is empty, WithFile reads [FileName] if that file exists.
func WithFile(environ []string, name string) ([]string, error) {
	isNamed := name != ""
	name = cmp.Or(name, FileName)
	b, err := cli.ReadFile(name, cli.MaxSecret)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isNamed:
		return environ, nil
	case err != nil:
		return nil, exit.Advise(exit.Usagef("--config: %v", err), "name a file that exists and that you may read")
	}
	read, err := parseFile(b)
	if err != nil {
		return nil, exit.Advise(exit.Usagef("%s: %v", name, err),
			"write one NAME=value a line, without quotes and without a comment behind it")
	}
	set := FromEnviron(environ)
	var below []string
	for _, k := range slices.Sorted(maps.Keys(read)) {
		if !strings.HasPrefix(k, Prefix) {
			return nil, exit.Advise(exit.Usagef("%s sets %s, which has no effect from a file", name, k),
				"remove it, or set it in the environment; the file is for variables that begin with %s", Prefix)
		}
		name := strings.TrimPrefix(k, Prefix)
		secret, isFile := strings.CutSuffix(name, "_FILE")
		if other := secret + "_FILE"; set[name] == "" && (isFile && set[secret] == "" || !isFile && set[other] == "") {
			below = append(below, k+"="+read[k])
		}
	}
	return append(below, environ...), nil
}

// notText returns why a file is not plain text, or "" if it is.
func notText(b []byte) string {
	if utf8.Valid(b) && !bytes.HasPrefix(b, []byte("\ufeff")) && bytes.IndexByte(b, 0) < 0 {
		return ""
	}
	return "it is not plain UTF-8 text: it has a byte order mark or a NUL, or is UTF-16; save it as UTF-8 without them"
}

// parseFile parses lines of the form NAME=value, as docker's --env-file does: the value is the rest of the line without
// surrounding blanks, and no character has a special meaning. An error gives the line's number but never quotes the
// line, which may contain a secret.
func parseFile(b []byte) (map[string]string, error) {
	if why := notText(b); why != "" {
		return nil, errors.New(why)
	}
	variables := map[string]string{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !fileName.MatchString(name) {
			return nil, fmt.Errorf("line %d is not of the form NAME=value", n)
		}
		if variables[name] = strings.TrimSpace(value); isQuoted(variables[name]) {
			return nil, fmt.Errorf("line %d: the value of %s is in quotes; write it without them", n, name)
		}
	}
	return variables, nil
}

var fileName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// FileHeading is the first line of the files that [WriteFile] writes.
const FileHeading = "# Variables of spendsync; 'spendsync help config' describes all of them.\n"

// WriteFile writes variables into a configuration file that only its owner can read. An existing file keeps its other
// lines.
func WriteFile(name string, variables [][2]string) error {
	old, err := cli.ReadFile(name, cli.MaxSecret)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(old)
	if text == "" {
		text = FileHeading
	}
	for _, kv := range variables {
		line := Prefix + kv[0] + "=" + kv[1]
		if strings.ContainsAny(kv[1], "\r\n") || isQuoted(kv[1]) {
			return fmt.Errorf("%s%s has a line break, or stands in quotes", Prefix, kv[0])
		}
		if at := regexp.MustCompile(`(?m)^\s*` + Prefix + kv[0] + `\s*=.*$`); at.MatchString(text) {
			text = at.ReplaceAllLiteralString(text, line)
		} else {
			text = strings.TrimSuffix(text, "\n") + "\n" + line + "\n"
		}
	}
	return cli.WriteSecret(name, text)
}
