// Bench measures the complete product, end to end, and its alternatives, in one run
// on one machine:
//
//	go run ./cmd/bench -rows 100000,1000000 -campaigns 50,1000
//
// It builds spendsync and the simulated service, starts the service as a separate
// process that serves every page once beforehand, and measures in turns, so that a
// slow minute of the machine affects everything alike. README.md in this directory
// lists the measurements and the figures.
//
// -rows names the sizes of the report. Each is measured by itself; if one size is
// about ten times another, the cost of that growth is shown.
//
// With -history it measures a daily sync into a warehouse of that many rows. With
// -campaigns it measures reading the settings of accounts of that many campaigns, 70 %
// of them archived, and counts the requests to the advertiser API. The API's limit
// would add minutes of waiting, so these runs use a spendsync that was built without
// the waits and is otherwise the same; -waits keeps them.
//
// It prints medians of CPU seconds, wall seconds and peak memory of each process,
// and the ratios that the project aims at. Compare ratios, not seconds: machines
// differ and are noisy. "bench -h" lists the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// days is how many report days a first load reads: the reach with today.
const days = 33

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
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the parts that o names, one after the other, and prints each result at once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.lake {
		if err := lake(ctx, stdout, stderr); err != nil || o.rows == nil && o.history == 0 && o.campaigns == nil &&
			o.month == 0 {
			return err
		}
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "spendsync-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	b := &bench{options: o, stdout: stdout, stderr: stderr}
	if b.bin, err = build(ctx, o); err != nil {
		return err
	}
	var loads []sizedTable
	for _, rows := range o.rows {
		measured, err := b.loads(ctx, rows)
		if err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
		loads = append(loads, measured)
	}
	printResults(stdout, growth(loads))
	if o.history > 0 {
		rows := usualRows
		if len(o.rows) > 0 {
			rows = o.rows[len(o.rows)-1]
		}
		if err := b.history(ctx, rows/days); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if o.month > 0 {
		if err := b.month(ctx, o.month); err != nil {
			return fmt.Errorf("a month: %w", err)
		}
	}
	for _, n := range o.campaigns {
		if err := b.campaigns(ctx, n); err != nil {
			return fmt.Errorf("%d campaigns: %w", n, err)
		}
	}
	return nil
}

// lake runs the benchmark of load/lake: it fills tables with a history without files, which only
// that package can do.
func lake(ctx context.Context, stdout, stderr io.Writer) error {
	for _, args := range [][]string{{"^Benchmark(Lake|Inbox)$", "-benchtime", "3x"},
		{"^Benchmark(Upkeep|First)$", "-benchtime", "1x", "-timeout", "30m"}} {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "spendsync/load/lake", "-run", "^$", "-bench"},
			args...)...)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// bench is one run of the command.
type bench struct {
	options        options
	bin            binaries
	stdout, stderr io.Writer // the results; progress
}

// child is a command that runs this binary as one of the measured processes.
func (b *bench) child(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.bin.self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	return cmd
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.stderr, format+"\n", args...) }
