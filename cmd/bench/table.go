package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// table collects measurements by the name of the measured process. Each process is measured several times.
type table struct {
	names []string
	of    map[string][]measurement
}

func (t *table) add(name string, m measurement) {
	if t.of[name] == nil {
		t.names = append(t.names, name)
	}
	t.of[name] = append(t.of[name], m)
}

// median returns the median of each figure (CPU time, wall time, memory) over all measurements of one process.
func (t *table) median(name string) measurement {
	all := t.of[name]
	return measurement{
		cpu:  middle(all, func(m measurement) time.Duration { return m.cpu }),
		wall: middle(all, func(m measurement) time.Duration { return m.wall }),
		rss:  middle(all, func(m measurement) int64 { return m.rss }),
	}
}

// middle returns the upper median, which is always a measured value.
func middle[N cmp.Ordered](all []measurement, figure func(measurement) N) N {
	var values []N
	for _, m := range all {
		values = append(values, figure(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// print writes one row for each process: the medians of its measurements, and the ratio of its CPU seconds to the CPU
// seconds of the first load.
func (t *table) print(out io.Writer, title string) {
	fmt.Fprintf(out, "%s\n\n", title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tCPU s\tof a first load\twall s\tpeak MiB")
	first := t.median(firstLoad).cpu.Seconds()
	for _, name := range t.names {
		m := t.median(name)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d\n", name, m.cpu.Seconds(), m.cpu.Seconds()/first, m.wall.Seconds(),
			m.rss>>20)
	}
	w.Flush()
	fmt.Fprintln(out)
}
