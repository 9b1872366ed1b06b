package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// houseRule forbids the packages in or below a folder to import some packages, of this module (for example "load") or
// of another. Tests may import anything. Like .golangci.yml, the rules are policy: discuss the design before you change
// them.
type houseRule struct {
	in     string
	except []string // exceptions: folders below in, or imports
	not    []string
}

const engine, sqlPackage = "github.com/duckdb", "database/sql"

var houseRules = []houseRule{
	{in: "schema", except: []string{"schema/schematest"},
		not: []string{"extract", "transform", "load", "queries", "cmd", "net/http", "os", sqlPackage, engine}},
	{in: "extract", except: []string{"extract/adsim"},
		not: []string{"transform", "load", "queries", "cmd", "extract/adsim",
			"github.com/apache/arrow", "github.com/parquet-go", engine, sqlPackage}},
	// The simulated service imports no other package of this module, so that a mistake of the client is not repeated in
	// the service.
	{in: "extract/adsim", except: []string{"extract/adsim"},
		not: []string{"schema", "extract", "transform", "load", "queries",
			"cmd", engine, sqlPackage}},
	{in: "transform",
		not: []string{"load", "queries", "cmd", "extract/adsim", "net/http", "os", sqlPackage, engine}},
	// Package load depends on neither the service nor the questions. The exception is the guard of outgoing requests,
	// which buckets also use.
	{in: "load", except: []string{"extract/outbound"},
		not: []string{"extract", "transform", "queries",
			"cmd"}},
	{in: "load", except: []string{"load/duck"}, not: []string{sqlPackage, engine}},
	{in: "load/durable",
		not: []string{"schema", "load/manifest", "load/duck", "net/http", "github.com/apache/arrow",
			"github.com/parquet-go"}},
	{in: "load/history", except: []string{"load/durable"},
		not: []string{"load", "os", "net/http", "github.com/apache/arrow",
			"github.com/parquet-go"}},
	{in: "load/manifest", not: []string{"load/duck", "load/commit", "load/remote", "net/http", "os"}},
	{in: "load/parquet", except: []string{"load/durable"}, not: []string{"load", "net/http"}},
	{in: "load/duck", not: []string{"load/commit", "load/remote", "net/http"}},
	{in: "load/remote", not: []string{"github.com/apache/arrow", "github.com/parquet-go"}},
	{in: "cmd/spendsync-lake", not: []string{"load/duck", "load/remote", "load/commit"}},
	{in: "queries",
		not: []string{"schema", "extract", "transform", "load", "cmd", sqlPackage,
			engine}},
	{in: "cmd/internal",
		not: []string{"transform", "load/duck", "load/manifest", "load/remote", "cmd/spendsync", sqlPackage,
			engine}},
	{in: "cmd", except: []string{"cmd/bench"}, not: []string{sqlPackage, engine}},
	// The logic of a run does not use a terminal, files or metrics directly.
	{in: "cmd/spendsync/job", except: []string{"cmd/spendsync/payouts"},
		not: []string{"cmd/spendsync", "load/duck", "load/remote",
			"queries", "net/http", "os", "github.com/spf13", "github.com/prometheus"}},
	{in: "cmd/spendsync/page", not: []string{"load", "extract", "transform", "net/http", "os"}},
	{in: "cmd/spendsync/answer", not: []string{"extract", "net/http", "os"}},
	{in: "cmd/spendsync/deploy", not: []string{"load", "extract", "net/http", "os"}},
}

// TestHouse_ImportsFollowThePolicy parses every file of the module except tests, and checks its imports against the
// policy.
func TestHouse_ImportsFollowThePolicy(t *testing.T) {
	used := map[string]bool{}
	err := eachImport(func(file, pkg, imported string) {
		for _, r := range houseRules {
			if !isIn(pkg, r.in) {
				continue
			}
			used[r.in] = true
			free := slices.ContainsFunc(r.except, func(e string) bool {
				return isIn(imported, e) || e != r.in && isIn(pkg, e)
			})
			for _, not := range r.not {
				if !free && isIn(imported, not) && !isIn(imported, pkg) {
					t.Errorf("%s imports %s, which packages in %s must not know", file, imported, r.in)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range houseRules {
		if !used[r.in] {
			t.Errorf("no package is in %s", r.in)
		}
	}
}

// isIn reports whether a package is in a folder or below it.
func isIn(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// eachImport calls a function for each import in each file of the module except tests. Paths of this module are given
// without the module's name.
func eachImport(do func(file, pkg, imported string)) error {
	root := filepath.Join("..", "..")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			do(path, filepath.ToSlash(pkg), strings.TrimPrefix(imported, "spendsync/"))
		}
		return err
	})
}

// TestHouse_BinariesLinkWhatTheyUse: only spendsync-lake links Iceberg, and only spendsync links DuckDB, which needs a
// C++ compiler.
func TestHouse_BinariesLinkWhatTheyUse(t *testing.T) {
	for binary, unused := range map[string][]string{
		"spendsync":      {"spendsync/cmd/spendsync-lake/lake", "github.com/apache/iceberg-go"},
		"spendsync-lake": {"spendsync/load/duck", engine},
	} {
		list := exec.Command("go", "list", "-deps", ".")
		list.Dir = filepath.Join("..", binary) // spendsync-lake is a separate module
		deps, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(deps), "spendsync/load/manifest\n") {
			t.Fatalf("not a list of packages: %.200s", deps)
		}
		for dep := range strings.Lines(string(deps)) {
			for _, not := range unused {
				if strings.HasPrefix(dep, not) {
					t.Errorf("%s is built with %s", binary, dep)
				}
			}
		}
	}
}

// TestHouse_TopLevelIsFixed checks the names at the top level of the repository, which the user of this project fixed.
func TestHouse_TopLevelIsFixed(t *testing.T) {
	allowed := []string{"cmd", "extract", "transform", "load", "schema", "queries", "testdata", "go.mod", "go.sum",
		"Dockerfile", "README.md",
		"data", "demo-data"} // the last two are made by our own commands, and ignored by git
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s stands at the top level", e.Name())
		}
	}
}

// TestHouse_UsesTheUsersPackages checks that the code really uses the five packages that the user of this project
// chose.
func TestHouse_UsesTheUsersPackages(t *testing.T) {
	want := map[string]bool{
		"github.com/apache/arrow/go/v17": false, "github.com/duckdb/duckdb-go/v2": false,
		"github.com/parquet-go/parquet-go":  false,
		"github.com/sethvargo/go-envconfig": false, "golang.org/x/sync/errgroup": false,
	}
	err := eachImport(func(_, _, imported string) {
		for p := range want {
			want[p] = want[p] || isIn(imported, p)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, used := range want {
		if !used {
			t.Errorf("%s is not used", p)
		}
	}
}
