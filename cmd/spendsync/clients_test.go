package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clientMakers maps each library that makes its own HTTP client by default to the files that give our client to the
// library. The tests of extract/outbound, load/remote and the lake test the clients themselves.
var clientMakers = map[string][]string{
	"github.com/prometheus/client_golang/prometheus/push": {"cmd/spendsync/metrics/"},
	"github.com/minio":                              {"load/remote/"},
	"github.com/apache/iceberg-go/catalog/rest":     {"cmd/spendsync-lake/lake/"},
	"github.com/aws/aws-sdk-go-v2":                  {"cmd/spendsync-lake/lake/"},
	"github.com/apache/iceberg-go/io/gocloud":       {"cmd/spendsync-lake/lake/"},
	"golang.org/x/oauth2":                           {"cmd/spendsync-lake/lake/"},
	"google.golang.org/api":                         nil,
	"gocloud.dev":                                   {"cmd/spendsync-lake/lake/"},
	"gocloud.dev/gcp":                               nil,
	"go.opentelemetry.io":                           nil,
	"github.com/hashicorp":                          nil,
	"cloud.google.com/go":                           nil,
	"github.com/Azure":                              nil,
	"github.com/apache/iceberg-go/catalog/glue":     nil,
	"github.com/apache/iceberg-go/io/gocloud/azure": nil,
	"github.com/apache/iceberg-go/io/gocloud/gcs":   nil,
}

// simulated lists the packages of the simulated service, of the simulated lake and of the benchmark. Their requests
// contain no real secret.
var simulated = []string{"extract/adsim", "cmd/adsim", "cmd/bench", "cmd/spendsync-lake/lake/laketest"}

func isSimulated(pkg string) bool {
	return slices.ContainsFunc(simulated, func(s string) bool { return pkg == s || strings.HasPrefix(pkg, s+"/") })
}

// TestHouse_ClientsAreMadeInOnePlace: only extract/outbound makes HTTP clients and transports. A library that makes its
// own client by default is only used in files that give our client to it.
func TestHouse_ClientsAreMadeInOnePlace(t *testing.T) {
	made := 0
	goFiles(t, func(pkg, path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || isSimulated(pkg) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours := strings.TrimPrefix(path, "../../")
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			for maker, in := range clientMakers {
				isOne := imported == maker || strings.HasPrefix(imported, maker+"/")
				if isOne && !slices.ContainsFunc(in, func(f string) bool { return strings.HasPrefix(ours, f) }) &&
					!strings.HasSuffix(imported, "/types") {
					t.Errorf("%s imports %s, which makes HTTP clients of its own", ours, imported)
				}
			}
			if imported == "net/http" && spec.Name != nil {
				t.Errorf("%s imports net/http by another name", ours)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := clientIn(n); what != "" {
				if made++; pkg != "extract/outbound" {
					t.Errorf("%s makes or uses a client that is not of extract/outbound: %s", ours, what)
				}
			}
			return true
		})
	})
	if made == 0 {
		t.Error("extract/outbound makes no client either: this test looks for the wrong thing")
	}
}

// clientIn returns the name of the client or transport of net/http that a node makes or uses, or "" if there is none.
func clientIn(n ast.Node) string {
	name := func(e ast.Node) string {
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "http" {
				return s.Sel.Name
			}
		}
		return ""
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		if s := name(n.Type); s == "Client" || s == "Transport" {
			return s
		}
	case *ast.ValueSpec:
		if s := name(n.Type); s == "Client" || s == "Transport" {
			return s
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 {
			if s := name(n.Args[0]); s == "Client" || s == "Transport" {
				return s
			}
		}
	case *ast.SelectorExpr:
		if s := name(n); slices.Contains([]string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post",
			"PostForm"}, s) {
			return s
		}
	}
	return ""
}
