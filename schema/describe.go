package schema

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
)

// sources are the files with the row structs. The comment above a field is the
// description of its column, in the dictionary, in Parquet and in DuckDB.
//
//go:embed account.go calendar.go campaigns.go creatives.go history.go intraday.go mart.go ops.go payouts.go
//go:embed reading.go sources.go spend.go tracker.go trackerchange.go
var sources embed.FS

// descriptions maps each struct and field to the comment above the field, on one line.
var descriptions = readDescriptions(sources)

// readDescriptions collects the comments above the fields of all structs in some files.
func readDescriptions(files fs.FS) map[[2]string]string {
	comments := map[[2]string]string{}
	names, err := fs.Glob(files, "*.go")
	for _, name := range names {
		var text []byte
		var file *ast.File
		if text, err = fs.ReadFile(files, name); err == nil {
			mode := parser.ParseComments | parser.SkipObjectResolution
			file, err = parser.ParseFile(token.NewFileSet(), name, text, mode)
		}
		if err != nil {
			break
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if row, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range row.Fields.List {
					for _, ident := range field.Names {
						text := strings.Join(strings.Fields(field.Doc.Text()), " ")
						comments[[2]string{spec.Name.Name, ident.Name}] = text
					}
				}
			}
			return false
		})
	}
	if err != nil {
		panic(fmt.Sprintf("schema: the sources in this program: %v", err))
	}
	return comments
}

// describe returns the description of a field's column: the field's tag doc:"..." (only structs of other packages have
// it), else the comment above the field. A field of an embedded struct has its comment in that struct.
func describe(row reflect.Type, f reflect.StructField) string {
	if doc, ok := f.Tag.Lookup("doc"); ok {
		return doc
	}
	for _, i := range f.Index[:len(f.Index)-1] {
		row = row.Field(i).Type
	}
	return descriptions[[2]string{row.Name(), f.Name}]
}
