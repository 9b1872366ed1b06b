package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the maximum length of a line of code; a tab counts as four columns.
const maxColumns = 120

// goFiles calls a function for every Go file of the module; pkg is the folder, relative to the root.
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

// TestHouse_LinesAreShort checks every line, including struct tags and texts in tests.
func TestHouse_LinesAreShort(t *testing.T) {
	goFiles(t, func(_, path string, text []byte) {
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > maxColumns {
				t.Errorf("%s:%d has %d columns, more than %d", path, i+1, n, maxColumns)
			}
		}
	})
}

// openers lists the source files that may open files by themselves, because no variable, flag or argument names the
// opened files.
var openers = map[string]string{
	"cmd/internal/cli/files.go":         "what a variable names",
	"cmd/spendsync/demo.go":             "a new file in a temporary folder of its own",
	"cmd/spendsync/payouts/file.go":     "new files in a temporary folder of its own",
	"cmd/spendsync/payouts/table.go":    "new files in a temporary folder of its own",
	"cmd/spendsync/shop/folder.go":      "the marker of the demo's own folder",
	"load/duck/ask.go":                  "the DuckDB file of a store",
	"load/durable/clone_linux.go":       "files of a store",
	"load/durable/disk.go":              "files of a store",
	"load/durable/lock.go":              "a lock file of a store",
	"cmd/spendsync-lake/lake/upload.go": "files of a store and of its staging area",
	"load/loadtest/faults.go":           "files of a test's store",
	"load/loadtest/unpack.go":           "the stores that are kept",
}

// TestHouse_FilesAreOpenedInOnePlace: only cmd/internal/cli opens files that a variable, a flag or an argument names,
// including files that a library would open by itself. It checks them: a pipe could block a run, and a device could
// fill the memory.
func TestHouse_FilesAreOpenedInOnePlace(t *testing.T) {
	opens := regexp.MustCompile(`\bos\.(Open|OpenFile|ReadFile|Create|WriteFile)\(`)
	used := map[string]bool{}
	goFiles(t, func(pkg, path string, text []byte) {
		ours := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if strings.HasSuffix(path, "_test.go") || isSimulated(pkg) || !opens.Match(text) {
			return
		}
		if openers[ours] == "" && openers[pkg] == "" {
			t.Errorf("%s opens files by itself: %s", ours, opens.Find(text))
		}
		used[ours], used[pkg] = true, true
	})
	for name := range openers {
		if !used[name] {
			t.Errorf("%s opens no file any more", name)
		}
	}
}
