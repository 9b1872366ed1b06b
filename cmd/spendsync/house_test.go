package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// What the layout of the code is held to.
const (
	maxFilesOfCommand  = 24   // source files of cmd/spendsync itself
	maxLinesOfPackage  = 4500 // in the source files of a package, tests not counted
	maxLinesOfFunction = 70   // from "func" to the closing brace
	maxColumns         = 120  // of a line; a tab counts as four
)

// simulator is the one package that may be longer: it is a service of its own.
const simulator = "extract/adsim"

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

// TestHouse_PackagesAreShort: a package that one cannot read in a morning is two.
func TestHouse_PackagesAreShort(t *testing.T) {
	lines := map[string]int{}
	goFiles(t, func(pkg, path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			lines[pkg] += strings.Count(string(text), "\n")
		}
	})
	if lines["load"] == 0 || lines[simulator] == 0 {
		t.Fatalf("packages are missing: %v", lines)
	}
	for pkg, n := range lines {
		if n > maxLinesOfPackage && pkg != simulator {
			t.Errorf("%s has %d lines, more than %d", pkg, n, maxLinesOfPackage)
		}
	}
}

// TestHouse_FunctionsAreShort holds functions and methods; a function literal is part of
// the function around it. A test may hold a table of cases, however long.
func TestHouse_FunctionsAreShort(t *testing.T) {
	goFiles(t, func(_, path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := files.Position(f.Pos()), files.Position(f.End())
			if n := last.Line - first.Line + 1; n > maxLinesOfFunction {
				t.Errorf("%s: %s has %d lines, more than %d", first, f.Name.Name, n, maxLinesOfFunction)
			}
		}
	})
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
