// Command mutate breaks the code of packages in small ways and reports which breaks no
// test notices.
//
//	go run .ci/mutation/mutate.go [-files REGEXP] [-with PACKAGE,...] PACKAGE...
//
// All mutants of a package are compiled into one test binary, each behind a condition on
// an environment variable, so that the compiler and the linker run once. A first pass
// runs each test by itself and records the mutants that it reaches; then each mutant is
// switched on for the tests that reach it, the fastest first, until one fails. The tests
// of the packages in -with have a try at the survivors.
//
// .ci/mutation/ignore lists mutants that no test can or should notice, with the reason.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const ignoreFile = ".ci/mutation/ignore"

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

func main() {
	files := flag.String("files", "", "mutate only files whose name matches")
	with := flag.String("with", "", "packages whose tests run on the survivors, comma-separated")
	flag.Parse()
	ignored, err := readIgnored()
	if err == nil {
		err = mutateAll(flag.Args(), regexp.MustCompile(*files), strings.Split(*with, ","), ignored)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func mutateAll(packages []string, files *regexp.Regexp, with []string, ignored map[string]bool) error {
	for _, pkg := range packages {
		work, err := os.MkdirTemp("", "mutants-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		mutants, err := mutantsOf(pkg, files)
		if err != nil {
			return err
		}
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return ignored[m.name] })
		left, total := mutants, 0
		for i, tests := range append([]string{pkg}, with...) {
			if tests == "" || len(left) == 0 || tests == pkg && i > 0 {
				continue
			}
			compiled, survivors, err := survive(work, tests, pkg, mutants, left)
			if err != nil {
				return fmt.Errorf("%s by the tests of %s: %w", pkg, tests, err)
			}
			if total == 0 {
				total = compiled
			}
			left = survivors
		}
		killed := total - len(left)
		fmt.Printf("%s: %d of %d mutants killed, %.1f %%; survivors:\n", pkg, killed, total,
			100*float64(killed)/float64(max(total, 1)))
		for _, m := range left {
			fmt.Printf("\t%s\t(line %d)\n", m.name, m.line)
		}
	}
	return nil
}

// readIgnored reads the names of the mutants that are listed with a reason: one a line,
// NAME  # REASON.
func readIgnored() (map[string]bool, error) {
	b, err := os.ReadFile(ignoreFile)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	ignored := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "  # ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if !ok || reason == "" {
			return nil, fmt.Errorf("%s: no reason in %q", ignoreFile, line)
		}
		ignored[strings.TrimSpace(name)] = true
	}
	return ignored, err
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

// other gives the operators that take the place of one.
var other = map[token.Token][]token.Token{
	token.LAND: {token.LOR}, token.LOR: {token.LAND}, token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS}, token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO},
	token.QUO: {token.MUL},
}

// breakBody adds the mutants of a function's body: operators, conditions that are
// negated, and calls and assignments that are left out.
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
			if _, ok := n.X.(*ast.CallExpr); ok {
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

// guarded is the source of a file with all its mutants, each behind its condition.
func guarded(path string, mutants []mutant) ([]byte, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rewrite func(from, to int, inner []mutant) string
	rewrite = func(from, to int, inner []mutant) string {
		var b strings.Builder
		for at := from; at < to; {
			// The outermost code that begins next; several mutants may break the same code.
			i := slices.IndexFunc(inner, func(m mutant) bool { return m.from >= at && m.to <= to })
			if i < 0 {
				b.Write(src[at:to])
				break
			}
			first := inner[i]
			b.Write(src[at:first.from])
			var here, deeper []mutant
			for _, m := range inner[i:] {
				switch {
				case m.from == first.from && m.to == first.to && m.statement == first.statement:
					here = append(here, m)
				case m.from >= first.from && m.to <= first.to:
					deeper = append(deeper, m)
				}
			}
			code := rewrite(first.from, first.to, deeper)
			for _, m := range here {
				switch {
				case m.statement:
					code = fmt.Sprintf("if !mutant__(%d) { %s }", m.id, code)
				case arithmetic(m):
					code = fmt.Sprintf("mutate__(%d, %s, %s)", m.id, undivided(m.mutated), code)
				default:
					code = fmt.Sprintf("(mutant__(%d) && (%s) || !mutant__(%d) && (%s))", m.id, m.mutated, m.id, code)
				}
			}
			b.WriteString(code)
			at = first.to
		}
		return b.String()
	}
	inner := slices.SortedFunc(slices.Values(mutants), func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.id, b.id))
	})
	return []byte(rewrite(0, len(src), inner)), nil
}

// arithmetic reports whether the broken code has a number as its value.
func arithmetic(m mutant) bool {
	e, err := parser.ParseExpr(m.mutated)
	b, ok := e.(*ast.BinaryExpr)
	return err == nil && ok && slices.Contains([]token.Token{token.ADD, token.SUB, token.MUL, token.QUO}, b.Op)
}

// undivided is broken code that can be evaluated whatever its divisor: the arguments of
// mutate__ are, whether or not the mutant is switched on.
func undivided(code string) string {
	e, _ := parser.ParseExpr(code)
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.QUO {
		return code
	}
	if _, literal := b.Y.(*ast.BasicLit); literal {
		return code
	}
	at := b.Y.Pos() - 1
	return code[:at] + "nonzero__(" + code[at:] + ")"
}

const switchboard = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var active__, _ = strconv.Atoi(os.Getenv("MUTANT"))
var reached__ [%d]atomic.Bool // no map: tests count allocations
var record__, _ = os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_WRONLY|os.O_APPEND, 0)

func mutant__(id int) bool {
	if record__ != nil && !reached__[id].Swap(true) {
		record__.WriteString(strconv.Itoa(id) + "\n")
	}
	return active__ == id
}

func mutate__[T any](id int, mutated, code T) T {
	if mutant__(id) {
		return mutated
	}
	return code
}

func nonzero__[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float64](
	divisor T,
) T {
	if divisor == 0 {
		return 1
	}
	return divisor
}
`

// position is that of a compiler's error, which has no column far out on a long line.
var position = regexp.MustCompile(`(?m)^(\S+?\.go):(\d+):(?:\d+:)? (.*)`)

// build compiles the tests with the mutants of a package in it. Mutants that do not
// compile are left out: an operator that a type lacks, a variable that nothing else uses.
func build(work, tests, pkg string, mutants []mutant) (binary string, compiled []mutant, err error) {
	binary = filepath.Join(work, strings.ReplaceAll(strings.Trim(tests, "./"), "/", "_")+".test")
	for range 60 {
		byFile := map[string][]mutant{}
		highest := 0
		for _, m := range mutants {
			highest = max(highest, m.id)
			byFile[m.file] = append(byFile[m.file], m)
		}
		overlay := map[string]string{}
		name := ""
		for path, list := range byFile {
			text, err := guarded(path, list)
			if err != nil {
				return "", nil, err
			}
			if name == "" {
				name = regexp.MustCompile(`(?m)^package (\w+)`).FindStringSubmatch(string(text))[1]
			}
			if overlay[path], err = put(work, filepath.Base(path), text); err != nil {
				return "", nil, err
			}
		}
		board := filepath.Join(pkg, "mutants__.go")
		if overlay[board], err = put(work, "mutants__.go", fmt.Appendf(nil, switchboard, name, highest+1)); err != nil {
			return "", nil, err
		}
		list, _ := json.Marshal(map[string]any{"Replace": absolute(overlay)})
		overlayFile, err := put(work, "overlay.json", list)
		if err != nil {
			return "", nil, err
		}
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlayFile, "-o", binary,
			"./"+tests).CombinedOutput()
		if err == nil {
			return binary, mutants, nil
		}
		kept := withoutBroken(mutants, overlay, string(out))
		if len(kept) == len(mutants) {
			return "", nil, fmt.Errorf("%s", out)
		}
		mutants = kept
	}
	return "", nil, errors.New("the mutants do not compile")
}

func absolute(overlay map[string]string) map[string]string {
	abs := map[string]string{}
	for path, with := range overlay {
		full, _ := filepath.Abs(path)
		abs[full] = with
	}
	return abs
}

func put(work, name string, text []byte) (string, error) {
	path := filepath.Join(work, name)
	return path, os.WriteFile(path, text, 0o600)
}

// withoutBroken drops the mutants that the compiler's errors name, or all on the lines of
// the errors that name none.
func withoutBroken(mutants []mutant, overlay map[string]string, errs string) []mutant {
	dropped := map[int]bool{}
	ids := regexp.MustCompile(`muta(?:nt|te)__\((\d+)`)
	for _, at := range position.FindAllStringSubmatch(errs, -1) {
		path, line := filepath.Clean(at[1]), at[2]
		if named := ids.FindAllStringSubmatch(at[3], -1); len(named) > 0 {
			for _, id := range named {
				k, _ := strconv.Atoi(id[1])
				dropped[k] = true
			}
			continue
		}
		for real, with := range overlay {
			if path != with && path != real && filepath.Base(path) != filepath.Base(real) {
				continue
			}
			text, _ := os.ReadFile(with)
			n, _ := strconv.Atoi(line)
			lines := bytes.Split(text, []byte("\n"))
			// A condition that spans lines begins on an earlier one.
			for back := 0; back < 6 && n-1-back >= 0 && n-1-back < len(lines); back++ {
				found := ids.FindAllSubmatch(lines[n-1-back], -1)
				for _, id := range found {
					k, _ := strconv.Atoi(string(id[1]))
					dropped[k] = true
				}
				if len(found) > 0 {
					break
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return dropped[m.id] })
}

// survive returns those of the mutants in left that the tests do not notice, and how many
// of all compile.
func survive(work, tests, pkg string, all, left []mutant) (compiled int, survivors []mutant, err error) {
	binary, mutants, err := build(work, tests, pkg, all)
	if err != nil {
		return 0, nil, err
	}
	candidates := map[int]bool{}
	for _, m := range left {
		candidates[m.id] = true
	}
	names, err := exec.Command(binary, "-test.list", "^(Test|Example|Fuzz)").Output()
	if err != nil {
		return 0, nil, err
	}
	reaches, err := reached(work, binary, tests, strings.Fields(string(names)))
	if err != nil {
		return 0, nil, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, runtime.NumCPU()))
	for _, m := range mutants {
		if !candidates[m.id] {
			continue
		}
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; wg.Done() }()
			if !isKilled(binary, tests, m.id, reaches[m.id]) {
				mu.Lock()
				fmt.Fprintf(os.Stderr, "survives so far: %s (line %d)\n", m.name, m.line)
				survivors = append(survivors, m)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	slices.SortFunc(survivors, func(a, b mutant) int { return cmp.Compare(a.id, b.id) })
	return len(mutants), survivors, nil
}

// timed is a test with the time that it takes when nothing is broken.
type timed struct {
	name string
	took time.Duration
}

// reached runs each test by itself and returns, by mutant, the tests that reach it, the
// fastest first.
func reached(work, binary, dir string, names []string) (map[int][]timed, error) {
	by := map[int][]timed{}
	for _, name := range names {
		record, err := put(work, "reached", nil)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if out, err := runTest(binary, dir, name, 10*time.Minute, "MUTANTS_REACHED="+record); err != nil {
			return nil, fmt.Errorf("%s fails when nothing is broken: %s", name, out)
		}
		took := time.Since(began)
		text, err := os.ReadFile(record)
		if err != nil {
			return nil, err
		}
		ids := map[int]bool{}
		for _, f := range strings.Fields(string(text)) {
			id, _ := strconv.Atoi(f)
			ids[id] = true
		}
		for id := range maps.Keys(ids) {
			by[id] = append(by[id], timed{name, took})
		}
	}
	for _, tests := range by {
		slices.SortFunc(tests, func(a, b timed) int { return cmp.Compare(a.took, b.took) })
	}
	return by, nil
}

func isKilled(binary, dir string, id int, tests []timed) bool {
	for _, t := range tests {
		if _, err := runTest(binary, dir, t.name, 10*t.took+10*time.Second, fmt.Sprintf("MUTANT=%d", id)); err != nil {
			return true
		}
	}
	return false
}

func runTest(binary, dir, name string, limit time.Duration, env string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^"+regexp.QuoteMeta(name)+"$", "-test.short")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env)
	return cmd.CombinedOutput()
}
