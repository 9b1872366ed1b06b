package queries

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed asks/*.sql views/*/*.sql macros/*.sql
var files embed.FS

// Query is one question in SQL.
type Query struct {
	Schema     string // of a view; "main" for macros
	Name       string // the file's name
	Question   string
	Trap       string // how the answer is easily misread
	Parameters string // of a macro, comma-joined
	SQL        string
}

// Asks are the ready questions, by name.
func Asks() []Query { return read("asks", "") }

// Views are the views that every warehouse has, main before mart.
func Views() []Query { return slices.Concat(read("views/main", "main"), read("views/mart", "mart")) }

// Macros are the table macros that every warehouse has.
func Macros() []Query { return read("macros", "main") }

// Find is the ready question of that name.
func Find(name string) (Query, error) {
	for _, a := range Asks() {
		if a.Name == name {
			return a, nil
		}
	}
	return Query{}, fmt.Errorf("there is no question %q", name)
}

// read reads the files of a folder. They are embedded, so an error is a
// programmer's mistake that the first test shows.
func read(dir, schema string) []Query {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err)
	}
	var all []Query
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		q := parse(string(b))
		q.Schema, q.Name = schema, strings.TrimSuffix(e.Name(), ".sql")
		all = append(all, q)
	}
	return all
}

// parse takes the comment lines at the top of a file: the question, its trap, and
// a macro's parameters.
func parse(text string) (q Query) {
	for strings.HasPrefix(text, "--") {
		line, rest, _ := strings.Cut(text, "\n")
		line, text = strings.TrimSpace(strings.TrimPrefix(line, "--")), rest
		switch {
		case strings.HasPrefix(line, "Trap:"):
			q.Trap = strings.TrimSpace(strings.TrimPrefix(line, "Trap:"))
		case strings.HasPrefix(line, "Parameters:"):
			q.Parameters = strings.TrimSpace(strings.TrimPrefix(line, "Parameters:"))
		default:
			q.Question = line
		}
	}
	q.SQL = strings.TrimSuffix(strings.TrimSpace(text), ";")
	return q
}
