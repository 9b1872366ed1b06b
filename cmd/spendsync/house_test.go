package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the longest line of the code; a tab counts as four.
const maxColumns = 120

// goFiles walks every Go file of the module; pkg is the folder, from the root.
func goFiles(t *testing.T, do func(pkg, path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(filepath.ToSlash(pkg), path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHouse_LinesAreShort holds every line, struct tags and texts in tests included.
func TestHouse_LinesAreShort(t *testing.T) {
	goFiles(t, func(_, path string, text []byte) {
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > maxColumns {
				t.Errorf("%s:%d has %d columns, more than %d", path, i+1, n, maxColumns)
			}
		}
	})
}
