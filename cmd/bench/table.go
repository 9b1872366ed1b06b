package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

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

// median is the median of each figure separately.
func (t *table) median(name string) measurement {
	all := t.of[name]
	return measurement{
		cpu:   middle(all, func(m measurement) time.Duration { return m.cpu }),
		wall:  middle(all, func(m measurement) time.Duration { return m.wall }),
		rss:   middle(all, func(m measurement) int64 { return m.rss }),
		bytes: middle(all, func(m measurement) int64 { return m.bytes }),
	}
}

// middle is the upper median: always one of the measured values.
func middle[N cmp.Ordered](all []measurement, figure func(measurement) N) N {
	var values []N
	for _, m := range all {
		values = append(values, figure(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// targets are the ratios of CPU seconds that the project aims at: at most that much of another row.
var targets = []struct {
	of, to string
	atMost float64
}{
	{firstLoad, duckdbAlone, 0.8},
	{unchanged, firstLoad, 0.25},
	{restated, firstLoad, 0.6},
	{scattered, firstLoad, 0.5},
	{hour, firstLoad, 0.15},
}

// print writes the medians, one row each, and the ratios beside their aims.
func (t *table) print(out io.Writer, title string) {
	fmt.Fprintf(out, "%s (medians)\n\n", title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tCPU s\twall s\tpeak MiB\tMB left")
	for _, name := range t.names {
		m, left := t.median(name), ""
		if m.bytes > 0 {
			left = strconv.FormatFloat(float64(m.bytes)/1e6, 'f', 1, 64)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%d\t%s\n", name, m.cpu.Seconds(), m.wall.Seconds(), m.rss>>20, left)
	}
	w.Flush()
	fmt.Fprintln(out, "\nCPU against another row, and the aim")
	for _, g := range targets {
		ratio, missed := t.median(g.of).cpu.Seconds()/t.median(g.to).cpu.Seconds(), ""
		if ratio > g.atMost {
			missed = "missed"
		}
		fmt.Fprintf(w, "%s / %s\t%.2f\t<= %.2f\t%s\n", g.of, g.to, ratio, g.atMost, missed)
	}
	w.Flush()
	fmt.Fprintln(out)
}
