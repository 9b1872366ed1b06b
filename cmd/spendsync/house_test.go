package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxFilesOfCommand bounds the source files of cmd/spendsync itself.
const maxFilesOfCommand = 24

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

// TestHouse_CommandStaysThin holds the number of files of the command itself: what knows
// something of the domain has a package of its own.
func TestHouse_CommandStaysThin(t *testing.T) {
	files := 0
	goFiles(t, func(pkg, path string, _ []byte) {
		if pkg == "cmd/spendsync" && !strings.HasSuffix(path, "_test.go") {
			files++
		}
	})
	if files > maxFilesOfCommand {
		t.Errorf("cmd/spendsync has %d source files, more than %d", files, maxFilesOfCommand)
	}
}
