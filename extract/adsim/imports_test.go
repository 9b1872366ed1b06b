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
// else of this module outside its own rooms, out of the service that checks them.
func TestImports_NothingOfThisModule(t *testing.T) {
	rooms, err1 := filepath.Glob("*/*.go")
	files, err2 := filepath.Glob("*.go")
	if files = append(files, rooms...); err1 != nil || err2 != nil || len(rooms) < 20 {
		t.Fatalf("%d files, %v, %v", len(files), err1, err2)
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
			own := path == "spendsync/extract/adsim" || strings.HasPrefix(path, "spendsync/extract/adsim/")
			if first == "spendsync" && !own || strings.Contains(first, ".") && !allowedImports[path] {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
