// Command mutate breaks the code of packages in small ways and reports which breaks no
// test notices.
//
//	go run .ci/mutation/mutate.go [-files REGEXP] [-with PACKAGE,...] [-again FILE] [-run REGEXP] [-most DURATION] \
//		PACKAGE...
//
// All mutants of a package are compiled into one test binary, each behind a condition on
// an environment variable, so that the compiler and the linker run once. A first pass
// runs each test by itself and records the mutants that it reaches; then each mutant is
// switched on for the tests that reach it, until one fails: first those that killed another
// mutant of the same function, then the fastest. The tests of the packages in -with have a
// try at the survivors.
//
// After new tests, -again measures only the mutants that an earlier output names, and -run
// only by some tests.
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
	again := flag.String("again", "", "mutate only what this file names, an earlier output")
	run := flag.String("run", "", "run only tests whose name matches")
	flag.DurationVar(&most, "most", most, "run tests of at most this length on a mutant")
	flag.Parse()
	ignored, err := readIgnored()
	if err == nil {
		err = mutateAll(flag.Args(), regexp.MustCompile(*files), regexp.MustCompile(*run), *again,
			strings.Split(*with, ","), ignored)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// most is the length of all tests that run on one mutant.
var most = 10 * time.Minute

func mutateAll(packages []string, files, run *regexp.Regexp, again string, with []string,
	ignored map[string]bool,
) error {
	earlier, err := readEarlier(again)
	if err != nil {
		return err
	}
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
		figures := map[string]*figure{}
		for _, m := range mutants {
			if figures[m.file] == nil {
				figures[m.file] = &figure{}
			}
			if ignored[m.name] {
				figures[m.file].ignored++
			}
		}
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
			return ignored[m.name] || earlier != nil && !earlier[m.name]
		})
		left, counted := mutants, false
		for i, tests := range append([]string{pkg}, with...) {
			if tests == "" || len(left) == 0 || tests == pkg && i > 0 {
				continue
			}
			if own, _ := filepath.Glob(filepath.Join(tests, "*_test.go")); len(own) == 0 {
				continue // its tests are those of another package
			}
			compiled, survivors, err := survive(work, tests, pkg, mutants, left, run)
			if err != nil {
				return fmt.Errorf("%s by the tests of %s: %w", pkg, tests, err)
			}
			for _, m := range compiled {
				if !counted {
					figures[m.file].all++
				}
			}
			left, counted = survivors, true
		}
		for _, m := range left {
			figures[m.file].survive++
		}
		var sum figure
		for _, file := range slices.Sorted(maps.Keys(figures)) {
			f := figures[file]
			fmt.Println(f.of(file))
			sum = figure{sum.all + f.all, sum.survive + f.survive, sum.ignored + f.ignored}
		}
		fmt.Println(sum.of(pkg) + "; survivors:")
		for _, m := range left {
			fmt.Printf("\t%s\t(line %d)\n", m.name, m.line)
		}
	}
	return nil
}

// figure counts the mutants of a file. Those that are ignored are not among all.
type figure struct{ all, survive, ignored int }

func (f figure) of(what string) string {
	killed := f.all - f.survive
	return fmt.Sprintf("%s: %d of %d mutants killed, %.1f %%, %d ignored", what, killed, f.all,
		100*float64(killed)/float64(max(f.all, 1)), f.ignored)
}

// readEarlier reads the names of the mutants in an earlier output; nil: there is none.
func readEarlier(path string) (map[string]bool, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	names := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		name := strings.TrimPrefix(line, "survives so far:")
		if i := strings.LastIndex(name, "(line "); i > 0 {
			name = name[:i]
		}
		names[strings.TrimSpace(name)] = true
	}
	return names, err
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

// survive returns those of the mutants in left that the tests do not notice, and all that compile.
func survive(work, tests, pkg string, all, left []mutant, run *regexp.Regexp) (compiled, survivors []mutant,
	err error) {
	binary, compiled, err := build(work, tests, pkg, all)
	if err != nil {
		return nil, nil, err
	}
	candidates := map[int]bool{}
	for _, m := range left {
		candidates[m.id] = true
	}
	list, err := exec.Command(binary, "-test.list", "^(Test|Example|Fuzz)").Output()
	if err != nil {
		return nil, nil, err
	}
	names := slices.DeleteFunc(strings.Fields(string(list)), func(name string) bool { return !run.MatchString(name) })
	reaches, err := reached(work, binary, tests, names)
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	killers := map[string]map[string]int{} // by function: how many of its mutants a test killed
	inParallel(len(compiled), func(i int) {
		m := compiled[i]
		if !candidates[m.id] {
			return
		}
		function, _, _ := strings.Cut(m.name, ":")
		mu.Lock()
		order := slices.Clone(reaches[m.id])
		slices.SortStableFunc(order, func(a, b timed) int {
			return cmp.Compare(min(killers[function][b.name], 1), min(killers[function][a.name], 1))
		})
		mu.Unlock()
		killer := killedBy(binary, tests, m.id, order)
		mu.Lock()
		defer mu.Unlock()
		if killer == "" {
			fmt.Fprintf(os.Stderr, "survives so far: %s (line %d)\n", m.name, m.line)
			survivors = append(survivors, m)
			return
		}
		if killers[function] == nil {
			killers[function] = map[string]int{}
		}
		killers[function][killer]++
	})
	slices.SortFunc(survivors, func(a, b mutant) int { return cmp.Compare(a.id, b.id) })
	return compiled, survivors, nil
}

// inParallel calls do for 0 to n-1, one call for each processor at a time.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}

// timed is a test with the time that it takes when nothing is broken.
type timed struct {
	name string
	took time.Duration
}

// reached runs each test by itself and returns, by mutant, the tests that reach it, the
// fastest first.
func reached(work, binary, dir string, names []string) (map[int][]timed, error) {
	var mu sync.Mutex
	var failed []error
	by := map[int][]timed{}
	inParallel(len(names), func(i int) {
		record, err := put(work, "reached-"+names[i], nil)
		began := time.Now()
		if err == nil {
			if out, failed := runTests(binary, dir, names[i:i+1], 10*time.Minute,
				"MUTANTS_REACHED="+record); failed != nil {
				err = fmt.Errorf("%s fails when nothing is broken: %s", names[i], out)
			}
		}
		took := time.Since(began)
		text, readErr := os.ReadFile(record)
		mu.Lock()
		defer mu.Unlock()
		if err = cmp.Or(err, readErr); err != nil {
			failed = append(failed, err)
			return
		}
		for _, f := range strings.Fields(string(text)) {
			id, _ := strconv.Atoi(f)
			by[id] = append(by[id], timed{names[i], took})
		}
	})
	for _, tests := range by {
		slices.SortFunc(tests, func(a, b timed) int { return cmp.Compare(a.took, b.took) })
	}
	return by, errors.Join(failed...)
}

// killedBy returns a test that fails with the mutant; empty: none does. The first tests run one by
// one, and the others in ever longer groups, each in one process.
func killedBy(binary, dir string, id int, tests []timed) string {
	var spent time.Duration
	for n := 1; len(tests) > 0 && spent < most; {
		n = min(n, len(tests))
		var names []string
		var took time.Duration
		for _, t := range tests[:n] {
			names = append(names, t.name)
			took += t.took
		}
		out, err := runTests(binary, dir, names, 5*took+20*time.Second, fmt.Sprintf("MUTANT=%d", id))
		if err != nil {
			if at := failedTest.FindSubmatch(out); at != nil {
				return string(at[1])
			}
			return names[0]
		}
		tests, spent = tests[n:], spent+took
		n *= 3
	}
	return ""
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

func runTests(binary, dir string, names []string, limit time.Duration, env string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.short",
		"-test.failfast")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env)
	return cmd.CombinedOutput()
}
