package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
