// Bench measures spendsync from the first request to the finished files, and the alternatives that people would use, in
// one run on one machine:
//
//	go run ./cmd/bench -rows 320000,3200000
//
// Bench builds spendsync and the simulated service, and starts the service as a separate process. It requests every
// page once before it measures. It runs the measured processes in turns, so that a slow minute of the machine affects
// all of them alike. -rows lists the sizes of the report; each size is measured separately. With -python, Bench also
// measures the alternatives: a plain script, dlt, and a script that was optimized by hand.
//
// For each size, Bench prints one table. For each process, the table shows the median CPU seconds, wall seconds and
// peak memory, and the ratio of the CPU seconds to those of a first load. Compare ratios, not seconds: machines differ
// and are noisy. README.md in this directory has the results.
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

// days is the number of report days that a first load reads: 32 days and today.
const days = 33

// creatives is the number of creatives of each campaign.
const creatives = 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options is the command line.
type options struct {
	rows             []int // rows of the report
	campaigns, turns int
	dir, python      string
}

// The smallest report and account that can be measured. In smaller ones, paused campaigns and creatives without spend
// dominate.
const (
	leastRows      = 100 * days
	leastCampaigns = 5
)

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	rows := f.String("rows", "640000", "sizes of the report, in rows over all 33 days, about: 320000,3200000")
	f.IntVar(&o.campaigns, "campaigns", 100, "campaigns of the account, of ten creatives each")
	f.IntVar(&o.turns, "turns", 3, "turns; the medians of them are shown")
	f.StringVar(&o.dir, "dir", "", "folder for what is measured (default: a temporary one, removed at the end)")
	f.StringVar(&o.python, "python", "", "a Python with cmd/bench/peers/requirements.txt: measure the peers, too")
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
	case o.turns < 1:
		return o, fmt.Errorf("-turns %d: at least 1", o.turns)
	case f.NArg() > 0:
		return o, fmt.Errorf("%s: nothing follows the flags", f.Arg(0))
	}
	return o, nil
}

// run measures each size and prints the results as soon as the size is measured.
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
	for _, name := range []string{"adsim", "spendsync"} { // stripped, like a release
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", filepath.Join(o.dir, name),
			"spendsync/cmd/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", name, err, out)
		}
	}
	for _, rows := range o.rows {
		results, s, err := o.measure(ctx, rows, stderr)
		if err != nil {
			return fmt.Errorf("%d rows: %w", rows, err)
		}
		results.print(stdout, fmt.Sprintf("%d rows over %d days, %d campaigns, medians of %d turns", s.rows, days,
			o.campaigns, o.turns))
	}
	return nil
}

// The names of the measured runs of spendsync. The alternatives (see peers) are measured in the first three runs only:
// the first load, a reread without changes, and a reread with some changed rows.
const (
	firstLoad   = "first load"
	unchanged   = "all read again, unchanged"
	scattered   = "all read again, 1 % restated, scattered"
	hour        = "all read again, an hour later"
	allRestated = "all read again, all restated"
	nothingToDo = "nothing to do"
	rebuild     = "DuckDB file from Parquet (repair rebuild)"
	replay      = "rows from stored replies (repair replay)"
	verify      = "all files verified (verify)"
)

// peers are the alternatives to spendsync: the scripts in the folder peers.
var peers = []struct{ name, script string }{
	{"script", "script.py"}, {"dlt", "with_dlt.py"}, {"by hand", "by_hand.py"}}

// step is one measured process.
type step struct {
	name   string
	before func(context.Context) error // called before the measurement, unless nil
	cmd    *exec.Cmd
}

// measure runs the measured processes on a report of one size, and repeats this in several turns.
func (o options) measure(ctx context.Context, rows int, progress io.Writer) (*table, *service, error) {
	s, err := o.startService(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	defer s.stop()
	results := &table{of: map[string][]measurement{}}
	for turn := range o.turns {
		fmt.Fprintf(progress, "%d rows: turn %d of %d\n", s.rows, turn+1, o.turns)
		steps, err := o.steps(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		for _, step := range steps {
			if step.before != nil {
				if err := step.before(ctx); err != nil {
					return nil, nil, err
				}
			}
			m, err := measure(step.cmd)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", step.name, err)
			}
			results.add(step.name, m)
		}
	}
	return results, s, nil
}

// steps empties the output folders and returns the measured processes of one turn, in order. Processes that read the
// same pages follow each other.
func (o options) steps(ctx context.Context, s *service) (all []step, err error) {
	if err := os.RemoveAll(filepath.Join(o.dir, "store")); err != nil {
		return nil, err
	}
	spendsync := func(args ...string) *exec.Cmd { return s.spendsync(ctx, o.dir, args...) }
	sync := func(env string) *exec.Cmd {
		cmd := spendsync("sync")
		cmd.Env = append(cmd.Env, env)
		return cmd
	}
	ofPeers := func(what string) (steps []step, err error) {
		for _, p := range peers {
			out := filepath.Join(o.dir, p.script)
			if what == firstLoad {
				err = errors.Join(err, os.RemoveAll(out), os.MkdirAll(out, 0o755))
			}
			cmd := exec.CommandContext(ctx, o.python, filepath.Join("cmd", "bench", "peers", p.script))
			cmd.Env = append(s.peerEnv(), "OUT="+out, "HOME="+o.dir)
			steps = append(steps, step{name: p.name + ": " + what, cmd: cmd})
		}
		return steps, err
	}
	again := "SPENDSYNC_REREAD_AFTER=0s"
	for _, one := range []step{
		{name: firstLoad, cmd: sync(again)},
		{name: unchanged, cmd: sync(again)},
		{name: scattered, before: s.restateScattered, cmd: sync(again)},
		{name: hour, before: s.anHourLater, cmd: sync(again)},
		{name: nothingToDo, cmd: sync("SPENDSYNC_YOUNG_DAYS=0")},
		{name: rebuild, cmd: spendsync("repair", "rebuild")},
		{name: replay, cmd: spendsync("repair", "replay")},
		{name: verify, cmd: spendsync("verify")},
		{name: allRestated, before: s.restateAll, cmd: sync(again)},
	} {
		all = append(all, one)
		if o.python != "" && (one.name == firstLoad || one.name == unchanged || one.name == scattered) {
			steps, err := ofPeers(one.name)
			if err != nil {
				return nil, err
			}
			all = append(all, steps...)
		}
	}
	return all, nil
}
