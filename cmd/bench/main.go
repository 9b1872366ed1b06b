// Bench measures the whole product, end to end, beside what it could be compared
// with, in one run on one machine:
//
//	go run ./cmd/bench -rows 1000000
//
// It builds spendsync and the simulated service, starts the service as a process
// of its own that serves pages rendered beforehand, and then takes turns, so that
// a slow minute of the machine hits all: a plain download of the pages, DuckDB
// alone on them (read_json, INSERT, COPY TO parquet), the decoder alone, and
// spendsync: the first load, the same again with every day read again and
// unchanged, then with one creative of each day restated, and with nothing to do;
// then single stages: the DuckDB file from Parquet, the rows from stored replies,
// the whole store verified. With -history it measures a daily sync into a warehouse
// of that many rows.
//
// It prints medians of CPU seconds, wall seconds and peak memory of each process,
// and the ratios that the project aims at. Ratios are what counts: machines differ
// and are noisy. "bench -h" lists the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// days is how many report days a first load reads: the reach with today.
const days = 33

type options struct {
	rows, runs int
	history    int
	creatives  int
	dir        string
}

func main() {
	if child := os.Getenv(childVariable); child != "" {
		if err := runChild(child, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.rows, "rows", 1_000_000, "rows of the report over all 33 days, about")
	f.IntVar(&o.runs, "runs", 5, "turns; the medians of them are shown")
	f.IntVar(&o.history, "history", 0, "rows of a warehouse into which three days are synced; 0: leave that out")
	f.IntVar(&o.creatives, "creatives", 100, "creatives in the account; one of them is restated, so a share of 1/creatives of the rows")
	f.StringVar(&o.dir, "dir", "", "folder for what is measured (default: a temporary one, removed at the end)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.rows < days || o.runs < 1 || o.creatives < 10 || f.NArg() > 0 {
		return fmt.Errorf("-rows wants at least %d, -runs 1, -creatives 10, and nothing follows the flags", days)
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "spendsync-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	bin, err := build(ctx, o.dir)
	if err != nil {
		return err
	}
	if o.history > 0 {
		return benchHistory(ctx, bin, o)
	}
	return benchLoads(ctx, bin, o)
}

// binaries are what is measured and what it is fed by.
type binaries struct{ spendsync, adsim, self string }

func build(ctx context.Context, dir string) (b binaries, err error) {
	if b.self, err = os.Executable(); err != nil {
		return b, err
	}
	for name, to := range map[string]*string{"spendsync": &b.spendsync, "adsim": &b.adsim} {
		*to = filepath.Join(dir, name)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", *to, "spendsync/cmd/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("go build %s: %w\n%s", name, err, out)
		}
	}
	return b, nil
}

// benchLoads takes turns at everything that one size of account is measured by.
func benchLoads(ctx context.Context, bin binaries, o options) error {
	s, err := startService(ctx, bin, o)
	if err != nil {
		return err
	}
	defer s.stop()
	var results table
	for turn := range o.runs {
		fmt.Fprintf(os.Stderr, "turn %d of %d\n", turn+1, o.runs)
		if err := oneTurn(ctx, bin, o, s, &results); err != nil {
			return err
		}
	}
	results.print(os.Stdout, fmt.Sprintf("%d rows over %d days, %d turns", s.rows, days, o.runs))
	return nil
}

func oneTurn(ctx context.Context, bin binaries, o options, s *service, results *table) error {
	pages, store, alone := filepath.Join(o.dir, "pages"), filepath.Join(o.dir, "store"), filepath.Join(o.dir, "duckdb")
	for _, dir := range []string{pages, store, alone} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	child := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, bin.self, args...)
		cmd.Env = append(os.Environ(), childVariable+"="+name)
		return cmd
	}
	spendsync := func(args ...string) *exec.Cmd { return s.spendsync(ctx, bin, store, args...) }
	sync := func(env ...string) *exec.Cmd {
		cmd := spendsync("sync")
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	again := "SPENDSYNC_REREAD_AFTER=0s"
	steps := []struct {
		name string
		cmd  *exec.Cmd
		size string // file or folder whose bytes are shown
	}{
		{download, child("download", s.report, s.authorization, pages), pages},
		{decodeOnly, child("decode", pages), ""},
		{duckdbAlone, child("duckdb", pages, alone), filepath.Join(alone, "parquet")},
		{firstLoad, sync(), filepath.Join(store, "parquet", "spend_daily")},
		{unchanged, sync(again), ""},
		{restated, sync(again), ""},
		{nothingToDo, sync("SPENDSYNC_YOUNG_DAYS=0"), ""},
		{rebuildAlone, spendsync("rebuild"), ""},
		{replayAlone, spendsync("replay"), ""},
		{verifyAlone, spendsync("verify"), ""},
	}
	for _, step := range steps {
		if step.name == restated {
			if err := s.restate(ctx); err != nil {
				return err
			}
		}
		m, err := measure(step.cmd)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if step.size != "" {
			if m.bytes, err = bytesBelow(step.size); err != nil {
				return err
			}
		}
		results.add(step.name, m)
	}
	return nil
}
