// Command mutate breaks the code of packages in small ways and reports which breaks no
// test notices.
//
//	go run ./.ci/mutation [-files REGEXP] [-with PACKAGE,...] [-again FILE] [-run REGEXP] [-most DURATION] \
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
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const ignoreFile = ".ci/mutation/ignore"

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
