// Bench measures the complete product, end to end, beside DuckDB alone, in one run on one machine:
//
//	go run ./cmd/bench -rows 320000,3200000
//
// It builds spendsync and the simulated service, starts the service as a separate process that serves every page once
// beforehand, and measures in turns, so that a slow minute of the machine affects everything alike. -rows names the
// sizes of the report; each is measured by itself.
//
// It prints medians of CPU seconds, wall seconds and peak memory of each process, and the ratios that the project aims
// at. Compare ratios, not seconds: machines differ and are noisy. README.md in this directory has the figures.
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
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// days is how many report days a first load reads: the reach with today.
const days = 33

// creatives is how many a campaign has.
const creatives = 10

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

// options is the command line.
type options struct {
	rows            []int // of the report
	campaigns, runs int
	dir             string
}

// The smallest sizes that can be measured: below them the rows of creatives without spend, and paused campaigns,
// dominate the size of the account.
const (
	leastRows      = 100 * days
	leastCampaigns = 5
)

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	rows := f.String("rows", "1000000", "sizes of the report, in rows over all 33 days, about: 320000,3200000")
	f.IntVar(&o.campaigns, "campaigns", 10, "campaigns of the account, of ten creatives each")
	f.IntVar(&o.runs, "runs", 5, "turns; the medians of them are shown")
	f.StringVar(&o.dir, "dir", "", "folder for what is measured (default: a temporary one, removed at the end)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for word := range strings.SplitSeq(*rows, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < leastRows {
			return o, fmt.Errorf("-rows %s: whole numbers of at least %d, 100 a day", word, leastRows)
		}
		o.rows = append(o.rows, n)
	}
	switch {
	case o.campaigns < leastCampaigns:
		return o, fmt.Errorf("-campaigns %d: at least %d", o.campaigns, leastCampaigns)
	case o.runs < 1:
		return o, fmt.Errorf("-runs %d: at least 1", o.runs)
	case f.NArg() > 0:
		return o, fmt.Errorf("%s: nothing follows the flags", f.Arg(0))
	}
	return o, nil
}

// bench is one run of the command.
type bench struct {
	options
	self, adsim, binary string    // this binary, the service, spendsync
	stdout, stderr      io.Writer // the results; progress
}

// run measures each size and prints its results at once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
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
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.adsim, err = b.build(ctx, "adsim"); err != nil {
		return err
	}
	if b.binary, err = b.build(ctx, "spendsync"); err != nil {
		return err
	}
	for _, rows := range o.rows {
		if err := b.loads(ctx, rows); err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
	}
	return nil
}

// build builds one of our commands, without symbols, as a release is built.
func (b *bench) build(ctx context.Context, name string) (path string, err error) {
	path = filepath.Join(b.dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, "spendsync/cmd/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// child is a command that runs this binary as one of the measured processes.
func (b *bench) child(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	return cmd
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.stderr, format+"\n", args...) }
