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

// house says which packages of ours a package may import, and which of others it
// must not know. It is a statement of policy: changing it is a design talk.
var house = map[string]struct{ may, not []string }{
	".ci/mutation": {},
	"schema": {
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"schema/schematest": {may: []string{"schema"}},
	"extract": {
		may: []string{"schema", "extract/openapi", "extract/outbound", "extract/redact", "extract/service",
			"extract/template"},
		not: []string{"github.com/apache/arrow", "github.com/parquet-go", "github.com/duckdb", "database/sql"},
	},
	// The simulated service imports nothing of this module outside its own tree.
	"extract/adsim": {
		may: []string{"extract/adsim/advertiser", "extract/adsim/clock", "extract/adsim/config",
			"extract/adsim/fetch", "extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/push",
			"extract/adsim/report", "extract/adsim/variations", "extract/adsim/wire", "extract/adsim/world"},
	},
	"extract/adsim/advertiser": {
		may: []string{"extract/adsim/chance", "extract/adsim/config", "extract/adsim/fetch",
			"extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/market", "extract/adsim/wire",
			"extract/adsim/world"},
		not: []string{"os"},
	},
	"extract/adsim/chance": {
		not: []string{"net/http", "os"},
	},
	"extract/adsim/clock": {
		not: []string{"net/http", "os"},
	},
	"extract/adsim/config": {
		may: []string{"extract/adsim/chance"},
		not: []string{"net/http", "os"},
	},
	"extract/adsim/fetch": {
		not: []string{"os"},
	},
	"extract/adsim/jsontext": {
		may: []string{"extract/adsim/chance"},
		not: []string{"net/http", "os"},
	},
	"extract/adsim/ledger": {
		may: []string{"extract/adsim/chance", "extract/adsim/clock", "extract/adsim/config",
			"extract/adsim/jsontext", "extract/adsim/market", "extract/adsim/memo"},
		not: []string{"net/http", "os"},
	},
	"extract/adsim/market": {
		may: []string{"extract/adsim/chance", "extract/adsim/clock", "extract/adsim/config",
			"extract/adsim/jsontext", "extract/adsim/memo"},
		not: []string{"net/http", "os"},
	},
	"extract/adsim/memo": {
		not: []string{"net/http", "os"},
	},
	"extract/adsim/push": {
		may: []string{"extract/adsim/chance", "extract/adsim/config", "extract/adsim/fetch",
			"extract/adsim/jsontext", "extract/adsim/wire", "extract/adsim/world"},
		not: []string{"os"},
	},
	"extract/adsim/recorded": {
		not: []string{"os"},
	},
	"extract/adsim/report": {
		may: []string{"extract/adsim/chance", "extract/adsim/clock", "extract/adsim/config",
			"extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/market", "extract/adsim/memo",
			"extract/adsim/wire", "extract/adsim/world"},
		not: []string{"os"},
	},
	"extract/adsim/tools": {
		may: []string{"extract/adsim/advertiser", "extract/adsim/chance", "extract/adsim/config",
			"extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/wire", "extract/adsim/world"},
		not: []string{"os"},
	},
	"extract/adsim/variations": {
		may: []string{"extract/adsim/advertiser", "extract/adsim/chance", "extract/adsim/clock",
			"extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/report", "extract/adsim/wire"},
		not: []string{"os"},
	},
	"extract/adsim/wire": {
		may: []string{"extract/adsim/clock", "extract/adsim/jsontext"},
		not: []string{"os"},
	},
	"extract/adsim/world": {
		may: []string{"extract/adsim/chance", "extract/adsim/clock", "extract/adsim/config",
			"extract/adsim/jsontext", "extract/adsim/ledger", "extract/adsim/market"},
		not: []string{"net/http"},
	},
	"extract/openapi": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"extract/outbound": {
		not: []string{"os", "database/sql"},
	},
	"extract/redact": {
		not: []string{"os", "database/sql"},
	},
	"extract/service": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"extract/template": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"transform": {
		may: []string{"schema", "extract", "extract/service"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"load": {
		may: []string{"schema", "load/manifest", "load/commit", "load/duck", "load/durable", "load/history",
			"load/parquet", "load/quarantine", "load/settingslog"},
		not: []string{"net/http", "database/sql", "github.com/duckdb"},
	},
	"load/manifest": {
		may: []string{"schema", "load/duck", "load/durable", "load/history", "load/parquet"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"load/commit": {
		may: []string{"schema", "load/manifest", "load/duck", "load/durable"},
		not: []string{"net/http", "database/sql", "github.com/duckdb"},
	},
	"load/duck": {
		may: []string{"schema", "load/duck/caveat", "load/durable", "load/history", "load/parquet"},
		not: []string{"net/http"},
	},
	"load/duck/caveat": {
		may: []string{"schema"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"load/duck/oldengine": {may: []string{"extract/adsim"}}, // a test alone
	"load/durable": {
		not: []string{"net/http", "database/sql", "github.com/apache/arrow", "github.com/parquet-go",
			"github.com/duckdb"},
	},
	"load/history": {
		may: []string{"schema", "load/durable"}, // the word for what is damaged
		not: []string{"net/http", "os", "database/sql", "github.com/apache/arrow", "github.com/parquet-go",
			"github.com/duckdb"},
	},
	"load/clouds": {
		may: []string{"extract/outbound"},
		not: []string{"database/sql", "github.com/duckdb", "github.com/apache"},
	},
	"load/lake": {
		may: []string{"schema", "extract/outbound", "load/clouds", "load/durable", "load/manifest"},
		not: []string{"database/sql", "github.com/duckdb", "github.com/apache/arrow"},
	},
	"load/lake/inbox": {
		may: []string{"schema", "load/durable", "load/lake", "load/manifest"},
		not: []string{"net/http", "database/sql", "github.com/duckdb", "github.com/apache/arrow",
			"github.com/apache/iceberg-go"},
	},
	"load/lake/laketest": {may: []string{"schema", "load/lake/resttest", "load/manifest", "load/parquet"}},
	"load/lake/resttest": {
		not: []string{"os", "database/sql"},
	},
	"load/loadtest": {may: []string{"load/duck", "load/durable"}},
	"load/parquet": {
		may: []string{"schema", "load/durable"},
		not: []string{"net/http", "database/sql", "github.com/duckdb"},
	},
	"load/quarantine": {
		may: []string{"schema", "load/manifest", "load/durable"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"load/remote": {
		may: []string{"schema", "extract/outbound", "load", "load/clouds", "load/duck", "load/durable",
			"load/manifest"},
		not: []string{"database/sql", "github.com/duckdb", "github.com/apache/arrow", "github.com/parquet-go"},
	},
	"load/settingslog": {
		may: []string{"schema", "load/manifest", "load/durable"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"queries": {
		not: []string{"database/sql", "github.com/duckdb"},
	},
	"queries/market": {
		may: []string{"schema", "queries"},
		not: []string{"net/http", "os"},
	},
	"cmd/internal/bom": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/internal/config": {
		may: []string{"extract", "extract/outbound", "extract/service", "schema", "queries",
			"cmd/internal/exit", "cmd/internal/files", "cmd/internal/nearest"},
		not: []string{"database/sql", "github.com/duckdb"},
	},
	"cmd/internal/crash": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/internal/exit": {
		may: []string{"extract", "load/durable"},
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/internal/files": {
		may: []string{"load/durable", "cmd/internal/exit"},
		not: []string{"net/http", "database/sql"},
	},
	"cmd/internal/nearest": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/internal/output": {
		may: []string{"load/durable", "cmd/internal/exit", "cmd/internal/wrap"},
		not: []string{"net/http", "database/sql"},
	},
	"cmd/internal/wrap": {
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/spendsync": { // and every package below it
		may: []string{"schema", "extract", "extract/adsim", "extract/outbound", "transform", "load", "load/commit",
			"load/duck", "load/duck/caveat", "load/durable", "load/history", "load/manifest", "load/parquet",
			"load/remote",
			"queries", "cmd/internal/bom", "cmd/internal/config", "cmd/internal/crash", "cmd/internal/exit",
			"cmd/internal/files", "cmd/internal/nearest", "cmd/internal/output", "cmd/internal/wrap"},
	},
	"cmd/spendsync/answer": {
		may: []string{"schema", "load", "load/duck", "queries", "cmd/internal/exit", "cmd/internal/nearest",
			"cmd/internal/output", "cmd/internal/wrap", "cmd/spendsync/phrase"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/assistant": {
		may: []string{"schema", "load/duck", "queries", "cmd/spendsync/answer", "cmd/spendsync/phrase"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/check": {
		may: []string{"schema", "extract", "transform", "load", "load/commit", "load/durable", "load/manifest",
			"cmd/internal/config",
			"cmd/internal/exit", "cmd/spendsync/explain", "cmd/spendsync/job", "cmd/spendsync/payouts",
			"cmd/spendsync/phrase", "cmd/spendsync/record"},
		not: []string{"net/http", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/record": {
		may: []string{"schema", "extract", "extract/adsim/recorded", "extract/outbound", "extract/service",
			"transform", "cmd/internal/config"},
		not: []string{"os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/deploy": {
		may: []string{"schema"},
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/spendsync/explain": {
		may: []string{"extract", "load/durable", "load/remote", "cmd/internal/config", "cmd/internal/exit",
			"cmd/internal/wrap", "cmd/spendsync/job", "cmd/spendsync/phrase"},
		not: []string{"os", "database/sql", "github.com/spf13"},
	},
	"cmd/spendsync/job": {
		may: []string{"schema", "extract", "extract/service", "transform", "load", "load/durable", "load/history",
			"load/manifest",
			"load/quarantine", "load/settingslog", "cmd/internal/exit", "cmd/spendsync/phrase"},
		not: []string{"net/http", "os", "database/sql", "github.com/spf13", "github.com/prometheus",
			"go.opentelemetry.io"},
	},
	"cmd/spendsync/notice": {
		may: []string{"extract/outbound", "load/durable", "cmd/internal/config", "cmd/spendsync/phrase"},
		not: []string{"os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/page": {
		may: []string{"schema"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/pagedata": {
		may: []string{"schema", "load", "load/durable", "load/duck", "load/manifest", "cmd/internal/exit",
			"cmd/spendsync/page"},
		not: []string{"net/http", "os", "database/sql", "github.com/duckdb"},
	},
	"cmd/spendsync/payouts": {
		may: []string{"schema", "cmd/internal/files"},
		not: []string{"net/http", "database/sql", "github.com/apache/arrow", "github.com/duckdb"},
	},
	"cmd/spendsync/shop": {
		may: []string{"schema", "extract/adsim"},
		not: []string{"os", "database/sql"},
	},
	"cmd/spendsync/phrase": {
		may: []string{"schema", "cmd/internal/wrap"},
		not: []string{"net/http", "os", "database/sql"},
	},
	"cmd/adsim": {
		may: []string{"extract/adsim", "extract/adsim/recorded", "extract/adsim/tools"},
	},
	"cmd/spendsync-lake": {
		may: []string{"schema", "load/clouds", "load/durable", "load/manifest", "load/lake", "load/lake/inbox",
			"load/lake/resttest", "cmd/internal/bom",
			"cmd/internal/config", "cmd/internal/crash", "cmd/internal/exit", "cmd/internal/files",
			"cmd/internal/output"},
		not: []string{"database/sql", "github.com/duckdb"},
	},
	"cmd/bench": {
		may: []string{"schema", "extract", "transform", "load", "load/history"},
	},
}

// TestHouse_ImportsFollowThePolicy parses every file of the module, tests left
// out, and holds its imports against the policy.
func TestHouse_ImportsFollowThePolicy(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		rules, ok := house[pkg]
		if !ok {
			t.Errorf("%s: package %s has no place in the house", path, pkg)
			return nil
		}
		seen[pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(imported, "spendsync/"); ok && !slices.Contains(rules.may, ours) &&
				!isBelowMain(pkg, ours) {
				t.Errorf("%s imports %s: %s may import %v", path, ours, pkg, rules.may)
			}
			for _, not := range rules.not {
				if imported == not || strings.HasPrefix(imported, not+"/") {
					t.Errorf("%s imports %s, of which %s must not know", path, imported, pkg)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range house {
		if !seen[pkg] {
			t.Errorf("package %s of the policy is not there", pkg)
		}
	}
}

// TestHouse_SpendsyncKnowsNoLake: Iceberg is in the other binary. Buckets are in this one, for 'push' and
// 'pull': one binary for people.
func TestHouse_SpendsyncKnowsNoLake(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", "spendsync/cmd/spendsync").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(deps), "spendsync/load/manifest\n") {
		t.Fatalf("not a list of packages: %.200s", deps)
	}
	for dep := range strings.Lines(string(deps)) {
		for _, not := range []string{"spendsync/load/lake", "github.com/apache/iceberg-go"} {
			if strings.HasPrefix(dep, not) {
				t.Errorf("spendsync is built with %s", dep)
			}
		}
	}
}

// isBelowMain reports whether the command line imports a package of its own.
func isBelowMain(pkg, imported string) bool {
	return pkg == "cmd/spendsync" && strings.HasPrefix(imported, pkg+"/")
}

// TestHouse_TopLevelIsFixed holds the names that the user fixed.
func TestHouse_TopLevelIsFixed(t *testing.T) {
	allowed := []string{"cmd", "extract", "transform", "load", "schema", "queries", "testdata", "go.mod", "go.sum",
		"Dockerfile", "README.md",
		"data", "demo-data"} // the last two are what our own commands make, and git ignores
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

// TestHouse_UsesTheUsersPackages holds that the five packages that the user chose
// are used for real, not only named.
func TestHouse_UsesTheUsersPackages(t *testing.T) {
	want := map[string]bool{
		"github.com/apache/arrow/go/v17": false, "github.com/duckdb/duckdb-go/v2": false,
		"github.com/parquet-go/parquet-go":  false,
		"github.com/sethvargo/go-envconfig": false, "golang.org/x/sync/errgroup": false,
	}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for p := range want {
				if imported == p || strings.HasPrefix(imported, p+"/") {
					want[p] = true
				}
			}
		}
		return nil
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
