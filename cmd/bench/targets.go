package main

import (
	"fmt"
	"io"
)

// aim is a bound that the project has set for itself.
type aim struct {
	bound float64
	least bool // a lower bound; else an upper one
}

func atMost(bound float64) aim  { return aim{bound: bound} }
func atLeast(bound float64) aim { return aim{bound: bound, least: true} }

func (a aim) missed(figure float64) bool {
	if a.least {
		return figure < a.bound
	}
	return figure > a.bound
}

func (a aim) String() string {
	if a.least {
		return ">= " + digits(a.bound)
	}
	return "<= " + digits(a.bound)
}

// target is a ratio of two rows of a table that the project aims at.
type target struct {
	what, of, to string
	figure       func(measurement) float64
	aim          aim
}

func cpu(m measurement) float64       { return m.cpu.Seconds() }
func wall(m measurement) float64      { return m.wall.Seconds() }
func size(m measurement) float64      { return float64(m.bytes) }
func rate(m measurement) float64      { return m.rate }
func asked(m measurement) float64     { return float64(m.requests) }
func mebibytes(m measurement) float64 { return float64(m.rss) / (1 << 20) }

var targets = []target{
	{"first load, CPU against DuckDB alone", firstLoad, duckdbAlone, cpu, atMost(0.8)},
	{"first load, wall against DuckDB alone", firstLoad, duckdbAlone, wall, atMost(0.7)},
	{"unchanged, CPU against the first load", unchanged, firstLoad, cpu, atMost(0.25)},
	{"1 % restated, CPU against the first load", restated, firstLoad, cpu, atMost(0.6)},
	{"1 % restated, scattered, CPU against the first load", scattered, firstLoad, cpu, atMost(0.5)},
	{"an hour later, CPU against the first load", hour, firstLoad, cpu, atMost(0.15)},
	{"Parquet, bytes against DuckDB's", firstLoad, duckdbAlone, size, atMost(0.8)},
	{"decoding, MB/s against strict jsontext", decodeOnly, decodeStrict, rate, atLeast(2.5)},
	{"long history, CPU against the empty warehouse", intoHistory, intoEmpty, cpu, atMost(1.5)},
	{"unchanged account, API requests against no memory", unchangedSettings, naiveSettings, asked, atMost(0.35)},
}

// memoryAims are the aims for the peak memory of a first load of that many rows.
var memoryAims = []struct {
	rows int
	aim  aim // MiB
}{
	{3_200_000, atMost(384)},
	{10_000_000, atMost(384)},
}

// result is a figure with its aim.
type result struct {
	what   string
	figure float64
	aim    aim
}

// results are the ratios for which the table has both rows.
func (t *table) results() (list []result) {
	for _, g := range targets {
		of, to := g.figure(t.median(g.of)), g.figure(t.median(g.to))
		if len(t.of[g.of]) > 0 && to > 0 {
			list = append(list, result{g.what, of / to, g.aim})
		}
	}
	return list
}

// memory is the peak of the first load, for a size that has an aim.
func memory(m sizedTable) (list []result) {
	for _, of := range memoryAims {
		if near(m.rows, of.rows) {
			what := fmt.Sprintf("first load of about %d rows, peak MiB", of.rows)
			list = append(list, result{what, mebibytes(m.table.median(firstLoad)), of.aim})
		}
	}
	return list
}

// growth returns the cost of ten times the rows, for each pair of sizes about a factor of ten
// apart. It is scaled to exactly ten times: a report of 9.8 times the rows may cost 9.8/10 of the
// aim.
func growth(loads []sizedTable) (list []result) {
	for _, small := range loads {
		for _, large := range loads {
			from, to := cpu(small.table.median(firstLoad)), cpu(large.table.median(firstLoad))
			if !near(large.rows, 10*small.rows) || from == 0 {
				continue
			}
			times := float64(large.rows) / float64(small.rows)
			what := fmt.Sprintf("ten times the rows, CPU of the first load (%d, %d)", small.rows, large.rows)
			list = append(list, result{what, to / from * 10 / times, atMost(10.5)})
		}
	}
	return list
}

// printResults writes the figures and their aims; nothing if there are none.
func printResults(out io.Writer, list []result) {
	if len(list) == 0 {
		return
	}
	lines := [][]string{{"ratio", "measured", "aim", ""}}
	for _, r := range list {
		missed := where(r.aim.missed(r.figure), "missed")
		lines = append(lines, []string{r.what, digits(r.figure), r.aim.String(), missed})
	}
	printCells(out, lines)
}

// digits formats a figure with two decimals, or one if it is large.
func digits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
