package queries

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed asks/*.sql
var files embed.FS

// Ask is one ready question.
type Ask struct {
	Name     string // the file's name
	Question string
	Trap     string // how the answer is easily misread
	SQL      string
}

// Asks are the ready questions, by name.
func Asks() []Ask {
	entries, err := fs.ReadDir(files, "asks")
	if err != nil {
		panic(err) // embedded: it cannot fail at run time
	}
	var asks []Ask
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join("asks", e.Name()))
		if err != nil {
			panic(err)
		}
		asks = append(asks, parse(strings.TrimSuffix(e.Name(), ".sql"), string(b)))
	}
	return asks
}

// Find is the ready question of that name.
func Find(name string) (Ask, error) {
	for _, a := range Asks() {
		if a.Name == name {
			return a, nil
		}
	}
	return Ask{}, fmt.Errorf("there is no question %q", name)
}

func parse(name, text string) Ask {
	lines := strings.SplitN(text, "\n", 3)
	for len(lines) < 3 {
		lines = append(lines, "")
	}
	comment := func(s string) string { return strings.TrimSpace(strings.TrimPrefix(s, "--")) }
	return Ask{Name: name, Question: comment(lines[0]), Trap: comment(strings.Replace(lines[1], "Trap:", "", 1)), SQL: strings.TrimSuffix(strings.TrimSpace(lines[2]), ";")}
}
