package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

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

func runTests(binary, dir string, names []string, limit time.Duration, env string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.short",
		"-test.failfast")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env)
	return cmd.CombinedOutput()
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
