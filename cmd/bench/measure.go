package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// What is measured, in the order of the table.
const (
	download     = "download of the pages"
	decodeOnly   = "decoding them"
	duckdbAlone  = "DuckDB alone"
	firstLoad    = "first load"
	unchanged    = "all read again, unchanged"
	restated     = "all read again, some restated"
	nothingToDo  = "nothing to do"
	rebuildAlone = "DuckDB file from Parquet (rebuild)"
	replayAlone  = "rows from stored replies (replay)"
	verifyAlone  = "all files verified (verify)"
	intoEmpty    = "three days, empty warehouse"
	intoHistory  = "three days, long history"
)

// measurement is what one process took.
type measurement struct {
	cpu, wall time.Duration
	rss       int64 // bytes, at its peak
	bytes     int64 // of what it left behind
}

// measure runs a process to its end.
func measure(cmd *exec.Cmd) (m measurement, err error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	err = cmd.Run()
	m.wall = time.Since(start)
	if err != nil {
		return m, fmt.Errorf("%w\n%s", err, output.Bytes())
	}
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.rss = usage.Maxrss * maxrssUnit
	}
	return m, nil
}

func bytesBelow(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// table gathers the measurements by name.
type table struct {
	names []string
	of    map[string][]measurement
}

func (t *table) add(name string, m measurement) {
	if t.of == nil {
		t.of = map[string][]measurement{}
	}
	if t.of[name] == nil {
		t.names = append(t.names, name)
	}
	t.of[name] = append(t.of[name], m)
}

// median is the median of each figure by itself.
func (t *table) median(name string) (m measurement) {
	all := t.of[name]
	if len(all) == 0 {
		return m
	}
	m.cpu = middle(all, func(m measurement) time.Duration { return m.cpu })
	m.wall = middle(all, func(m measurement) time.Duration { return m.wall })
	m.rss = middle(all, func(m measurement) int64 { return m.rss })
	m.bytes = middle(all, func(m measurement) int64 { return m.bytes })
	return m
}

func middle[N time.Duration | int64](all []measurement, figure func(measurement) N) N {
	var values []N
	for _, m := range all {
		values = append(values, figure(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// target is a ratio that the project aims at.
type target struct {
	what, of, to string
	figure       func(measurement) float64
	atMost       float64
}

func cpu(m measurement) float64  { return m.cpu.Seconds() }
func wall(m measurement) float64 { return m.wall.Seconds() }
func size(m measurement) float64 { return float64(m.bytes) }

var targets = []target{
	{"first load, CPU against DuckDB alone", firstLoad, duckdbAlone, cpu, 0.8},
	{"first load, wall against DuckDB alone", firstLoad, duckdbAlone, wall, 0.7},
	{"unchanged, CPU against the first load", unchanged, firstLoad, cpu, 0.25},
	{"some restated, CPU against the first load", restated, firstLoad, cpu, 0.6},
	{"Parquet, bytes against DuckDB's", firstLoad, duckdbAlone, size, 0.8},
	{"long history, CPU against the empty warehouse", intoHistory, intoEmpty, cpu, 1.5},
}

func (t *table) print(out io.Writer, title string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s (medians)\n\n\tCPU s\twall s\tpeak MiB\tMB left\t\n", title)
	for _, name := range t.names {
		m := t.median(name)
		left := ""
		if m.bytes > 0 {
			left = fmt.Sprintf("%.1f", float64(m.bytes)/1e6)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%d\t%s\t\n", name, m.cpu.Seconds(), m.wall.Seconds(), m.rss>>20, left)
	}
	fmt.Fprintf(w, "\nratio\tmeasured\taim\t\t\n")
	for _, g := range targets {
		if len(t.of[g.of]) == 0 || len(t.of[g.to]) == 0 || g.figure(t.median(g.to)) == 0 {
			continue
		}
		ratio := g.figure(t.median(g.of)) / g.figure(t.median(g.to))
		missed := ""
		if ratio > g.atMost {
			missed = "missed"
		}
		fmt.Fprintf(w, "%s\t%.2f\t<= %.2f\t%s\t\n", g.what, ratio, g.atMost, missed)
	}
	w.Flush()
}
