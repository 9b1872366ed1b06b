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
func (t *table) median(name string) (m measurement) {
	all := t.of[name]
	if len(all) == 0 {
		return m
	}
	m.cpu = middle(all, func(m measurement) time.Duration { return m.cpu })
	m.wall = middle(all, func(m measurement) time.Duration { return m.wall })
	m.rss = middle(all, func(m measurement) int64 { return m.rss })
	m.bytes = middle(all, func(m measurement) int64 { return m.bytes })
	m.rate = middle(all, func(m measurement) float64 { return m.rate })
	m.requests = middle(all, func(m measurement) int64 { return m.requests })
	return m
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

// columns are the columns of the printed table; an unknown figure is empty.
var columns = []struct {
	name string
	text func(m measurement) string
}{
	{"CPU s", func(m measurement) string { return where(m.wall > 0, fmt.Sprintf("%.2f", m.cpu.Seconds())) }},
	{"wall s", func(m measurement) string { return where(m.wall > 0, fmt.Sprintf("%.2f", m.wall.Seconds())) }},
	{"peak MiB", func(m measurement) string { return where(m.rss > 0, strconv.FormatInt(m.rss>>20, 10)) }},
	{"MB left", func(m measurement) string { return where(m.bytes > 0, fmt.Sprintf("%.1f", float64(m.bytes)/1e6)) }},
	{"MB/s a core", func(m measurement) string { return where(m.rate > 0, fmt.Sprintf("%.0f", m.rate)) }},
	{"API requests", func(m measurement) string { return where(m.requests > 0, strconv.FormatInt(m.requests, 10)) }},
}

func where(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// print writes the medians, one row each, without columns that are empty in all rows.
func (t *table) print(out io.Writer, title string) {
	rows := make([][]string, len(t.names))
	head := []string{""}
	for i, name := range t.names {
		rows[i] = []string{name}
	}
	for _, c := range columns {
		texts, any := make([]string, len(t.names)), false
		for i, name := range t.names {
			texts[i] = c.text(t.median(name))
			any = any || texts[i] != ""
		}
		if !any {
			continue
		}
		head = append(head, c.name)
		for i := range rows {
			rows[i] = append(rows[i], texts[i])
		}
	}
	fmt.Fprintf(out, "%s (medians)\n\n", title)
	printCells(out, append([][]string{head}, rows...))
}

// printCells writes lines of cells, aligned in columns, and an empty line.
func printCells(out io.Writer, lines [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		for _, cell := range cells {
			fmt.Fprintf(w, "%s\t", cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintln(out)
}
