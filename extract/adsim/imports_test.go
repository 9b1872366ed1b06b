package adsim

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// allowedImports are beyond the standard library: the official SDK of MCP serves the
// tools; the validator of OpenAPI is for tests.
var allowedImports = map[string]bool{
	"github.com/modelcontextprotocol/go-sdk/mcp":       true,
	"github.com/getkin/kin-openapi/openapi3":           true,
	"github.com/getkin/kin-openapi/openapi3filter":     true,
	"github.com/getkin/kin-openapi/routers":            true,
	"github.com/getkin/kin-openapi/routers/legacy":     true,
	"github.com/getkin/kin-openapi/routers/gorillamux": true,
}

// TestImports_NothingOfThisModule keeps the client's structs, and everything
// else of this module, out of the service that checks them.
func TestImports_NothingOfThisModule(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(path, "/")
			if first == "spendsync" || strings.Contains(first, ".") && !allowedImports[path] {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
