package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is one small break. Its name is stable while the line it breaks stays the same.
type mutant struct {
	id        int
	name      string // FILE FUNCTION: CODE => BROKEN CODE
	file      string
	line      int
	from, to  int    // byte offsets of the broken code in the file
	mutated   string // the code that takes its place
	statement bool   // the code is a statement that is left out
}

// mutantsOf lists the mutants of the package's files, tests left out.
func mutantsOf(pkg string, only *regexp.Regexp) (mutants []mutant, err error) {
	paths, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	seen := map[string]int{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || !only.MatchString(filepath.Base(path)) {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			add := func(n ast.Node, mutated string, statement bool) {
				from, to := fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
				name := oneLine(fmt.Sprintf("%s %s: %s => %s", path, f.Name.Name, src[from:to], mutated))
				if seen[name]++; seen[name] > 1 {
					name += fmt.Sprintf(" (%d)", seen[name])
				}
				mutants = append(mutants, mutant{len(mutants) + 1, name, path, fset.Position(n.Pos()).Line, from, to,
					mutated, statement})
			}
			breakBody(f.Body, func(n ast.Node) string {
				return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
			}, add)
		}
	}
	return mutants, err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// breakBody adds the mutants of a function's body: operators, conditions that are
// negated, and calls and assignments that are left out. Lines of a log are left alone if they
// only inform.
func breakBody(body *ast.BlockStmt, text func(ast.Node) string, add func(n ast.Node, mutated string, statement bool)) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.BinaryExpr:
			for _, op := range other[n.Op] {
				add(n, text(n.X)+" "+op.String()+" "+text(n.Y), false)
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n, text(n.X), false)
			}
		case *ast.IfStmt:
			if _, binary := n.Cond.(*ast.BinaryExpr); !binary {
				if u, ok := n.Cond.(*ast.UnaryExpr); !ok || u.Op != token.NOT {
					add(n.Cond, "!("+text(n.Cond)+")", false)
				}
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if id, ok := r.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
					add(r, map[string]string{"true": "false", "false": "true"}[id.Name], false)
				}
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && !informs(call) {
				add(n, "", true)
			}
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN || n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
				add(n, "", true)
			}
		case *ast.IncDecStmt:
			add(n, "", true)
		}
		return true
	})
}

// informs reports whether a call is a line of a log about what goes well: no test holds its text.
func informs(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (s.Sel.Name == "Info" || s.Sel.Name == "Debug")
}

// other gives the operators that take the place of one.
var other = map[token.Token][]token.Token{
	token.LAND: {token.LOR}, token.LOR: {token.LAND}, token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS}, token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO},
	token.QUO: {token.MUL},
}
